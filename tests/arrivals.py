"""The destination of the Lab's agent, and the records that have arrived there."""

from dataclasses import dataclass

from log_shipper.shipper.event import Batch
from log_shipper.shipper.output.base import Deliveries
from log_shipper.shipper.output.encode import Encoder
from tests.fakes import MemoryOutput


@dataclass(frozen=True)
class Arrived:
    """A record at the destination."""

    file_id: str
    inode: int
    offset: int
    length: int
    message: str


class Destination(MemoryOutput):
    """Also keeps in `taken` the batches that it was given, until the model has looked at them."""

    def __init__(self, encoder: Encoder, deliveries: Deliveries) -> None:
        super().__init__(encoder, deliveries)
        self.taken: list[Batch] = []

    def publish(self, batch: Batch) -> bool:
        taken = super().publish(batch)
        if taken:
            self.taken.append(batch)
        return taken

    def arrive_some(self, batches: int) -> None:
        """Let the first batches in flight arrive; the others are lost if the agent is killed now."""
        self.arrive(min(batches, len(self._on_the_way)))

    def acknowledge_one(self, which: int) -> None:
        """Acknowledge one of the batches that have arrived."""
        if self._arrived:
            self.acknowledge([which % len(self._arrived)])
