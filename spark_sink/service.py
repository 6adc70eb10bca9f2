"""What the service manager knows of the sink: ready, alive, stopping, and a line on how it is doing.

The sink is alive as long as its query is healthy by the same rule as `/health`; systemd restarts one that is not.
Nothing happens here in a sink that no service manager has started.
"""

import time
from collections.abc import Callable

from service.notify import Notifier

INTERVAL = 5.0  # seconds between two reports
WAITING = "waiting for topics that Kafka does not have yet"


class Service:
    """Used by the job's thread only. `silent_for` returns the seconds since the query was last seen alive; more than
    `limit` is too long."""

    def __init__(
        self,
        notifier: Notifier,
        silent_for: Callable[[], float],
        limit: float,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._notifier = notifier
        self._silent_for = silent_for
        self._limit = limit
        self._now = now
        self._interval = min(INTERVAL, (notifier.watchdog or INTERVAL) / 2)
        self._due = now() if notifier else float("inf")
        self._is_ready = False
        self._status = ""

    def waiting(self) -> None:
        """Called repeatedly while the start waits for topics. That may take days, so it counts as done."""
        self._step(lambda: WAITING)

    def step(self, describe: Callable[[], str]) -> None:
        """Called repeatedly while the query runs; `describe` returns how it is doing."""
        self._step(describe)

    def stopping(self) -> None:
        """Called when the query has ended, or is to end: the running batch takes as long as it takes."""
        self._notifier.send("STOPPING=1", "WATCHDOG_USEC=0")

    def ended(self) -> None:
        """Called when the query of a run with an end is done: views may still catch up, and nothing watches them."""
        self._notifier.send("WATCHDOG_USEC=0")

    def _step(self, describe: Callable[[], str]) -> None:
        now = self._now()
        if now < self._due:
            return
        self._due = now + self._interval
        lines = [] if self._is_ready else ["READY=1"]
        self._is_ready = True
        if self._silent_for() <= self._limit:
            lines.append("WATCHDOG=1")
        if (status := describe()) != self._status:
            self._status = status
            lines.append(f"STATUS={status}")
        if lines:
            self._notifier.send(*lines)
