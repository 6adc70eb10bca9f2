"""A throttle for log lines about events that may occur a million times."""

import time
from collections.abc import Callable

INTERVAL = 60.0  # seconds


class Throttle:
    """Lets a log line through at most once a minute, and counts the suppressed ones. Used by one thread.

        if throttle.is_due():
            logger.warning("...%s", throttle.suppressed)

    `monotonic` returns seconds.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._due = float("-inf")
        self._suppressed_since = 0
        self.suppressed = 0  # lines suppressed between the last two that were logged

    def is_due(self) -> bool:
        """Return True if the caller should log the line now."""
        now = self._monotonic()
        if now < self._due:
            self._suppressed_since += 1
            return False
        self._due = now + INTERVAL
        self.suppressed, self._suppressed_since = self._suppressed_since, 0
        return True

    def reset(self) -> None:
        """Let the next line through at once: the problem has ended, and the next one is new."""
        self._due = float("-inf")
        self._suppressed_since = 0
