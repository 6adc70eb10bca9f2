"""Notifies the service manager: ready, alive, reloading, stopping, and a status line.

systemd shows the line (`systemctl status`), and restarts an agent whose loop does not report for WatchdogSec. Without a
service manager, nothing happens here.
"""

from collections.abc import Callable
from dataclasses import dataclass

from log_shipper.config.text.units import readable_bytes
from log_shipper.runtime.systemd import MICROSECONDS, Notifier
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.inputs.batch_sources import BatchSources
from log_shipper.shipper.metrics import Metrics

NEVER = float("inf")
STATUS_INTERVAL = 5.0
PULSE_INTERVAL = 1.0
# A start that waits for Kafka counts as done after this time: units that wait for the service (a boot, a package
# upgrade) must not wait for the whole outage. Without transactions, the same outage does not delay readiness.
START_PATIENCE = 20.0
# The time extension requested with each call while the agent starts or stops; it is renewed long before it ends.
EXTENSION = 30.0
WAITING = "waiting for the positions committed in Kafka; nothing is read until then"


@dataclass(frozen=True, slots=True)
class LoopFigures:
    """The figures of the status line, read by the loop's thread."""

    metrics: Metrics
    sources: BatchSources


class Pulse:
    """Shows that the reading thread progresses within one step, which may take minutes: a full scan of a network file
    system with many directories. A single system call that takes this long counts as hanging; many calls do not.
    `report` is called on a beat, at most once per PULSE_INTERVAL.
    """

    def __init__(self, clock: Clock, report: Callable[[], None] = lambda: None) -> None:
        self._clock = clock
        self._report = report
        self.last = clock.monotonic()  # the last beat; readable by any thread
        self._due = self.last

    def beat(self) -> None:
        """Note that one of many items is done: a directory listed, a file checked. Costs one look at the clock."""
        self.last = now = self._clock.monotonic()
        if now >= self._due:
            self._due = now + PULSE_INTERVAL
            self._report()


class Service:
    """Notifies the service manager; used only by the reading thread, in the loop's steps and within long ones: an agent
    whose reading thread hangs is not alive.
    """

    def __init__(self, notifier: Notifier, clock: Clock) -> None:
        self._notifier = notifier
        self._clock = clock
        self._started = clock.monotonic()
        self._interval = min(STATUS_INTERVAL, (notifier.watchdog or NEVER) / 2)
        self._due = self._started if notifier else NEVER
        self._working_due = self._due + self._interval
        # For one system call while the agent starts or stops: as long as the watchdog allows later.
        self._patience = max(EXTENSION, notifier.watchdog or 0.0)
        self._is_ready = self._is_stopping = False
        self._status = ""
        self._status_due = self._started
        self._sampled = self._started, 0  # time and acknowledged events at the previous status line

    def max_wait(self, usual: float) -> float:
        """Return how long the loop may be idle: not at all before it was reported as ready."""
        return min(usual, self._interval) if self._is_ready or not self._notifier else 0.0

    def waiting(self) -> None:
        """Extend the time for the start. Call it repeatedly while the start waits for the output."""
        now = self._clock.monotonic()
        if now < self._due:
            return
        self._due = now + self._interval
        if now - self._started < START_PATIENCE:
            self._notifier.extend(EXTENSION)
        else:
            self._notifier.send(*self._ready(), "WATCHDOG=1", *self._changed(WAITING))

    def working(self) -> None:
        """Extend the time within a long step, after each item: at the start there may be millions of files on a
        slow file system, and no unit can know how long they take.
        """
        now = self._clock.monotonic()
        if now < self._working_due:
            return
        self._working_due = now + self._interval
        if self._is_ready:
            self._notifier.send("WATCHDOG=1")
        if not self._is_ready or self._is_stopping:
            self._notifier.extend(self._patience)

    def step(self, observed: LoopFigures) -> None:
        """Report life, and readiness after the first step, which has scanned all inputs."""
        now = self._clock.monotonic()
        if now < self._due:
            return
        self._due = now + self._interval
        lines = [*self._ready(), "WATCHDOG=1"]
        if now >= self._status_due:
            self._status_due = now + STATUS_INTERVAL
            lines += self._changed(self._describe(observed, now))
        self._notifier.send(*lines)

    def reloading(self, pending: bool) -> None:
        """Report the start of a reload, or its end. systemd identifies the request by the time."""
        if pending:
            self._notifier.send("RELOADING=1", f"MONOTONIC_USEC={round(self._clock.monotonic() * MICROSECONDS)}")
        else:
            self._notifier.send("READY=1")

    def stopping(self) -> None:
        self._is_stopping = True
        self._notifier.send("STOPPING=1", *self._changed("stopping: waiting for acknowledgements"))
        self._due = self._clock.monotonic() if self._notifier else NEVER

    def draining(self) -> None:
        """Extend the time for the stop while it waits for acknowledgements, which `shutdown_timeout` limits."""
        now = self._clock.monotonic()
        if now >= self._due:
            self._due = now + self._interval
            self._notifier.send("WATCHDOG=1")
            self._notifier.extend(EXTENSION)

    def saving(self, timeout: float) -> None:
        """Extend the time for the stop before it waits for the disk, for at most `timeout` seconds."""
        self._notifier.extend(timeout + EXTENSION)

    def _ready(self) -> list[str]:
        if self._is_ready:
            return []
        self._is_ready = True
        return ["READY=1"]

    def _changed(self, status: str) -> list[str]:
        if status == self._status:
            return []
        self._status = status
        return [f"STATUS={status}"]

    def _describe(self, observed: LoopFigures, now: float) -> str:
        (since, before), acknowledged = self._sampled, observed.metrics.events_acked
        self._sampled = now, acknowledged
        rate = (acknowledged - before) / (now - since) if now > since else 0.0
        status = observed.sources.status()
        files = f"{status.files_open:,} file{'' if status.files_open == 1 else 's'} open"
        return f"{rate:,.0f} events/s, {readable_bytes(status.bytes_behind + status.bytes_waiting)} behind, {files}"
