"""What the loop sleeps on: woken by other threads, by signal handlers, or by a descriptor with data."""

import os
import select
import threading
from collections.abc import Callable
from contextlib import suppress


class Wake:
    """Like threading.Event, but without a lock: a signal handler may interrupt the thread that waits."""

    def __init__(self) -> None:
        self._fd = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._poll = select.poll()
        self._poll.register(self._fd, select.POLLIN)
        self._poll_without_hints = select.poll()
        self._poll_without_hints.register(self._fd, select.POLLIN)
        self._watched: dict[int, Callable[[], None]] = {}
        self._is_open = True
        self._lock = threading.Lock()  # of that

    def set(self) -> None:
        """Called by whoever has ended when this is closed, such as a signal handler."""
        # No flag that it is set already: between the flag and the write, the other thread could clear it.
        os.eventfd_write(self._fd, 1)

    def set_if_open(self) -> None:
        """As `set`, by a thread that may not have ended when this is closed: then it does nothing, because the
        descriptor may be another's."""
        with self._lock:
            if self._is_open:
                self.set()

    def clear(self) -> None:
        """Called by the loop before it checks what other threads left for it: a `set` before that may be lost."""
        for fd, _ in self._poll.poll(0):
            if fd == self._fd:
                os.eventfd_read(fd)
            else:  # a loop that is never idle never waits, and must notice the descriptors too
                self._report(fd)

    def wait(self, timeout: float) -> None:
        """Wait until it is set, a watched descriptor is ready, or `timeout` seconds have passed."""
        for fd, _ in self._poll.poll(timeout * 1000):
            if fd != self._fd:
                self._report(fd)

    def pause(self, timeout: float) -> None:
        """As `wait`, but not for descriptors with hints."""
        self._poll_without_hints.poll(timeout * 1000)

    def _report(self, fd: int) -> None:
        ready = self._watched[fd]
        self.unwatch(fd)
        ready()

    def watch(self, fd: int, ready: Callable[[], None], *, hints: bool = False) -> None:
        """Call `ready`, once, from within `wait` or `clear`, when the descriptor has data, is at its end, or failed.
        `hints`: what it has is kept for as long as a pause lasts.

        Once: otherwise data that has arrived and is not read yet (the queue has no room) would end every wait
        immediately, and the end of a pipe stays ready. The caller watches again when it has read all data."""
        self._watched[fd] = ready
        self._poll.register(fd, select.POLLIN)
        if not hints:
            self._poll_without_hints.register(fd, select.POLLIN)

    def unwatch(self, fd: int) -> None:
        """Stop watching; must be called before a watched descriptor is closed. Does nothing for one that is not
        watched."""
        if self._watched.pop(fd, None) is not None:
            self._poll.unregister(fd)
            with suppress(KeyError):
                self._poll_without_hints.unregister(fd)

    def close(self) -> None:
        with self._lock:
            self._is_open = False
            os.close(self._fd)
