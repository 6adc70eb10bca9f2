"""What the loop sleeps on: set by other threads and by signal handlers."""

import os
import select
from contextlib import suppress


class Wake:
    """Like threading.Event, but without a lock: a signal handler may interrupt the very thread that waits."""

    def __init__(self) -> None:
        self._fd = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._poll = select.poll()
        self._poll.register(self._fd, select.POLLIN)

    def set(self) -> None:
        # No flag that says it is set already: between the flag and the write, the other thread could clear.
        os.eventfd_write(self._fd, 1)

    def clear(self) -> None:
        """Called by the loop before it looks at what the others left for it: a `set` meanwhile may go unnoticed."""
        with suppress(BlockingIOError):  # it was not set
            os.eventfd_read(self._fd)

    def wait(self, timeout: float) -> None:
        """Until it is set, or `timeout` seconds are over."""
        self._poll.poll(timeout * 1000)

    def close(self) -> None:
        os.close(self._fd)
