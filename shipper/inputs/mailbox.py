"""Hand items from other threads to the reading thread, in order."""

import threading
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

Item = TypeVar("Item")


class Mailbox(Generic[Item]):
    """A queue bounded by bytes: the sender checks `is_full` first, and waits. An item that was put is kept, because no
    one else has it. Any thread may put and ask; the reading thread takes.

    The loop is woken only while it waits for something: waking a busy loop costs the other thread the interpreter's
    lock, for milliseconds in which datagrams are dropped.
    """

    def __init__(self, wake: Callable[[], None], limit: float = float("inf")) -> None:
        """Take the function that wakes the loop."""
        self.wake = wake
        self._limit = limit
        self._items: deque[tuple[Item, int]] = deque()
        self._lock = threading.Lock()  # of the senders
        self._put = 0  # bytes
        self.taken = 0  # bytes, written by the receiver
        self._is_awaited = True

    @property
    def waiting(self) -> int:
        """Return the number of waiting bytes."""
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
        """Add an item that takes `cost` bytes of memory."""
        with self._lock:
            self._put += cost
            self._items.append((item, cost))
        if self._is_awaited:
            self._is_awaited = False
            self.wake()

    @property
    def first(self) -> Item | None:
        """Return the next item without taking it."""
        return self._items[0][0] if self._items else None

    def pop(self) -> Item | None:
        if not self._items:
            return None
        item, cost = self._items.popleft()
        self.taken += cost
        return item

    def await_more(self) -> bool:
        """Wake the loop at the next item; return False if there is one already. Called before it sleeps."""
        self._is_awaited = True  # before the check: what comes between them must wake
        return not self._items

    def clear(self) -> None:
        """Drop the waiting items. Nothing may be taken meanwhile."""
        while self._items:
            self.pop()
