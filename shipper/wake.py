"""What the loop sleeps on: set by other threads and by signal handlers, or woken by a descriptor with data."""

import os
import select
import weakref
from collections.abc import Callable
from contextlib import suppress


class Wake:
    """Like threading.Event, but without a lock: a signal handler may interrupt the very thread that waits."""

    def __init__(self) -> None:
        self._fd = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._poll = select.poll()
        self._poll.register(self._fd, select.POLLIN)
        self._watched: dict[int, Callable[[], None]] = {}

    def set(self) -> None:
        # No flag for being set already: between the flag and the write, the other thread could clear.
        os.eventfd_write(self._fd, 1)

    def from_outside(self) -> Callable[[], None]:
        """`set`, for a thread that is not waited for at the end: it must not write to what this descriptor is then."""
        return _Waker(os.dup(self._fd))

    def clear(self) -> None:
        """Called by the loop before it looks at what the others left for it: a `set` meanwhile may go unnoticed."""
        with suppress(BlockingIOError):  # it was not set
            os.eventfd_read(self._fd)
        if self._watched:  # a loop that is never idle never waits, and must hear of the descriptors too
            self.wait(0)

    def wait(self, timeout: float) -> None:
        """Until it is set, a watched descriptor is ready, or `timeout` seconds are over."""
        for fd, _ in self._poll.poll(timeout * 1000):
            if fd != self._fd:
                ready = self._watched[fd]
                self.unwatch(fd)
                ready()

    def watch(self, fd: int, ready: Callable[[], None]) -> None:
        """Call `ready`, once, from within `wait` or `clear`, when the descriptor has data, is at its end, or failed.

        Once: data that has arrived and is not read yet (the queue has no room) would otherwise end every wait at once,
        and the end of a pipe is ready forever. The caller watches again when it has read all there is."""
        self._watched[fd] = ready
        self._poll.register(fd, select.POLLIN)

    def unwatch(self, fd: int) -> None:
        """To be called before a watched descriptor is closed. One that is not watched may be given."""
        if self._watched.pop(fd, None) is not None:
            self._poll.unregister(fd)

    def close(self) -> None:
        os.close(self._fd)


class _Waker:
    """Closes its descriptor with the last reference."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        weakref.finalize(self, os.close, fd).atexit = False  # at the very end, threads may still hold it

    def __call__(self) -> None:
        os.eventfd_write(self._fd, 1)
