"""The in-memory queue, which bounds the agent's memory.

A batch counts from `put` until it is resolved, not until it is taken out: it still takes memory while it waits for
Kafka's acknowledgement. A batch that processors have not finished counts too: its room is reserved. All of this runs on
one thread, without a lock; back-pressure means that nothing is read while `has_room` is false.
"""

from collections import deque
from typing import NamedTuple

from log_shipper.shipper.event import Batch


class Reservation(NamedTuple):
    """The room of a batch that is not in the queue yet."""

    events: int
    bytes: int


class MemoryQueue:
    def __init__(self, max_events: int, max_bytes: int) -> None:
        self.max_events = max_events
        self.max_bytes = max_bytes
        self.events = 0
        self.bytes = 0
        self.reserved_events = 0  # the reserved part of these
        self.reserved_bytes = 0
        self._waiting: deque[Batch] = deque()

    @property
    def has_room(self) -> bool:
        """Return True if another batch may be put. One batch, which is small, may exceed the limits."""
        return self.events < self.max_events and self.bytes < self.max_bytes

    @property
    def empty(self) -> bool:
        """Return True if no batch waits to be published; batches may still wait for acknowledgement."""
        return not self._waiting

    def put(self, batch: Batch) -> None:
        self.events += batch.events
        self.bytes += batch.cost
        self._waiting.append(batch)

    def reserve(self, batch: Batch) -> Reservation:
        """Reserve room for an unfinished batch. It is released before the batch, whose size may then differ, is put."""
        reservation = Reservation(batch.events, batch.cost)
        self.events += reservation.events
        self.bytes += reservation.bytes
        self.reserved_events += reservation.events
        self.reserved_bytes += reservation.bytes
        return reservation

    def release(self, reservation: Reservation) -> None:
        self.events -= reservation.events
        self.bytes -= reservation.bytes
        self.reserved_events -= reservation.events
        self.reserved_bytes -= reservation.bytes

    def get(self) -> Batch | None:
        return self._waiting.popleft() if self._waiting else None

    def return_to_front(self, batch: Batch) -> None:
        """Return a batch that could not be published to the front."""
        self._waiting.appendleft(batch)

    def remove(self, batch: Batch) -> None:
        """Stop counting a resolved batch."""
        self.events -= batch.events
        self.bytes -= batch.cost

    def __repr__(self) -> str:
        return f"<MemoryQueue events={self.events}/{self.max_events} bytes={self.bytes}/{self.max_bytes}>"
