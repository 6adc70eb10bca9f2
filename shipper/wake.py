"""The sleep of the loop, ended by other threads, by signal handlers, or by a descriptor with data."""

import os
import select
import threading
from collections.abc import Callable
from contextlib import suppress


class Wake:
    """Like threading.Event, but lock-free: a signal handler may interrupt the waiting thread."""

    def __init__(self) -> None:
        self._fd = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._poll = select.poll()
        self._poll.register(self._fd, select.POLLIN)
        self._poll_without_hints = select.poll()
        self._poll_without_hints.register(self._fd, select.POLLIN)
        self._watched: dict[int, Callable[[], None]] = {}
        self._is_open = True
        self._lock = threading.Lock()  # guards it

    def set(self) -> None:
        """Wake the loop. For callers that end before this is closed, such as a signal handler."""
        # No flag for "already set": the other thread could clear it between the flag and the write.
        os.eventfd_write(self._fd, 1)

    def set_if_open(self) -> None:
        """Wake the loop, from a thread that may outlive it. After `close` it does nothing, because the descriptor may
        belong to another file."""
        with self._lock:
            if self._is_open:
                self.set()

    def clear(self) -> None:
        """Clear it, before the loop checks what other threads left for it: an earlier `set` may be lost."""
        for fd, _ in self._poll.poll(0):
            if fd == self._fd:
                os.eventfd_read(fd)
            else:  # a loop that is never idle never waits, and must notice descriptors too
                self._report(fd)

    def wait(self, timeout: float) -> None:
        """Wait until it is set, a watched descriptor is ready, or `timeout` seconds have passed."""
        for fd, _ in self._poll.poll(timeout * 1000):
            if fd != self._fd:
                self._report(fd)

    def pause(self, timeout: float) -> None:
        """Wait as `wait` does, but ignore descriptors with hints."""
        self._poll_without_hints.poll(timeout * 1000)

    def _report(self, fd: int) -> None:
        ready = self._watched[fd]
        self.unwatch(fd)
        ready()

    def watch(self, fd: int, ready: Callable[[], None], *, hints: bool = False) -> None:
        """Call `ready` once, from `wait` or `clear`, when the descriptor has data, is at its end, or failed. `hints`:
        its data may wait during a pause.

        Once, because otherwise unread data (the queue has no room) or the end of a pipe would end every wait
        immediately. The caller watches again when it has read all data.
        """
        self._watched[fd] = ready
        self._poll.register(fd, select.POLLIN)
        if not hints:
            self._poll_without_hints.register(fd, select.POLLIN)

    def unwatch(self, fd: int) -> None:
        """Stop watching; must precede closing a watched descriptor. Does nothing if it is not watched."""
        if self._watched.pop(fd, None) is not None:
            self._poll.unregister(fd)
            with suppress(KeyError):
                self._poll_without_hints.unregister(fd)

    def close(self) -> None:
        with self._lock:
            self._is_open = False
            os.close(self._fd)
