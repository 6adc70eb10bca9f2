"""The in-memory queue: what bounds the agent's memory.

A batch counts from the moment it is put until it is resolved, not until it is taken out: what waits for Kafka's
acknowledgement is still memory. So is one that processors have not finished: it is parked, then put. One thread does
all of this, so there is no lock; back-pressure is `has_room` turning false, after which nothing more is read.
"""

from collections import deque
from typing import NamedTuple

from shipper.event import Batch

# What an event costs in memory beside its own bytes: the record's constant fields, and the client's book-keeping.
EVENT_OVERHEAD = 600


class Room(NamedTuple):
    """What a parked batch takes."""

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
        """Whether another batch may be put. The bound may be passed by one batch, which a reader keeps small."""
        return self.events < self.max_events and self.bytes < self.max_bytes

    @property
    def empty(self) -> bool:
        """Nothing waits to be published; batches may still wait for their acknowledgement."""
        return not self._waiting

    def put(self, batch: Batch) -> None:
        self.events += batch.events
        self.bytes += _cost(batch)
        self._waiting.append(batch)

    def park(self, batch: Batch) -> Room:
        """Count a batch that is not ready to be put. When it is, it may be smaller, so its room is given back first."""
        room = Room(batch.events, _cost(batch))
        self.events += room.events
        self.bytes += room.bytes
        return room

    def unpark(self, room: Room) -> None:
        self.events -= room.events
        self.bytes -= room.bytes

    def get(self) -> Batch | None:
        return self._waiting.popleft() if self._waiting else None

    def give_back(self, batch: Batch) -> None:
        """Put a batch that was taken but could not be published at the front again."""
        self._waiting.appendleft(batch)

    def release(self, batch: Batch) -> None:
        """The batch is resolved: its room is free again."""
        self.events -= batch.events
        self.bytes -= _cost(batch)

    def __repr__(self) -> str:
        return f"<MemoryQueue events={self.events}/{self.max_events} bytes={self.bytes}/{self.max_bytes}>"


def _cost(batch: Batch) -> int:
    return batch.size + batch.grown + batch.events * EVENT_OVERHEAD
