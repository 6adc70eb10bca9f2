"""The last ten minutes of the sink, a sample every two seconds, for the charts of its page."""

import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")

STEP = 2.0  # seconds
POINTS = 300
RATE_STEPS = 5  # of the rate now, a mean of ten seconds
SMOOTH_STEPS = 15  # of the rates of the chart, a mean of half a minute: rows land by the batch, not one after the other


@dataclass(frozen=True, slots=True)
class Sample:
    """Counts since the start, and the newest state; None where it is unknown. `topics`: records by topic; `longest` and
    `shortest`: delays of the last batch; `cpu`: seconds; `memory`: bytes."""

    rows: int
    lag: int | None = None
    lag_seconds: float | None = None
    batch_seconds: float | None = None
    longest: float | None = None
    shortest: float | None = None
    topics: Mapping[str, int] = field(default_factory=dict)
    cpu: float = 0.0
    memory: int = 0


class Samples:
    """Keeps samples. `add` is for one thread; the others may be called from any."""

    def __init__(self) -> None:
        self._samples: deque[Sample | None] = deque(maxlen=POINTS + SMOOTH_STEPS)
        self._until = 0.0

    def add(self, now: float, sample: Sample) -> None:
        """Add a sample as of `now`, seconds of the epoch. Where the clock has jumped, what lies between is unknown."""
        if now < self._until - STEP:  # it was set back
            self._samples.clear()
        elif self._samples:
            missed = round((now - self._until) / STEP) - 1
            self._samples.extend([None] * min(missed, POINTS))
        self._samples.append(sample)
        self._until = now

    @property
    def until(self) -> float:
        """When the last sample was taken, seconds of the epoch."""
        return self._until

    @property
    def latest(self) -> Sample | None:
        samples = list(self._samples)
        return samples[-1] if samples else None

    def values(self, pick: Callable[[Sample], T | None]) -> list[T | None]:
        """Return a value of each sample, oldest first."""
        return [None if sample is None else pick(sample) for sample in list(self._samples)[-POINTS:]]

    def lags(self) -> list[int | None]:
        """Return the offsets behind of each sample, oldest first."""
        return self.values(lambda sample: sample.lag)

    def rates(self, count: Callable[[Sample], float]) -> list[float | None]:
        """Return how much came a second, the mean of half a minute before each sample, oldest first."""
        samples = list(self._samples)
        first = max(0, len(samples) - POINTS)
        return [_rate(samples, index, SMOOTH_STEPS, count) for index in range(first, len(samples))]

    def rate(self) -> float | None:
        """Return the rows a second over the last ten seconds."""
        samples = list(self._samples)
        return _rate(samples, len(samples) - 1, RATE_STEPS, lambda sample: sample.rows) if samples else None


def _rate(samples: list[Sample | None], index: int, steps: int, count: Callable[[Sample], float]) -> float | None:
    now = samples[index]
    before = max(0, index - steps)
    then = samples[before]
    if now is None or then is None or before == index:
        return None
    return round((count(now) - count(then)) / ((index - before) * STEP), 3)


class Sampler:
    """Calls `sample` every STEP while the `with` block runs, on a thread of its own."""

    def __init__(self, sample: Callable[[], None]) -> None:
        self._sample = sample
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="samples", daemon=True)

    def __enter__(self) -> "Sampler":
        self._sample()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopping.wait(STEP):
            self._sample()
