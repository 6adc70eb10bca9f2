"""Batches on their way through the queue on disk."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from log_shipper.shipper.event import Batch
from log_shipper.shipper.pipeline.disk_queue.store import FramePlace
from log_shipper.shipper.pipeline.queue import MemoryQueue


@dataclass(slots=True, eq=False)
class QueuedBatch:
    """`release` resolves the batch for its source, once it is delivered or on disk; calling it again does nothing.
    `due`: monotonic time at which it is written unless delivered. `reservation`: its room in memory, while it is kept
    back. `place`: where it is on disk, if it is."""

    sequence: int
    batch: Batch
    release: Callable[[], None]
    due: float = 0.0
    reservation: Any = None
    place: FramePlace | None = None
    is_delivered: bool = False


class KeptBack:
    """Batches that wait in memory, in order, for the output or the disk."""

    def __init__(self, memory: MemoryQueue) -> None:
        self.entries: deque[QueuedBatch] = deque()
        self.events = self.bytes = 0
        self._memory = memory

    def add(self, entry: QueuedBatch) -> None:
        entry.reservation = reservation = self._memory.reserve(entry.batch)
        self.events += reservation.events
        self.bytes += reservation.bytes
        self.entries.append(entry)

    def pop_first(self) -> QueuedBatch:
        """Remove and return the first entry."""
        entry = self.entries.popleft()
        reservation, entry.reservation = entry.reservation, None
        self._memory.release(reservation)
        self.events -= reservation.events
        self.bytes -= reservation.bytes
        return entry
