"""Reports the state of the sink to the service manager: starting, ready, alive, stopping, and a status line.

The sink is alive while it makes progress, by the same rule as `/health` (monitor/liveness.py). After the start, systemd
otherwise restarts it (WatchdogSec). During the start it does so only if the unit has a finite TimeoutStartSec, which
ours has not, because a download may take long. Without a service manager, this module does nothing.
"""

import time
from collections.abc import Callable

from log_shipper.runtime.systemd import Notifier

NEVER = float("inf")
INTERVAL = 5.0  # seconds between two reports
# Each extension of a finite TimeoutStartSec during the start. The next one is requested long before.
EXTENSION = 60.0
WAITING = "waiting for topics that do not exist yet"


class Service:
    """Used by the job's thread; `watch` by another one, because the job's thread waits for Spark. `stalled_for` returns
    the seconds since the last progress; above `limit` the sink is stalled."""

    def __init__(
        self,
        notifier: Notifier,
        stalled_for: Callable[[], float],
        limit: float,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._notifier = notifier
        self._stalled_for = stalled_for
        self._limit = limit
        self._now = now
        self.interval = min(INTERVAL, (notifier.watchdog or NEVER) / 2)
        self._due = now() if notifier else NEVER
        self._is_ready = False
        self._is_watched = bool(notifier)
        self._status = ""

    def report_waiting(self) -> None:
        """Report, repeatedly, that the start waits for topics. That may take days, so the service counts as started."""
        self.step(lambda: WAITING)

    def watch(self) -> None:
        """Report that the sink is alive or still starting, if it makes progress. Call it every `interval` seconds."""
        if not self._is_watched or self._stalled_for() > self._limit:
            return
        if self._is_ready:
            self._notifier.send("WATCHDOG=1")
        else:
            self._notifier.extend(EXTENSION)

    def stopping(self) -> None:
        """Report that the query ends; the current batch may take any time, unwatched."""
        self._is_watched = False
        self._notifier.send("STOPPING=1", "WATCHDOG_USEC=0")

    def ended(self) -> None:
        """Disable the watchdog after the query of a run with an end: views may still catch up, unwatched."""
        self._is_watched = False
        self._notifier.send("WATCHDOG_USEC=0")

    def step(self, describe: Callable[[], str]) -> None:
        """Report, repeatedly, that the query runs; `describe` returns its status."""
        now = self._now()
        if now < self._due:
            return
        self._due = now + self.interval
        lines = [] if self._is_ready else ["READY=1"]
        self._is_ready = True
        if (status := describe()) != self._status:
            self._status = status
            lines.append(f"STATUS={status}")
        if lines:
            self._notifier.send(*lines)
