"""Wakes the loop when a descriptor has data, by a thread that does nothing but wait."""

import os
import select
import threading
from collections import deque
from collections.abc import Callable


class Doorbell:
    """`watch`, `unwatch` and `close` are called by the reading thread. A descriptor that rang is not watched any more:
    what it has is read first, and then it is watched again."""

    def __init__(self, wake: Callable[[], None], name: str) -> None:
        self._wake = wake
        self._orders: deque[tuple[int, Callable[[], None] | None]] = deque()
        self._ordered = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._closing = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def watch(self, fd: int, rang: Callable[[], None]) -> None:
        """Call `rang` on the doorbell's thread, once, when the descriptor has data or is at its end."""
        self._order(fd, rang)

    def unwatch(self, fd: int) -> None:
        """Must be called before the descriptor is closed."""
        self._order(fd, None)

    def close(self) -> None:
        self._closing = True
        os.eventfd_write(self._ordered, 1)
        self._thread.join()
        os.close(self._ordered)

    def _order(self, fd: int, rang: Callable[[], None] | None) -> None:
        self._orders.append((fd, rang))
        os.eventfd_write(self._ordered, 1)

    def _run(self) -> None:
        poll, watched = select.poll(), dict[int, Callable[[], None]]()
        poll.register(self._ordered, select.POLLIN)
        while not self._closing:
            ready = [fd for fd, _ in poll.poll()]
            if self._ordered in ready:
                os.eventfd_read(self._ordered)
            while self._orders:  # before the others: a descriptor that is not to be watched may be closed by now
                fd, rang = self._orders.popleft()
                if rang is None:
                    if watched.pop(fd, None) is not None:
                        poll.unregister(fd)
                else:
                    watched[fd] = rang
                    poll.register(fd, select.POLLIN)
            rings = [(fd, watched.pop(fd)) for fd in ready if fd in watched]
            for fd, rang in rings:
                poll.unregister(fd)
                rang()
            if rings:
                self._wake()
