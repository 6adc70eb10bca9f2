"""The in-memory queue: what bounds the agent's memory.

A batch counts from the moment it is put until it is resolved, not until it is taken out: what waits for Kafka's
acknowledgement is still memory. So is one that processors have not finished: its room is reserved, and then it is put.
One thread does all of this, so there is no lock; back-pressure is `has_room` turning false, after which nothing more is
read.
"""

from collections import deque
from typing import NamedTuple

from shipper.event import Batch

# What an event costs in memory beside its own bytes: the record's constant fields, and the client's book-keeping.
EVENT_OVERHEAD = 600


class Reservation(NamedTuple):
    """What a batch takes that is not in the queue yet."""

    events: int
    bytes: int


class MemoryQueue:
    def __init__(self, max_events: int, max_bytes: int) -> None:
        self.max_events = max_events
        self.max_bytes = max_bytes
        self.events = 0
        self.bytes = 0
        self._waiting: deque[Batch] = deque()

    @property
    def has_room(self) -> bool:
        """True if another batch may be put. The bound may be passed by one batch, which a reader keeps small."""
        return self.events < self.max_events and self.bytes < self.max_bytes

    @property
    def empty(self) -> bool:
        """Nothing waits to be published; batches may still wait for their acknowledgement."""
        return not self._waiting

    def put(self, batch: Batch) -> None:
        self.events += batch.events
        self.bytes += _cost(batch)
        self._waiting.append(batch)

    def reserve(self, batch: Batch) -> Reservation:
        """Count a batch that is not ready to be put. When it is, it may be smaller, so this is released first."""
        reservation = Reservation(batch.events, _cost(batch))
        self.events += reservation.events
        self.bytes += reservation.bytes
        return reservation

    def release(self, reservation: Reservation) -> None:
        self.events -= reservation.events
        self.bytes -= reservation.bytes

    def get(self) -> Batch | None:
        return self._waiting.popleft() if self._waiting else None

    def give_back(self, batch: Batch) -> None:
        """Put a batch that was taken but could not be published at the front again."""
        self._waiting.appendleft(batch)

    def remove(self, batch: Batch) -> None:
        """The batch is resolved: its memory is free again."""
        self.events -= batch.events
        self.bytes -= _cost(batch)

    def __repr__(self) -> str:
        return f"<MemoryQueue events={self.events}/{self.max_events} bytes={self.bytes}/{self.max_bytes}>"


def _cost(batch: Batch) -> int:
    return batch.size + batch.grown + batch.events * EVENT_OVERHEAD
