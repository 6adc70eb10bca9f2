"""An answer that a thread makes piece by piece while a client takes it."""

import logging
import threading
from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, Full, Queue
from typing import Any

import orjson

from log_shipper.config.yaml.errors import ConfigError
from log_shipper.runtime.logs.visible import visible
from log_shipper.spark_sink.errors import SinkError

logger = logging.getLogger(__name__)

_WAITING = 256  # pieces that the client has not taken yet; then the thread waits
_LOOK = 0.3  # seconds between two looks whether the client is still there
_AT_ONCE = 65536  # bytes that are sent together where there is more


class Left(Exception):
    """Raised in the thread once the client has left."""


@dataclass(slots=True)
class Stream:
    """`work` runs in a thread of its own and puts the pieces. `slots`: how many may work at the same time. An error
    ends the stream as its last object; of a `document`, which has no place for one, it breaks the connection off."""

    work: Callable[["Stream"], None]
    slots: threading.Semaphore
    is_document: bool = False
    _pieces: Queue[bytes | None] = field(default_factory=lambda: Queue(_WAITING))
    _left: threading.Event = field(default_factory=threading.Event)
    _is_broken: bool = field(default=False)
    _cancels: list[Callable[[], object]] = field(default_factory=list)

    def body(self) -> Generator[bytes, None, None]:
        """Yield what there is to send, and nothing now and then, until the work is done or the client leaves."""
        threading.Thread(target=self._run, name="search page", daemon=True).start()
        try:
            is_over = False
            while not is_over:
                sent, is_over = self._taken()
                yield sent
            if self._is_broken:
                raise ConnectionAbortedError
        finally:
            self._left.set()
            for cancel in self._cancels:
                cancel()

    def send(self, **members: Any) -> None:
        """Put an object of JSON as a line. Raises Left."""
        self.put(orjson.dumps(members, option=orjson.OPT_APPEND_NEWLINE))

    def put(self, piece: bytes) -> None:
        """Have these bytes sent; wait while the client has much to take. Raises Left."""
        while not self._left.is_set():
            with suppress(Full):
                self._pieces.put(piece, timeout=_LOOK)
                return
        raise Left

    def wait(self, seconds: float) -> None:
        """Raises Left."""
        if self._left.wait(seconds):
            raise Left

    def cancel_by(self, cancel: Callable[[], object]) -> None:
        """Have this called, by another thread, when the client leaves."""
        self._cancels.append(cancel)
        if self._left.is_set():
            cancel()

    def _taken(self) -> tuple[bytes, bool]:
        parts: list[bytes] = []
        size, patience = 0, _LOOK
        while size < _AT_ONCE:
            try:
                piece = self._pieces.get(timeout=patience)
            except Empty:
                break
            if piece is None:
                return b"".join(parts), True
            parts.append(piece)
            size, patience = size + len(piece), 0.0
        return b"".join(parts), False

    def _run(self) -> None:
        try:
            while not self.slots.acquire(timeout=_LOOK):
                self.wait(0)
            try:
                self.work(self)
            finally:
                self.slots.release()
        except Left:
            return
        except (SinkError, ConfigError, ValueError) as error:
            self._fail(visible(str(error)))
        except Exception:
            logger.exception("search page: the answer could not be made")
            self._fail("the answer could not be made; the log has the reason")
        with suppress(Left):
            self._put_end()

    def _fail(self, text: str) -> None:
        if self.is_document:
            logger.warning("search page: the download ended early: %s", text)
            self._is_broken = True
            return
        with suppress(Left):
            self.send(error=text)

    def _put_end(self) -> None:
        while not self._left.is_set():
            with suppress(Full):
                self._pieces.put(None, timeout=_LOOK)
                return
