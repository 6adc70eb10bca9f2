"""Samples of the last ten minutes, one every two seconds, for the charts of the page."""

import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")

STEP = 2.0  # seconds
POINTS = 300
RATE_STEPS = 5  # for the current rate, a mean of ten seconds
SMOOTH_STEPS = 15  # for the chart's rates, a mean of half a minute: rows land in batches, not continuously


@dataclass(frozen=True, slots=True)
class Sample:
    """Counts since the start, and the newest state; None while unknown. `topics`: records by topic; `longest` and
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
    """Keeps samples. `add` is for one thread; the other methods for any."""

    def __init__(self) -> None:
        self._samples: deque[Sample | None] = deque(maxlen=POINTS + SMOOTH_STEPS)
        self._until = 0.0

    def add(self, now: float, sample: Sample) -> None:
        """Add a sample as of `now`, seconds of the epoch. If the clock has jumped ahead, the gap is unknown."""
        if now < self._until - STEP:  # the clock was set back
            self._samples.clear()
        elif self._samples:
            missed = round((now - self._until) / STEP) - 1
            self._samples.extend([None] * min(missed, POINTS))
        self._samples.append(sample)
        self._until = now

    @property
    def until(self) -> float:
        """The time of the last sample, seconds of the epoch."""
        return self._until

    @property
    def latest(self) -> Sample | None:
        samples = list(self._samples)
        return samples[-1] if samples else None

    def values(self, pick: Callable[[Sample], T | None]) -> list[T | None]:
        """Return a value of each sample, oldest first."""
        return [None if sample is None else pick(sample) for sample in list(self._samples)[-POINTS:]]

    def lags(self) -> list[int | None]:
        """Return the lag of each sample, oldest first."""
        return self.values(lambda sample: sample.lag)

    def rates(self, count: Callable[[Sample], float]) -> list[float | None]:
        """Return the rate per second at each sample, as the mean of the previous half minute, oldest first."""
        samples = list(self._samples)
        first = max(0, len(samples) - POINTS)
        return [_rate(samples, index, SMOOTH_STEPS, count) for index in range(first, len(samples))]

    def rate(self) -> float | None:
        """Return the rows per second over the last ten seconds."""
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
    """Calls `sample` every STEP during the `with` block, on its own thread."""

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
