"""Which of the events on disk are delivered, by number."""

from __future__ import annotations

from heapq import heappop, heappush

from log_shipper.shipper.pipeline.disk_queue.options import QueueProgress


class WrittenEvents:
    """Knows which batches of the output are on disk: their sequence numbers, and the end of their events."""

    def __init__(self, delivered: int = 0, written: int = 0) -> None:
        self._delivered = delivered
        self._written = written
        self._open: list[tuple[int, int]] = []  # a heap

    def written(self, following: int) -> None:
        """Note that all events before this number are on disk."""
        self._written = max(self._written, following)

    def sent(self, sequence: int, following: int) -> None:
        """Note that the output has, or had, a batch that is on disk up to this number."""
        heappush(self._open, (sequence, following))

    def progress(self, position: int, next_sequence: int) -> QueueProgress:
        """Return the progress of the queue at this position, which never decreases."""
        while self._open and self._open[0][0] < position:
            self._delivered = max(self._delivered, heappop(self._open)[1])
        if position == next_sequence:
            self._delivered = self._written  # including lost events
        return QueueProgress(position, self._delivered, self._written)
