"""An answer that a thread makes piece by piece while a client takes it."""

import logging
import threading
from collections import deque
from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import orjson

from log_shipper.config.yaml.errors import ConfigError
from log_shipper.runtime.logs.visible import visible
from log_shipper.spark_sink.errors import SinkError

logger = logging.getLogger(__name__)

_WAITING = 4 * 1024 * 1024  # bytes that the client has not taken yet; then the thread waits
_LOOK = 0.3  # seconds between two looks whether the client is still there
_AT_ONCE = 65536  # bytes that are sent together where there is more


class ClientLeft(Exception):
    """Raised in the thread once the client has left."""


@dataclass(frozen=True, slots=True)
class Slots:
    """How many streams of a kind may work at the same time. The next ones wait, or, with a text, are refused."""

    free: threading.Semaphore
    refusal: str = ""


@dataclass(slots=True)
class Stream:
    """`work` runs in a thread of its own and puts the pieces. An error ends the stream as its last object; of a
    `document`, which has no place for one, it breaks the connection off."""

    work: Callable[["Stream"], None]
    slots: Slots
    is_document: bool = False
    _pieces: deque[bytes] = field(default_factory=deque)
    _size: int = field(default=0)  # bytes of the pieces
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _is_over: bool = field(default=False)  # the work is done
    _is_broken: bool = field(default=False)
    _left: threading.Event = field(default_factory=threading.Event)
    _cancels: list[Callable[[], object]] = field(default_factory=list)

    def body(self) -> Generator[bytes, None, None]:
        """Yield what there is to send, and nothing now and then, until the work is done or the client leaves."""
        threading.Thread(target=self._run, name="search page", daemon=True).start()
        try:
            while sent := self._taken():
                yield sent[0]
            if self._is_broken:
                raise ConnectionAbortedError
        finally:
            self._left.set()
            with self._changed:
                self._changed.notify_all()
            for cancel in self._cancels:
                cancel()

    def send(self, **members: Any) -> None:
        """Put an object of JSON as a line. Raises ClientLeft."""
        self.write(orjson.dumps(members, option=orjson.OPT_APPEND_NEWLINE))

    def write(self, piece: bytes) -> None:
        """Have these bytes sent; wait while the client has much to take. Raises ClientLeft."""
        with self._changed:
            self._changed.wait_for(lambda: self._size < _WAITING or self._left.is_set())
            self.check()
            self._pieces.append(piece)
            self._size += len(piece)
            self._changed.notify_all()

    def check(self, seconds: float = 0) -> None:
        """Raise ClientLeft if the client has left, or leaves within the given seconds."""
        if self._left.wait(seconds):
            raise ClientLeft

    def cancel_by(self, cancel: Callable[[], object]) -> None:
        """Have this called, by another thread, when the client leaves."""
        self._cancels.append(cancel)
        if self._left.is_set():
            cancel()

    def _taken(self) -> list[bytes]:
        """Return what to send next as one piece, an empty one where there is nothing yet; none at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._pieces or self._is_over, timeout=_LOOK)
            if self._is_over and not self._pieces:
                return []
            parts: list[bytes] = []
            while self._pieces and sum(map(len, parts)) < _AT_ONCE:
                parts.append(self._pieces.popleft())
            self._size -= sum(map(len, parts))
            self._changed.notify_all()
        return [b"".join(parts)]

    def _run(self) -> None:
        try:
            with suppress(ClientLeft):
                self._work()
        except (SinkError, ConfigError, ValueError) as error:
            self._fail(visible(str(error)))
        except Exception:
            logger.exception("search page: cannot create the answer")
            self._fail("cannot create the answer; the log has the reason")
        with self._changed:
            self._is_over = True
            self._changed.notify_all()

    def _work(self) -> None:
        free, refusal = self.slots.free, self.slots.refusal
        while not free.acquire(timeout=0.0 if refusal else _LOOK):
            if refusal:
                raise SinkError(refusal)
            self.check()
        try:
            self.work(self)
        finally:
            free.release()

    def _fail(self, text: str) -> None:
        if self.is_document:
            logger.warning("search page: the download ended early: %s", text)
            self._is_broken = True
            return
        with suppress(ClientLeft):
            self.send(error=text)
