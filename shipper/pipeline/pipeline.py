"""The path of a batch from reading to acknowledgement: processors, queue, publisher, output."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from log_shipper.shipper.event import Batch, Source
from log_shipper.shipper.output.base import Output
from log_shipper.shipper.pipeline.processing import Processing
from log_shipper.shipper.pipeline.publisher import Publisher
from log_shipper.shipper.pipeline.queue import MemoryQueue

if TYPE_CHECKING:
    from log_shipper.shipper.pipeline.disk_queue.queue import DiskQueue  # rarely used

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
        """`fit` replaces events that are too large for the output. `make_disk` is called for data that cannot be read
        again while there is no queue on disk: most agents read only files. It returns None if none is configured, or
        none can be made now."""
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
        """Resume waiting batches, publish, and process acknowledgements."""
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
        """Return True if more of this file may be read: its processors and its topic do not fill the queue, and there
        is room beside the data kept for the disk."""
        if self.disk is not None and not self.disk.takes_more(source):
            return False
        return self.processing.takes_more(source) and self.output.takes_more(source)

    @property
    def devices_over_flood_mark(self) -> frozenset[int]:
        """Return the devices of file systems so full that deleted files must be closed."""
        return NONE if self.disk is None else self.disk.devices_over_flood_mark

    @property
    def is_writing(self) -> bool:
        """Return True while data waits to be written to the queue on disk; the loop is woken afterwards."""
        return self.disk is not None and self.disk.is_writing

    @property
    def next_step(self) -> float:
        """Return the monotonic time of the next `step` if nothing wakes the loop earlier."""
        next_step = min(self.processing.next_step, self.publisher.next_step)
        return next_step if self.disk is None else min(next_step, self.disk.next_step)

    @property
    def drained(self) -> bool:
        """Return True if all data read is resolved. Batches waiting in processors have a reservation in the queue."""
        is_drained = self.queue.events == 0 and self.queue.empty and not self.output.in_flight
        return is_drained and (self.disk is None or self.disk.empty)
