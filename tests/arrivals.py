"""The destination of the Lab's agent, and what it has of a record."""

from dataclasses import dataclass

from shipper.event import Batch
from shipper.output.base import Deliveries
from shipper.output.encode import Encoder
from tests.fakes import MemoryOutput


@dataclass(frozen=True)
class Arrived:
    """A record as the destination has it."""

    file_id: str
    inode: int
    offset: int
    length: int
    message: str


class Destination(MemoryOutput):
    """Also keeps in `taken` the batches that it was given and that were not looked at yet."""

    def __init__(self, encoder: Encoder, deliveries: Deliveries) -> None:
        super().__init__(encoder, deliveries)
        self.taken: list[Batch] = []

    def publish(self, batch: Batch) -> bool:
        taken = super().publish(batch)
        if taken:
            self.taken.append(batch)
        return taken

    def arrive_some(self, batches: int) -> None:
        """The first of those that are on the way; the others are lost if the agent is killed now."""
        self.arrive(min(batches, len(self._on_the_way)))

    def acknowledge_one(self, which: int) -> None:
        """Of the batches that have arrived, whichever comes first."""
        if self._arrived:
            self.acknowledge([which % len(self._arrived)])
