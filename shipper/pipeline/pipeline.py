"""The path of a batch from the readers to its acknowledgement: processors, queue, publisher, output."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from log_shipper.shipper.event import Batch, Source
from log_shipper.shipper.metrics import DiskQueueFigures
from log_shipper.shipper.output.base import Output
from log_shipper.shipper.pipeline.processing import Processing
from log_shipper.shipper.pipeline.publisher import Publisher
from log_shipper.shipper.pipeline.queue import MemoryQueue

NEVER = float("inf")
MAKE_AGAIN = 5.0
NONE: frozenset[int] = frozenset()


class DiskStage(Protocol):
    """What is between the processors and the queue in memory where there is a queue on disk. Used by the loop's thread
    only; nothing of it waits for the disk but `close`."""

    def put(self, batch: Batch) -> None:
        """Take a batch over, and resolve it once it is delivered or on disk."""

    def step(self) -> None:
        """Give the queue in memory what it has room for, and take in what was written."""

    def takes_more(self, source: Source) -> bool:
        """True if more of this source may be read."""

    @property
    def has_room(self) -> bool:
        """True if another batch may be put."""

    @property
    def empty(self) -> bool:
        """True if nothing waits here to be published."""

    @property
    def is_writing(self) -> bool:
        """True while something waits to be written, after which the loop is woken."""

    @property
    def next_step(self) -> float:
        """Return the monotonic time at which `step` has something to do even if nothing wakes the loop."""

    def figures(self) -> DiskQueueFigures | None:
        """Return what the monitor shows; None while nothing is kept on disk. Any thread may ask."""

    @property
    def flooded(self) -> frozenset[int]:
        """Return the devices of file systems so full that deleted files are to be given up."""

    def close(self, timeout: float) -> None:
        """Write what is not delivered, for at most so many seconds. Why something cannot be written is logged; its
        source reports what is lost."""


class DiskOnDemand:
    """A stage that is made when the first batch comes that cannot be read again: most agents read files only. `make`
    returns None where it cannot be made now, which it has logged; it is asked again after `MAKE_AGAIN` seconds."""

    def __init__(
        self, memory: MemoryQueue, make: Callable[[], DiskStage | None], monotonic: Callable[[], float]
    ) -> None:
        self.made: DiskStage | None = None
        self._memory = memory
        self._make = make
        self._monotonic = monotonic
        self._make_at = float("-inf")

    def put(self, batch: Batch) -> None:
        if batch.source.repeatable:
            self._memory.put(batch)
            return
        now = self._monotonic()
        if self.made is None and now >= self._make_at:
            self.made, self._make_at = self._make(), now + MAKE_AGAIN
        if self.made is None:
            self._memory.put(batch)
        else:
            self.made.put(batch)

    def step(self) -> None:
        if self.made is not None:
            self.made.step()

    def takes_more(self, source: Source) -> bool:
        return self.made is None or self.made.takes_more(source)

    @property
    def has_room(self) -> bool:
        return self._memory.has_room if self.made is None else self.made.has_room

    @property
    def empty(self) -> bool:
        return self.made is None or self.made.empty

    @property
    def is_writing(self) -> bool:
        return self.made is not None and self.made.is_writing

    @property
    def next_step(self) -> float:
        return NEVER if self.made is None else self.made.next_step

    def figures(self) -> DiskQueueFigures | None:
        return None if self.made is None else self.made.figures()

    @property
    def flooded(self) -> frozenset[int]:
        return NONE if self.made is None else self.made.flooded

    def close(self, timeout: float) -> None:
        if self.made is not None:
            self.made.close(timeout)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Used by the loop's thread only. `disk`: None where nothing is kept on disk; else the processors put into it."""

    processing: Processing
    queue: MemoryQueue
    publisher: Publisher
    output: Output
    disk: DiskStage | None = None

    def put(self, batch: Batch) -> None:
        self.processing.put(batch)

    def step(self) -> None:
        """Resume batches that wait for results, publish, take in acknowledgements."""
        if not self.processing.empty:
            self.processing.step()
        if self.disk is not None:
            self.disk.step()
        self.publisher.step(self.output)
        self.output.poll(0)

    @property
    def has_room(self) -> bool:
        return self.queue.has_room if self.disk is None else self.disk.has_room

    def takes_more(self, source: Source) -> bool:
        """True if more of this file may be read: neither its processors nor its topic hold too much of the queue, and
        there is room beside what is kept on disk."""
        if self.disk is not None and not self.disk.takes_more(source):
            return False
        return self.processing.takes_more(source) and self.output.takes_more(source)

    @property
    def flooded(self) -> frozenset[int]:
        """Return the devices of file systems so full that deleted files are to be given up."""
        return NONE if self.disk is None else self.disk.flooded

    @property
    def awaits_reports(self) -> bool:
        """True if files are not read until more of what is in flight is delivered, which is expected soon."""
        return self.output.awaits_reports

    @property
    def is_writing(self) -> bool:
        """True while something waits to be written to the queue on disk; the loop is woken once it is."""
        return self.disk is not None and self.disk.is_writing

    @property
    def in_flight(self) -> bool:
        return bool(self.output.in_flight)

    @property
    def next_step(self) -> float:
        """Return the monotonic time at which `step` has something to do even if nothing wakes the loop."""
        next_step = min(self.processing.next_step, self.publisher.next_step)
        return next_step if self.disk is None else min(next_step, self.disk.next_step)

    @property
    def drained(self) -> bool:
        """True if everything that was read is resolved. What waits in the processors has a reservation in the queue."""
        is_drained = self.queue.events == 0 and self.queue.empty and not self.output.in_flight
        return is_drained and (self.disk is None or self.disk.empty)
