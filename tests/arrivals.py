"""The destination of the Lab's agent, and what it has of a record."""

from dataclasses import dataclass

from shipper.event import Batch
from shipper.output.base import Deliveries
from shipper.output.encode import Encoder
from shipper.testing import MemoryOutput


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
