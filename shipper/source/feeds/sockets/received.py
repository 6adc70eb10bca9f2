"""What the receiver has received, until the reading thread takes it: a queue that is bounded in bytes.

Each side counts for itself, so that neither needs a lock: what waits is the difference.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from log_shipper.shipper.source.feeds.sockets.connection import Connection
from log_shipper.shipper.source.feeds.sockets.system_calls import Datagrams

OVERHEAD = 100  # bytes of memory that a piece takes beside its content


@dataclass(frozen=True, slots=True)
class Piece:
    """Datagrams, or bytes of a connection; `data` is None at its end, `is_ours` if it was closed from here. `cost`: the
    memory that it takes."""

    cost: int
    datagrams: Datagrams | None = None
    connection: Connection | None = None
    data: bytes | None = None
    is_ours: bool = False


def of_datagrams(datagrams: Datagrams) -> Piece:
    return Piece(sum(map(len, datagrams.texts)) + OVERHEAD * len(datagrams.texts), datagrams)


def of_connection(connection: Connection, data: bytes) -> Piece:
    return Piece(len(data) + OVERHEAD, connection=connection, data=data)


def end_of(connection: Connection, *, is_ours: bool) -> Piece:
    return Piece(OVERHEAD, connection=connection, is_ours=is_ours)


class Received:
    def __init__(self, limit: int, wake: Callable[[], None]) -> None:
        """`wake` wakes the reading thread."""
        self._limit = limit
        self.wake = wake
        self._pieces: deque[Piece] = deque()
        self._put = 0  # bytes, written by the receiver
        self._taken = 0  # bytes, written by the reading thread
        self._is_awaited = False

    @property
    def waiting(self) -> int:
        """Return how many bytes wait. Any thread may ask."""
        return max(self._put - self._taken, 0)

    @property
    def is_full(self) -> bool:
        return self._put - self._taken >= self._limit

    @property
    def has_much_room(self) -> bool:
        return self._put - self._taken <= self._limit // 2

    def put(self, piece: Piece) -> None:
        """Called by the receiver."""
        self._put += piece.cost
        self._pieces.append(piece)
        if self._is_awaited:
            self._is_awaited = False
            self.wake()

    def take(self) -> Piece | None:
        """Called by the reading thread."""
        if not self._pieces:
            return None
        piece = self._pieces.popleft()
        self._taken += piece.cost
        return piece

    def await_more(self) -> bool:
        """Have the reading thread woken by the next piece; returns False if there is one already."""
        self._is_awaited = True  # before the look: a piece that comes between them must wake
        return not self._pieces
