"""Define the sources of batches as the loop sees them: the files of the inputs, standard input, or a feed."""

from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar, runtime_checkable

from log_shipper.registry.registrar import Registrar
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.event import Batch, Source
from log_shipper.shipper.metrics import Metrics

Item = TypeVar("Item")


class BackPressure(Protocol):
    """The room in the pipeline."""

    @property
    def has_room(self) -> bool:
        """Return False while too much data of all files waits: then nothing is read."""

    @property
    def devices_over_flood_mark(self) -> frozenset[int]:
        """Return the devices of file systems that are so full that deleted files must be closed."""

    def takes_more(self, source: Source) -> bool:
        """Return False for a file with too much data in the pipeline."""


class Heartbeat(Protocol):
    def beat(self) -> None:
        """Report progress of a step with many system calls: called after each call, one per directory or file."""


class KnownInputs(Protocol):
    @property
    def knows_all(self) -> bool:
        """Return False while there may be undiscovered inputs: a file that no input includes may be theirs."""


@dataclass(frozen=True, slots=True)
class SourceContext:
    """The collaborators of every source. `once`: each file ends at its size when it was opened."""

    registrar: Registrar
    clock: Clock
    metrics: Metrics
    once: bool
    pipeline: BackPressure
    pulse: Heartbeat
    inputs: KnownInputs


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """The progress of a source. `reading`: open files not read to their end; `unsettled`: open files read to their end,
    but not acknowledged; `waiting` and `bytes_waiting`: files that wait to be opened; `bytes_behind`: unacknowledged
    bytes of the open files, read or not; `is_size_known`: False while a compressed file is read, whose remaining
    content is unknown. `problems`: the current ones, by path."""

    files_open: int
    reading: int
    unsettled: int
    waiting: int
    bytes_waiting: int
    bytes_behind: int
    is_size_known: bool
    problems: Mapping[str, str]

    @classmethod
    def combine(cls, several: "Sequence[SourceStatus]") -> "SourceStatus":
        return cls(
            files_open=sum(status.files_open for status in several),
            reading=sum(status.reading for status in several),
            unsettled=sum(status.unsettled for status in several),
            waiting=sum(status.waiting for status in several),
            bytes_waiting=sum(status.bytes_waiting for status in several),
            bytes_behind=sum(status.bytes_behind for status in several),
            is_size_known=all(status.is_size_known for status in several),
            problems=ChainMap(*(dict(status.problems) for status in several)),
        )


def with_progress(items: Iterable[Item], progressed: Callable[[], None]) -> Iterator[Item]:
    """Yield the items, and call `progressed` after each."""
    for item in items:
        yield item
        progressed()


class BatchSource(Protocol):
    """A source of batches. Called by the reading thread only; raises nothing about files, and never blocks beyond a
    local file system."""

    @property
    def finished(self) -> bool:
        """Return True if everything is read and acknowledged: with `once`, or when a stream has ended."""

    def step(self) -> None:
        """Find, open and close files."""

    def read(self, budget: int) -> Iterator[Batch]:
        """Yield new batches, about `budget` bytes. The caller may stop at any batch."""

    def next_wake(self, *, reading: bool) -> float:
        """Return the seconds until `step`, and with `reading` also `read`, has something to do."""

    def status(self) -> SourceStatus: ...

    def stop(self) -> None:
        """Close everything, and report the loss: data that cannot be read again, and is neither delivered nor on disk.
        It may be called again."""


@runtime_checkable
class ReadsToEnd(Protocol):
    """A source that can be read to its end at a stop. Called by the reading thread, beside `step` and `read`."""

    def read_to_end(self, seconds: float) -> bool:
        """Read what already exists, in at most `seconds`: of files only those of inputs with `read_until_eof`; of
        sockets what the kernel has; of HTTP the complete requests. Called again and again while the loop steps; return
        True as soon as that is done, or the time is over."""
