"""What other threads hand to the reading thread, in the order in which they put it."""

import threading
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

Item = TypeVar("Item")


class Mailbox(Generic[Item]):
    """Bounded by bytes: who puts asks first whether it `is_full`, and waits. What is put then is kept, as nobody else
    has it. Any thread may put and ask; the reading thread takes.

    The loop is woken only while it awaits something: to wake a loop that is busy costs the other thread the
    interpreter's lock, for milliseconds in which datagrams are dropped."""

    def __init__(self, wake: Callable[[], None], limit: float = float("inf")) -> None:
        """`wake` wakes the loop."""
        self.wake = wake
        self._limit = limit
        self._items: deque[tuple[Item, int]] = deque()
        self._lock = threading.Lock()  # of those who put
        self._put = 0  # bytes
        self.taken = 0  # bytes, written by who takes
        self._is_awaited = True

    @property
    def waiting(self) -> int:
        """Return how many bytes wait."""
        return max(self._put - self.taken, 0)

    @property
    def is_empty(self) -> bool:
        return not self._items

    @property
    def is_full(self) -> bool:
        return self._put - self.taken >= self._limit

    @property
    def has_much_room(self) -> bool:
        return self._put - self.taken <= self._limit // 2

    def put(self, item: Item, cost: int) -> None:
        """Add an item, which takes `cost` bytes of memory."""
        with self._lock:
            self._put += cost
            self._items.append((item, cost))
        if self._is_awaited:
            self._is_awaited = False
            self.wake()

    @property
    def first(self) -> Item | None:
        """Return what is taken next."""
        return self._items[0][0] if self._items else None

    def take(self) -> Item | None:
        if not self._items:
            return None
        item, cost = self._items.popleft()
        self.taken += cost
        return item

    def await_more(self) -> bool:
        """Have the loop woken by what is put next; False if there is something already. Called before it sleeps."""
        self._is_awaited = True  # before the look: what comes between them must wake
        return not self._items

    def clear(self) -> None:
        """Drop what waits. Nothing may be taken meanwhile."""
        while self._items:
            self.take()
