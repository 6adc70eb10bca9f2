"""A Prometheus histogram: the number of values up to each bound."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate


@dataclass(frozen=True, slots=True)
class Distribution:
    """A histogram at one moment. `counts`: values up to each bound, cumulative; the last one, of all, has no bound."""

    bounds: Sequence[float]
    counts: Sequence[int]
    total: float

    @property
    def count(self) -> int:
        return self.counts[-1]


class Histogram:
    """A histogram, written by one thread, and read by any."""

    __slots__ = ("_bounds", "_counts", "_total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = tuple(bounds)
        self._counts = [0] * (len(bounds) + 1)
        self._total = 0.0

    def add(self, value: float) -> None:
        self._counts[bisect_left(self._bounds, value)] += 1
        self._total += value

    def distribution(self) -> Distribution:
        return Distribution(self._bounds, tuple(accumulate(self._counts.copy())), self._total)
