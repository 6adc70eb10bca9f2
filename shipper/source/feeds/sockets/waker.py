"""Wakes the receiver's thread, whether it waits for sockets or for room."""

import os
import select
from contextlib import suppress


class Waker:
    """`fd` is readable after `wake`, which any thread may call; one thread waits."""

    def __init__(self) -> None:
        self.fd = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)

    def wake(self) -> None:
        if self.fd >= 0:
            os.eventfd_write(self.fd, 1)

    def clear(self) -> None:
        with suppress(BlockingIOError):
            os.eventfd_read(self.fd)

    def wait(self, seconds: float) -> None:
        """Wait until `wake` is called, for at most so many seconds."""
        poll = select.poll()
        poll.register(self.fd, select.POLLIN)
        if poll.poll(max(seconds, 0.0) * 1000):
            self.clear()

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
