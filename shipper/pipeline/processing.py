"""Batches that are not finished by processors: they wait for a result, or may grow so much that they are processed in
pieces as the queue has room.

If order is kept, later batches of the same file wait in line behind such a batch; other files continue. Waiting batches
have a reservation in the queue, so memory is bounded. They may not fill the queue, or slow results would block files
that need none: a file is not read further while much of it waits, nor is any file that needs results while half of the
queue waits for them.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from log_shipper.shipper.event import Batch, Growth, Part, Source
from log_shipper.shipper.pipeline.pieces import PIECE_BYTES, size_of, split_batch
from log_shipper.shipper.pipeline.queue import MemoryQueue, Reservation

NEVER = float("inf")
NOW = 0.0
SHARE_OF_FILE = 1 / 8  # of the queue's events and bytes, and so below
SHARE_OF_ALL = 1 / 2
ALL = "all"
AHEAD = "ahead"


def unchanged(batch: Batch) -> None:
    """Leave the batch unchanged."""


@dataclass(slots=True)
class _Parked:
    """`part` is None for a finished batch that waits in line, and for a piece not begun yet."""

    batch: Batch
    part: Part | None
    reservation: Reservation


class Processing:
    """Driven by `step`, on the reading thread. Queues batches that processors have finished."""

    def __init__(
        self,
        queue: MemoryQueue,
        fit: Callable[[Batch], None] = unchanged,
        put: Callable[[Batch], None] | None = None,
    ) -> None:
        """`fit` replaces events that are too large for the output. `put` takes finished batches; the queue does if it
        is None."""
        self.published = 0  # events of finished batches since the start
        self._queue = queue
        self._put_ready = put or queue.put
        self._fit = fit
        self._ahead: dict[str, deque[_Parked]] = {}  # pieces not begun yet, by file id; never empty
        self._lines: dict[str, deque[_Parked]] = {}  # by file id; never empty
        self._loose: list[_Parked] = []
        # The reserved room by owner: a file (its source), files of the same chain (their `process`), all, and pieces
        # not begun yet.
        self._events: Counter[object] = Counter()
        self._bytes: Counter[object] = Counter()

    @property
    def empty(self) -> bool:
        return not self._lines and not self._loose and not self._ahead

    def takes_more(self, source: Source) -> bool:
        """Return True if more of this file may be read: not too much of it, or of all files, waits here."""
        if self.empty or not self._events[source.process]:
            return True
        if source.file_id in self._ahead:
            return False
        return self._is_below(source, SHARE_OF_FILE) and self._is_below(ALL, SHARE_OF_ALL)

    def put(self, batch: Batch) -> None:
        file_id = batch.source.file_id
        growth = _growth_of(batch)
        pieces = [batch] if growth is None else split_batch(batch, growth)
        if len(pieces) == 1 and file_id not in self._ahead:
            self._begin(batch)
        else:
            ahead = self._ahead.setdefault(file_id, deque())
            ahead += [_Parked(piece, None, self._park(piece, AHEAD)) for piece in pieces]

    def step(self) -> None:
        """Resume batches whose results are there or overdue, and begin pieces for which there is room."""
        self._begin_pieces()
        for file_id, line in list(self._lines.items()):
            while line and self._done(line[0]):
                self._unpark(line.popleft())
            if not line:
                del self._lines[file_id]
        loose, self._loose = self._loose, []
        for parked in loose:
            self._loose += self._unfinished(self._resume(parked))
            if parked.part is None:
                self._unpark(parked)
            else:
                self._loose.append(parked)

    @property
    def next_step(self) -> float:
        """Return the monotonic time of the next `step` if nothing wakes the loop earlier."""
        if self._ahead and self._has_room:
            return NOW
        waiting = [*self._loose, *(line[0] for line in self._lines.values())]
        return min((parked.part.due for parked in waiting if parked.part is not None), default=NEVER)

    def _begin_pieces(self) -> None:
        """Begin pieces, of each file in turn. Their events are published before more are begun: that bounds memory, and
        the delay of signals."""
        added = 0
        while self._ahead and self._has_room and added < PIECE_BYTES:
            file_id, ahead = next(iter(self._ahead.items()))
            del self._ahead[file_id]
            piece = ahead.popleft()
            self._free(piece, AHEAD)
            before = self._queue.bytes
            self._begin(piece.batch)
            added += self._queue.bytes - before
            if ahead:
                self._ahead[file_id] = ahead

    @property
    def _has_room(self) -> bool:
        """Return True if the queue has room, not counting pieces not begun yet."""
        queue = self._queue
        return (
            queue.events - self._events[AHEAD] < queue.max_events and queue.bytes - self._bytes[AHEAD] < queue.max_bytes
        )

    def _begin(self, batch: Batch) -> None:
        parts = batch.source.process(batch) if batch.source.process is not None else None
        line = self._lines.get(batch.source.file_id)
        if parts is None and line is None:
            self._forward(batch)
        elif parts is None or parts[0].keeps_order:
            # With order kept, nothing is split off a batch.
            part = None if parts is None else parts[0]
            line = self._lines.setdefault(batch.source.file_id, deque())
            line.append(_Parked(batch if part is None else part.batch, part, self._park(batch)))
        else:
            self._loose += self._unfinished(parts)

    def _unfinished(self, parts: Sequence[Part]) -> list[_Parked]:
        for part in parts:
            if part.done:
                self._forward(part.batch)
        return [_Parked(part.batch, part, self._park(part.batch)) for part in parts if not part.done]

    def _done(self, parked: _Parked) -> bool:
        self._resume(parked)
        return parked.part is None

    def _resume(self, parked: _Parked) -> Sequence[Part]:
        """Resume a batch. Return the parts that were split off."""
        if parked.part is None:
            return ()
        split_off = parked.part.resume()
        if split_off:  # it has become smaller
            self._free(parked)
            parked.batch, parked.reservation = parked.part.batch, self._park(parked.part.batch)
        if parked.part.done:
            parked.part = None
        return split_off

    def _unpark(self, parked: _Parked) -> None:
        self._free(parked)
        self._forward(parked.batch)

    def _park(self, batch: Batch, *more: object) -> Reservation:
        """Reserve room for a batch; it counts for its source, its chain, all, and `more`."""
        self._weigh(batch)
        reservation = self._queue.reserve(batch)
        for owner in (batch.source, batch.source.process, ALL, *more):
            self._events[owner] += reservation.events
            self._bytes[owner] += reservation.bytes
        return reservation

    def _free(self, parked: _Parked, *more: object) -> None:
        self._queue.release(parked.reservation)
        source = parked.batch.source
        for owner in (source, source.process, ALL, *more):
            self._events[owner] -= parked.reservation.events
            self._bytes[owner] -= parked.reservation.bytes
            if not self._bytes[owner]:  # files and chains come and go
                del self._events[owner], self._bytes[owner]

    def _is_below(self, owner: object, share: float) -> bool:
        queue = self._queue
        return self._events[owner] < queue.max_events * share and self._bytes[owner] < queue.max_bytes * share

    def _forward(self, batch: Batch) -> None:
        if batch.events or batch.size:
            self._weigh(batch)
            self.published += batch.events
            self._fit(batch)
            self._put_ready(batch)
        else:
            batch.resolve()

    def _weigh(self, batch: Batch) -> None:
        """Count the memory by which processors enlarged the batch."""
        if _growth_of(batch) is not None:
            batch.grown = max(size_of(batch.messages, batch.size + self._queue.max_bytes) - batch.size, 0)


def _growth_of(batch: Batch) -> Growth | None:
    """Return how much processors may enlarge the batch; None if not much."""
    process = batch.source.process
    return process.growth if process is not None and process.growth.factor > 1 else None
