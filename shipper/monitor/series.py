"""The last ten minutes of the agent for charts, in points of two seconds, in bounded memory."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from log_shipper.shipper.monitor.snapshot import Snapshot

POINTS = 300
STEP = 2.0  # seconds
WINDOW = 10.0  # seconds over which rates are computed

Value = float | None  # None: unknown


@dataclass(frozen=True, slots=True)
class ChartLine:
    """One line of a chart. `value` computes a point from the snapshots at the start and end of its two seconds."""

    id: str
    label: str
    value: Callable[[Snapshot, Snapshot], Value]


@dataclass(frozen=True, slots=True)
class Chart:
    id: str
    title: str
    unit: str
    lines: Sequence[ChartLine]


def _a_second(counter: Callable[[Snapshot], int]) -> Callable[[Snapshot, Snapshot], Value]:
    def rate(before: Snapshot, now: Snapshot) -> Value:
        seconds = now.monotonic - before.monotonic
        return round((counter(now) - counter(before)) / seconds, 1) if seconds > 0 else None

    return rate


CHARTS = (
    Chart(
        "events",
        "Events per second",
        "events/s",
        (
            ChartLine("read", "read", _a_second(lambda snapshot: snapshot.metrics.events_read)),
            ChartLine("acked", "acknowledged", _a_second(lambda snapshot: snapshot.metrics.events_acked)),
        ),
    ),
    Chart("lag", "Bytes behind", "bytes", (ChartLine("lag", "behind", lambda _, now: now.behind),)),
    Chart(
        "age",
        "Age of the oldest unacknowledged event",
        "seconds",
        (ChartLine("age", "age", lambda _, now: round(now.oldest or 0.0, 1)),),
    ),
    Chart("queue", "Bytes in the queue", "bytes", (ChartLine("queue", "queued", lambda _, now: now.queue.bytes),)),
)


class Series:
    """The points, written by the sampler's thread, and read by any: `values` copies."""

    def __init__(self) -> None:
        self._points: dict[tuple[str, str], deque[Value]] = {
            (chart.id, line.id): deque(maxlen=POINTS) for chart in CHARTS for line in chart.lines
        }
        self._before: Snapshot | None = None
        self.until = 0.0  # unix time of the last point

    def add(self, snapshot: Snapshot) -> None:
        """Add a point if its two seconds have passed. After a longer gap, such as a suspended machine, unknown points
        are added.
        """
        before = self._before
        if before is None:
            self._before = snapshot
            return
        steps = round((snapshot.monotonic - before.monotonic) / STEP, 1)
        if steps < 1:
            return
        for chart in CHARTS:
            for line in chart.lines:
                points = self._points[chart.id, line.id]
                points.extend([None] * min(int(steps) - 1, POINTS))
                points.append(line.value(before, snapshot))
        self._before, self.until = snapshot, snapshot.time

    def values(self) -> Mapping[tuple[str, str], list[Value]]:
        """Return the points, oldest first; all lines have the same number."""
        copies = {name: list(points) for name, points in self._points.items()}
        length = min(len(points) for points in copies.values())  # a point may be added meanwhile
        return {name: points[len(points) - length :] for name, points in copies.items()}


class Rates:
    """Rates of counters over the last ten seconds."""

    def __init__(self) -> None:
        self._snapshots: deque[Snapshot] = deque()

    def add(self, snapshot: Snapshot) -> None:
        self._snapshots.append(snapshot)
        while snapshot.monotonic - self._snapshots[0].monotonic > WINDOW + 0.5:
            self._snapshots.popleft()

    def rate_of(self, counter: Callable[[Snapshot], int]) -> float | None:
        """Return the rate per second; None while unknown."""
        return self.rates_of(lambda snapshot: {"": counter(snapshot)}).get("")

    def rates_of(self, counters: Callable[[Snapshot], Mapping[str, int]]) -> Mapping[str, float]:
        """Return the rates per second by name; empty while unknown. A new counter has risen from 0."""
        snapshots = list(self._snapshots)
        if not snapshots or (seconds := snapshots[-1].monotonic - snapshots[0].monotonic) <= 0:
            return {}
        before, now = counters(snapshots[0]), counters(snapshots[-1])
        return {name: round((count - before.get(name, 0)) / seconds, 1) for name, count in now.items()}
