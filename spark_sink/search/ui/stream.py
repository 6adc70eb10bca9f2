"""An answer that a thread writes piece by piece while it is sent to the client."""

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

_WAITING = 4 * 1024 * 1024  # maximum unsent bytes; then the thread waits
_LOOK = 0.3  # seconds between two checks that the client is still connected
_AT_ONCE = 65536  # bytes that are sent together


class ClientLeft(Exception):
    """Raised in the thread once the client has disconnected."""


@dataclass(frozen=True, slots=True)
class Slots:
    """Limits the concurrent streams of a kind. Further ones wait, or are refused if `refusal` is set."""

    free: threading.Semaphore
    refusal: str = ""


@dataclass(slots=True)
class Stream:
    """`work` runs in a separate thread and writes the pieces. An error is the last object of the stream; a document has
    no place for it, so there the connection is aborted (`is_document`)."""

    work: Callable[["Stream"], None]
    slots: Slots
    is_document: bool = False
    _pieces: deque[bytes] = field(default_factory=deque)
    _size: int = field(default=0)  # bytes of the pieces
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _is_over: bool = field(default=False)  # the work is complete
    _is_broken: bool = field(default=False)
    _left: threading.Event = field(default_factory=threading.Event)
    _cancels: list[Callable[[], object]] = field(default_factory=list)

    def body(self) -> Generator[bytes, None, None]:
        """Yield the data to send, sometimes empty, until the work is complete or the client disconnects."""
        threading.Thread(target=self._run, name="search page", daemon=True).start()
        try:
            while data := self._next_data():
                yield data[0]
            if self._is_broken:
                raise ConnectionAbortedError
        finally:
            self._left.set()
            with self._changed:
                self._changed.notify_all()
            for cancel in self._cancels:
                cancel()

    def send(self, **members: Any) -> None:
        """Write a JSON object as a line. Raises ClientLeft."""
        self.write(orjson.dumps(members, option=orjson.OPT_APPEND_NEWLINE))

    def write(self, piece: bytes) -> None:
        """Queue these bytes; wait while too many are unsent. Raises ClientLeft."""
        with self._changed:
            self._changed.wait_for(lambda: self._size < _WAITING or self._left.is_set())
            self.check()
            self._pieces.append(piece)
            self._size += len(piece)
            self._changed.notify_all()

    def check(self, seconds: float = 0) -> None:
        """Raise ClientLeft if the client has disconnected, or does so within the given seconds."""
        if self._left.wait(seconds):
            raise ClientLeft

    def cancel_by(self, cancel: Callable[[], object]) -> None:
        """Register a function that another thread calls when the client disconnects."""
        self._cancels.append(cancel)
        if self._left.is_set():
            cancel()

    def _next_data(self) -> list[bytes]:
        """Return the next data to send as one item, which is empty if there is none yet; no item at the end."""
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
