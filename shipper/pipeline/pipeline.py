"""The path of a batch from the readers to its acknowledgement: processors, queue, publisher, output."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from log_shipper.shipper.event import Batch, Source
from log_shipper.shipper.output.base import Output
from log_shipper.shipper.pipeline.processing import Processing
from log_shipper.shipper.pipeline.publisher import Publisher
from log_shipper.shipper.pipeline.queue import MemoryQueue

if TYPE_CHECKING:
    from log_shipper.shipper.pipeline.disk_queue.queue import DiskQueue  # few have one

NONE: frozenset[int] = frozenset()
MakeDisk = Callable[[], "DiskQueue | None"]


class Pipeline:
    """Used by the loop's thread only. `disk`: the queue on disk, None while there is none."""

    def __init__(
        self,
        queue: MemoryQueue,
        publisher: Publisher,
        output: Output,
        fit: Callable[[Batch], None],
        disk: "DiskQueue | None",
        make_disk: MakeDisk,
    ) -> None:
        """`fit` replaces events that are too large for the output. `make_disk` is asked for the queue on disk whenever
        something comes that cannot be read again, and there is none: most agents read files only. It returns None where
        there is to be none, or none can be made now."""
        self.queue = queue
        self.publisher = publisher
        self.output = output
        self.disk = disk
        self._make_disk = make_disk
        self.processing = Processing(queue, fit, self._enqueue)
        self.put = self.processing.put

    def _enqueue(self, batch: Batch) -> None:
        """Queue a batch that is ready to be sent."""
        if self.disk is None and not batch.source.repeatable:
            self.disk = self._make_disk()
        if self.disk is None:
            self.queue.put(batch)
        else:
            self.disk.put(batch)

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
    def is_writing(self) -> bool:
        """True while something waits to be written to the queue on disk; the loop is woken once it is."""
        return self.disk is not None and self.disk.is_writing

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
