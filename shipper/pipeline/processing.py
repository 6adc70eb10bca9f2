"""Batches that processors have not finished, because they wait for an answer from elsewhere.

Where order is kept, later batches of the same file stand in line behind such a batch; those of other files do not.
What waits has its room in the queue, so memory is bounded. It may not have all of it, or slow answers would hold up
files that need none: a file of which much waits is not read on, and neither is any file that needs answers while half
of the queue waits for them.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass

from shipper.event import Batch, Part, Source
from shipper.pipeline.queue import MemoryQueue, Room

NEVER = float("inf")
SHARE_OF_FILE = 1 / 8  # of the queue's events and bytes, and so below
SHARE_OF_ALL = 1 / 2
ALL = "all"


@dataclass(slots=True)
class _Parked:
    """`part` is None for a batch that is done and waits for its turn."""

    batch: Batch
    part: Part | None
    room: Room


class Processing:
    """Driven by `step`, on the reading thread. Puts into the queue what processors are done with."""

    def __init__(self, queue: MemoryQueue) -> None:
        self._queue = queue
        self._lines: dict[str, deque[_Parked]] = {}  # by file id; never an empty one
        self._loose: list[_Parked] = []
        # What is taken by a file (its source), by files of the same chain (their `process`), and by all.
        self._events: Counter[object] = Counter()
        self._bytes: Counter[object] = Counter()

    @property
    def empty(self) -> bool:
        return not self._lines and not self._loose

    def takes_more(self, source: Source) -> bool:
        """Whether more of this file should be read, as far as waiting for answers goes."""
        if self.empty or not self._events[source.process]:
            return True
        return self._takes_less(source, SHARE_OF_FILE) and self._takes_less(ALL, SHARE_OF_ALL)

    def put(self, batch: Batch) -> None:
        parts = batch.source.process(batch) if batch.source.process is not None else None
        line = self._lines.get(batch.source.file_id)
        if parts is None and line is None:
            self._forward(batch)
        elif parts is None or parts[0].keeps_order:
            # Where order is kept, nothing is parted from a batch.
            part = None if parts is None else parts[0]
            line = self._lines.setdefault(batch.source.file_id, deque())
            line.append(_Parked(batch if part is None else part.batch, part, self._park(batch)))
        else:
            self._loose += self._unfinished(parts)

    def step(self) -> None:
        """Go on with whatever got its answers, or has waited long enough."""
        for file_id, line in list(self._lines.items()):
            while line and self._done(line[0]):
                self._unpark(line.popleft())
            if not line:
                del self._lines[file_id]
        loose, self._loose = self._loose, []
        for parked in loose:
            self._loose += self._unfinished(self._go_on(parked))
            if parked.part is None:
                self._unpark(parked)
            else:
                self._loose.append(parked)

    @property
    def next_step(self) -> float:
        """Monotonic time at which `step` has something to do though nothing woke the loop up."""
        waiting = [*self._loose, *(line[0] for line in self._lines.values())]
        return min((parked.part.due for parked in waiting if parked.part is not None), default=NEVER)

    def _unfinished(self, parts: Sequence[Part]) -> list[_Parked]:
        for part in parts:
            if part.done:
                self._forward(part.batch)
        return [_Parked(part.batch, part, self._park(part.batch)) for part in parts if not part.done]

    def _done(self, parked: _Parked) -> bool:
        self._go_on(parked)
        return parked.part is None

    def _go_on(self, parked: _Parked) -> Sequence[Part]:
        """Returns what was parted from it."""
        if parked.part is None:
            return ()
        parted = parked.part.go_on()
        if parted:  # it has become smaller
            self._free(parked)
            parked.batch, parked.room = parked.part.batch, self._park(parked.part.batch)
        if parked.part.done:
            parked.part = None
        return parted

    def _unpark(self, parked: _Parked) -> None:
        self._free(parked)
        self._forward(parked.batch)

    def _park(self, batch: Batch) -> Room:
        room = self._queue.park(batch)
        for taker in (batch.source, batch.source.process, ALL):
            self._events[taker] += room.events
            self._bytes[taker] += room.bytes
        return room

    def _free(self, parked: _Parked) -> None:
        self._queue.unpark(parked.room)
        source = parked.batch.source
        for taker in (source, source.process, ALL):
            self._events[taker] -= parked.room.events
            self._bytes[taker] -= parked.room.bytes
            if not self._bytes[taker]:  # files and chains come and go
                del self._events[taker], self._bytes[taker]

    def _takes_less(self, taker: object, share: float) -> bool:
        queue = self._queue
        return self._events[taker] < queue.max_events * share and self._bytes[taker] < queue.max_bytes * share

    def _forward(self, batch: Batch) -> None:
        if batch.events or batch.size:
            self._queue.put(batch)
        else:
            batch.resolve()
