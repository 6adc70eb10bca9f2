"""The definition of a metric: its name, meaning, and value in a snapshot."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from log_shipper.runtime.monitor.histogram import Distribution
from log_shipper.shipper.monitor.snapshot import Snapshot

PREFIX = "shipper_"

Labels = tuple[str, ...]
Samples = Iterator[tuple[Labels, float]]


@dataclass(frozen=True, slots=True)
class Measure:
    """A metric; `samples` returns the values of a snapshot with their labels."""

    kind: Literal["counter", "gauge"]
    name: str
    text: str
    samples: Callable[[Snapshot], Samples]
    labels: Labels = ()

    @property
    def exposed(self) -> str:
        return f"{PREFIX}{self.name}{'_total' if self.kind == 'counter' else ''}"


@dataclass(frozen=True, slots=True)
class Times:
    """A histogram of seconds."""

    name: str
    text: str
    distribution: Callable[[Snapshot], Distribution | None]  # None if nothing is timed
    kind: Literal["histogram"] = "histogram"
    labels: Labels = ()

    @property
    def exposed(self) -> str:
        return f"{PREFIX}{self.name}"


def one(value: Callable[[Snapshot], float | None]) -> Callable[[Snapshot], Samples]:
    def samples(snapshot: Snapshot) -> Samples:
        number = value(snapshot)
        if number is not None:
            yield (), number

    return samples
