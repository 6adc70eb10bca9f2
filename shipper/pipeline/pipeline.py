"""The path of a batch from the readers to its acknowledgement: processors, queue, publisher, output."""

from dataclasses import dataclass

from shipper.event import Batch, Source
from shipper.output.base import Output
from shipper.pipeline.processing import Processing
from shipper.pipeline.publisher import Publisher
from shipper.pipeline.queue import MemoryQueue


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Used by the loop's thread only."""

    processing: Processing
    queue: MemoryQueue
    publisher: Publisher
    output: Output

    def put(self, batch: Batch) -> None:
        self.processing.put(batch)

    def step(self) -> None:
        """Resume batches that wait for results, publish, take in acknowledgements."""
        if not self.processing.empty:
            self.processing.step()
        self.publisher.step(self.output)
        self.output.poll(0)

    @property
    def has_room(self) -> bool:
        return self.queue.has_room

    def takes_more(self, source: Source) -> bool:
        """True if more of this file may be read: neither its processors nor its topic hold too much of the queue."""
        return self.processing.takes_more(source) and self.output.takes_more(source)

    @property
    def awaits_reports(self) -> bool:
        """True if files are not read until more of what is in flight is delivered, which is expected soon."""
        return self.output.awaits_reports

    @property
    def in_flight(self) -> bool:
        return bool(self.output.in_flight)

    @property
    def next_step(self) -> float:
        """Return the monotonic time at which `step` has something to do even if nothing wakes the loop."""
        return min(self.processing.next_step, self.publisher.next_step)

    @property
    def drained(self) -> bool:
        """True if everything that was read is resolved. What waits in the processors has a reservation in the queue."""
        return self.queue.events == 0 and self.queue.empty and not self.output.in_flight
