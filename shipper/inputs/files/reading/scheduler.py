"""Decide which file is read next. Each open file has a `Turn`; the scheduler keeps an index of the files by turn."""

import heapq
from collections import OrderedDict
from collections.abc import Collection, Iterator, Mapping
from itertools import chain, count
from typing import Protocol

from log_shipper.registry.registrar import SaveTicket
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.event import Batch
from log_shipper.shipper.inputs.files.discovery.spec import FileKey
from log_shipper.shipper.inputs.files.reading.harvester import Harvester
from log_shipper.shipper.inputs.files.reading.schedule import AWAKE, NEVER, Turn

MAX_PASSED = 100  # stale deadlines that the heap may contain, beyond the number of valid ones
# In read intervals, the mean gap between two reads with data: a watched file is polled below this,
BUSY_GAP = 1.25
QUIET_GAP = 2.0  # a polled one watched above this,
QUIET_AFTER = 12  # and as soon as there was no data for this long


class FileWatcher(Protocol):
    def is_watched(self, key: FileKey) -> bool: ...

    def watch_file(self, key: FileKey, fd: int) -> bool:
        """Return True if the file is watched now."""

    def unwatch_file(self, key: FileKey) -> None: ...


class Scheduler:
    """The turns of the open files. `paused`: the paused files, the longest paused first; `unwatched`: the idle ones
    that no event will wake."""

    def __init__(self, watcher: FileWatcher, clock: Clock, interval: float, *, one_by_one: bool = False) -> None:
        """Take `interval`, the seconds between two reads of a polled file, half of which is the mean added delay.
        `one_by_one`: a file is read to its end before the next one's turn, so that lines come oldest first; for a
        replay, where the delay of small files does not matter."""
        self._interval = interval
        self._watcher = watcher
        self._clock = clock
        self._one_by_one = one_by_one
        self._in: dict[Turn, OrderedDict[Harvester, None]] = {turn: OrderedDict() for turn in Turn}
        self.paused: Collection[Harvester] = self._in[Turn.PAUSED].keys()
        self.unwatched: Collection[Harvester] = self._in[Turn.UNWATCHED].keys()
        self._ready = self._in[Turn.READY]
        self._polled = self._in[Turn.POLLED]
        self._deadlines: list[
            tuple[float, int, Harvester]
        ] = []  # a heap; the harvester's `timed` is the valid deadline
        self._most_deadlines = MAX_PASSED
        self._number = count()  # harvesters cannot be compared
        self._look_at = 0.0  # the polled ones

    def _move(self, harvester: Harvester, turn: Turn) -> None:
        self._in[harvester.schedule.turn].pop(harvester, None)
        harvester.schedule.turn, harvester.schedule.awaits = turn, None
        if turn is not Turn.IDLE:  # these are many, and are not searched
            self._in[turn][harvester] = None

    def wake(self, harvester: Harvester) -> None:
        """Mark the file as having something to read. Waking it twice does no harm."""
        # The descriptor of a closed file may be another file's now.
        if harvester.is_open and harvester.schedule.turn not in (Turn.READY, Turn.SAVING):
            self._move(harvester, Turn.READY)

    def pause(self, harvester: Harvester) -> None:
        """Stop reading the file until it is woken: too much of it waits in the pipeline."""
        self._move(harvester, Turn.PAUSED)
        harvester.schedule.timed = NEVER

    @property
    def awake(self) -> Iterator[Harvester]:
        """The harvesters that will be read without a further hint."""
        return chain.from_iterable(self._in[turn] for turn in AWAKE)

    def await_save(self, saved: SaveTicket, harvester: Harvester, batch: Batch | None = None) -> None:
        """Keep the harvester, and a batch of it that is queued first, until the registry is saved."""
        self._move(harvester, Turn.SAVING)
        harvester.schedule.awaits, harvester.schedule.timed = (saved, batch), NEVER

    def closed(self, harvester: Harvester) -> None:
        """Stop reading a file. A batch of it that awaits a save is still queued: its bytes are tracked."""
        harvester.schedule.timed = NEVER
        if not harvester.schedule.has_batch:
            self._move(harvester, Turn.IDLE)

    def next_ready(self) -> Harvester | None:
        """Return the harvester whose turn it is; the caller reads it once and calls `again` or `park`."""
        if self._polled:  # even with a backlog: polled files have no watch
            self._read_polled()
        if not self._ready:
            return None
        harvester, _ = self._ready.popitem(last=False)
        harvester.schedule.turn = Turn.IDLE
        return harvester

    def again(self, harvester: Harvester) -> None:
        """Queue a harvester that gave a batch and may have more: at the end, or with `one_by_one` at the head."""
        self._move(harvester, Turn.READY)
        if self._one_by_one:
            self._ready.move_to_end(harvester, last=False)
        self._time_message(harvester)

    def park(self, harvester: Harvester) -> None:
        """Park a harvester that is at its end: it is read again soon while it is polled, else after a hint."""
        self._time_message(harvester)
        if self._is_busy(harvester):
            self._watcher.unwatch_file(harvester.key)
            self._move(harvester, Turn.POLLED)
        elif not self._watcher.is_watched(harvester.key):
            # Once more, for writes before the watch was set.
            is_watched = self._watcher.watch_file(harvester.key, harvester.fd)
            self._move(harvester, Turn.READY if is_watched else Turn.UNWATCHED)

    def released(self) -> Iterator[Batch]:
        """Wake the harvesters whose state is saved now, and yield the batches that waited for that."""
        saving = self._in[Turn.SAVING]
        while saving:  # one by one: the caller may stop at any batch
            harvester = next(iter(saving))
            if harvester.schedule.awaits is None or not harvester.schedule.awaits[0].done:
                return  # the registrar saves in order
            batch = harvester.schedule.awaits[1]
            self._move(harvester, Turn.READY if harvester.is_open else Turn.IDLE)
            if batch is not None:
                yield batch

    def overdue(self) -> list[Harvester]:
        """Return the harvesters whose pending message has waited too long for its next line, each once until it is read
        again."""
        overdue: list[Harvester] = []
        if not self._deadlines:
            return overdue
        now = self._clock.monotonic()
        while self._deadlines and self._deadlines[0][0] <= now:
            deadline, _, harvester = heapq.heappop(self._deadlines)
            if harvester.schedule.timed != deadline:
                continue
            harvester.schedule.timed = NEVER
            if harvester.is_overdue:
                overdue.append(harvester)
            else:
                self._time_message(harvester)
        return overdue

    @property
    def busy(self) -> bool:
        return bool(self._ready)

    @property
    def idle_for(self) -> float:
        """Return the seconds until the scheduler has something to do, if nothing happens."""
        now = self._clock.monotonic()
        wait = 3600.0
        if self._polled:
            wait = self._look_at - now
        if self._deadlines:
            wait = min(wait, self._deadlines[0][0] - now)
        return max(wait, 0.0)

    def _read_polled(self) -> None:
        now = self._clock.monotonic()
        if now >= self._look_at:
            self._look_at = now + self._interval
            for harvester in self._polled:
                harvester.schedule.turn = Turn.READY
            self._ready.update(self._polled)
            self._polled.clear()

    def _is_busy(self, harvester: Harvester) -> bool:
        """Return True if the file costs less when it is polled than when it is watched."""
        activity, interval = harvester.schedule, self._interval
        limit = BUSY_GAP if self._watcher.is_watched(harvester.key) else QUIET_GAP
        if activity.gap >= limit * interval:
            return False
        return self._clock.monotonic() - activity.read_at < QUIET_AFTER * interval

    def _time_message(self, harvester: Harvester) -> None:
        deadline = harvester.message_deadline
        if deadline is None or harvester.schedule.timed <= deadline:
            return  # check it as soon as the heap requires
        if len(self._deadlines) > self._most_deadlines:
            self._deadlines = [item for item in self._deadlines if item[2].schedule.timed == item[0]]
            heapq.heapify(self._deadlines)
            self._most_deadlines = 2 * len(self._deadlines) + MAX_PASSED
        harvester.schedule.timed = deadline
        heapq.heappush(self._deadlines, (deadline, next(self._number), harvester))

    def check(self, running: Mapping[FileKey, Harvester]) -> None:
        """Assert that the index matches the harvesters' turns."""
        for turn in Turn:
            has_turn = {harvester for harvester in running.values() if harvester.schedule.turn is turn is not Turn.IDLE}
            assert {harvester for harvester in self._in[turn] if harvester.is_open} == has_turn, turn
