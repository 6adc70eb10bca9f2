"""The in-memory queue, which bounds the agent's memory.

A batch counts from the moment it is put until it is resolved, not until it is taken out: while it waits for Kafka's
acknowledgement it still takes memory. So does one that processors have not finished: its room is reserved until it is
put. One thread does all of this, so there is no lock; back-pressure is that nothing is read while `has_room` is false.
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
        self.reserved_events = 0  # the part of these that is reserved
        self.reserved_bytes = 0
        self._waiting: deque[Batch] = deque()

    @property
    def has_room(self) -> bool:
        """True if another batch may be put. The bound may be exceeded by one batch, which is small."""
        return self.events < self.max_events and self.bytes < self.max_bytes

    @property
    def empty(self) -> bool:
        """True if nothing waits to be published; batches may still wait for their acknowledgement."""
        return not self._waiting

    def put(self, batch: Batch) -> None:
        self.events += batch.events
        self.bytes += batch.cost
        self._waiting.append(batch)

    def reserve(self, batch: Batch) -> Reservation:
        """Reserve room for a batch that is not ready to be put. It is released before the batch, whose size may differ
        by then, is put."""
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

    def give_back(self, batch: Batch) -> None:
        """Put a batch back to the front that was taken but could not be published."""
        self._waiting.appendleft(batch)

    def remove(self, batch: Batch) -> None:
        """Stop counting a batch that is resolved."""
        self.events -= batch.events
        self.bytes -= batch.cost

    def __repr__(self) -> str:
        return f"<MemoryQueue events={self.events}/{self.max_events} bytes={self.bytes}/{self.max_bytes}>"
