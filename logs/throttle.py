"""A line about something that may happen a million times."""

import time
from collections.abc import Callable

INTERVAL = 60.0  # seconds


class Throttle:
    """Lets a log line through at most once a minute, and counts those that it suppressed. Used by one thread.

        if throttle.is_due():
            logger.warning("...%s", throttle.suppressed)

    `monotonic` returns seconds.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic, interval: float = INTERVAL) -> None:
        self._monotonic = monotonic
        self._interval = interval
        self._due = float("-inf")
        self._held_back = 0
        self.suppressed = 0  # lines that were not logged between the last two that were

    def is_due(self) -> bool:
        """True if the line is to be logged now, which the caller then does."""
        now = self._monotonic()
        if now < self._due:
            self._held_back += 1
            return False
        self._due = now + self._interval
        self.suppressed, self._held_back = self._held_back, 0
        return True

    def reset(self) -> None:
        """The trouble is over: the next one is new, and logged at once."""
        self._due = float("-inf")
        self._held_back = 0
