"""The progress line at the bottom of a terminal during a run with `--once`.

41 %  1.2 of 2.9 GiB  312,000 events/s  12 of 40 files  0:17 left
"""

from collections import deque
from dataclasses import dataclass

from log_shipper.config.text.units import readable_bytes
from log_shipper.runtime.logs.terminal import TerminalHandler
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.inputs.batch_sources import BatchSources
from log_shipper.shipper.metrics import Metrics

INTERVAL = 0.2  # seconds between updates
RATE_WINDOW = 5.0  # seconds over which rates are computed


@dataclass(frozen=True, slots=True)
class RunStatus:
    """The progress of a run. Rates are per second; `left` is in bytes, None while reading input of unknown length:
    standard input or a compressed file.
    """

    done: int
    left: int | None
    files_done: int
    files_found: int
    bytes_rate: float
    events_rate: float


def describe(run: RunStatus) -> str:
    done, left = run.done, run.left
    parts = [readable_bytes(done)]
    if left is not None:
        parts = [f"{percent(done, left)} %", f"{readable_bytes(done)} of {readable_bytes(done + left)}"]
    parts.append(f"{run.events_rate:,.0f} events/s")
    parts.append(f"{run.files_done:,} of {run.files_found:,} files")
    if left and run.bytes_rate > 0:
        parts.append(f"{duration(left / run.bytes_rate)} left")
    return "  ".join(parts)


def percent(done: int, left: int) -> int:
    """Return the percentage, rounded down: 100 means everything."""
    return 100 * done // (done + left) if left else 100


def duration(seconds: float) -> str:
    minutes, whole_seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{whole_seconds:02}" if hours else f"{minutes}:{whole_seconds:02}"


class Progress:
    """The progress display, used only by the reading thread. `handler` is None without a terminal; then nothing is
    shown.
    """

    def __init__(self, handler: TerminalHandler | None, metrics: Metrics, sources: BatchSources, clock: Clock) -> None:
        self._handler = handler
        self._metrics = metrics
        self._sources = sources
        self._clock = clock
        self._due = clock.monotonic()
        self._samples: deque[tuple[float, int, int]] = deque([self._sample()])

    def step(self) -> None:
        if self._handler is None or self._clock.monotonic() < self._due:
            return
        self._due = self._clock.monotonic() + INTERVAL
        self._handler.show(describe(self._run_status()))

    def close(self) -> None:
        if self._handler is not None:
            self._handler.show("")

    def _run_status(self) -> RunStatus:
        now, done, events = newest = self._sample()
        self._samples.append(newest)
        while now - self._samples[0][0] > RATE_WINDOW:
            self._samples.popleft()
        since, done_then, events_then = self._samples[0]
        seconds = max(now - since, INTERVAL)
        status = self._sources.status()
        started = self._metrics.harvesters_started
        return RunStatus(
            done,
            status.bytes_behind + status.bytes_waiting if status.is_size_known else None,
            started - status.reading - status.unsettled,
            started + status.waiting,
            (done - done_then) / seconds,
            (events - events_then) / seconds,
        )

    def _sample(self) -> tuple[float, int, int]:
        return self._clock.monotonic(), self._metrics.bytes_acked, self._metrics.events_acked
