"""Decides which file is read next.

A harvester is in one of these places:
- ready: it has something to read; ready ones are taken in turn, one read each, so that a big file cannot starve others;
- polled: it is written to again and again; it is read in a rhythm, without waiting for events;
- idle: it has nothing to read until the watcher or a scan gives a hint;
- awaiting a save: something about it must be saved in the registry before it is read further (a new id, a message
  that was ended by time).
"""

import heapq
from collections import OrderedDict
from collections.abc import Collection, Iterator
from itertools import chain, count
from typing import Protocol

from log_shipper.registry.registrar import SaveTicket
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.event import Batch
from log_shipper.shipper.source.discovery.spec import FileKey
from log_shipper.shipper.source.reading.harvester import Harvester

NEVER = float("inf")
MAX_PASSED = 100  # deadlines beyond as many as there are harvesters that the heap may still have
# In intervals of reading, the mean gap between two reads with data: a watched file is polled below this,
BUSY_GAP = 1.25
QUIET_GAP = 2.0  # a polled one watched above this,
QUIET_AFTER = 12  # and as soon as there were no data for so long.


class FileWatcher(Protocol):
    def is_watched(self, key: FileKey) -> bool: ...

    def watch_file(self, key: FileKey, fd: int) -> bool:
        """True if the file is watched now."""

    def unwatch_file(self, key: FileKey) -> None: ...


class Scheduler:
    def __init__(self, watcher: FileWatcher, clock: Clock, interval: float, *, one_by_one: bool = False) -> None:
        """`interval`: seconds between two reads of a polled file: half of it is the mean delay that it adds.
        `one_by_one`: a file is read to its end before the next one's turn, so that lines come in the order of their
        age; for a replay, where the delay of small files does not matter."""
        self._interval = interval
        self._watcher = watcher
        self._clock = clock
        self._one_by_one = one_by_one
        self._ready: OrderedDict[Harvester, None] = OrderedDict()
        self._polled: dict[Harvester, None] = {}
        self._unwatched: dict[Harvester, None] = {}  # idle ones that there is no watch for
        self._awaiting_save: dict[Harvester, SaveTicket] = {}
        # In the order in which they are done: the registrar saves what came first.
        self._saves: OrderedDict[SaveTicket, OrderedDict[Harvester, Batch | None]] = OrderedDict()
        self._deadlines: list[tuple[float, int, Harvester]] = []  # a heap; a deadline may have moved since
        self._timed: dict[Harvester, float] = {}  # the deadline in the heap that counts
        self._number = count()  # harvesters cannot be compared
        self._look_at = 0.0  # the polled ones

    def wake(self, harvester: Harvester) -> None:
        """The file may have something to read. Waking it twice does no harm."""
        if (
            harvester.is_open and harvester not in self._awaiting_save
        ):  # a descriptor that was closed may be another file's now
            self._polled.pop(harvester, None)
            self._unwatched.pop(harvester, None)
            self._ready[harvester] = None

    @property
    def unwatched(self) -> Collection[Harvester]:
        """The idle harvesters that no event will wake."""
        return self._unwatched.keys()

    def is_awake(self, harvester: Harvester) -> bool:
        """True if it will be read without a further hint."""
        return harvester in self._ready or harvester in self._polled or harvester in self._awaiting_save

    @property
    def awake(self) -> Iterator[Harvester]:
        """The harvesters that will be read without a further hint."""
        return chain(self._ready, self._polled, self._awaiting_save)

    def await_save(self, saved: SaveTicket, harvester: Harvester, batch: Batch | None = None) -> None:
        """Keep the harvester, and a batch of it that is to be queued first, until the registry is saved."""
        self.forget(harvester)
        self._awaiting_save[harvester] = saved
        self._saves.setdefault(saved, OrderedDict())[harvester] = batch

    def awaits_save(self, harvester: Harvester) -> bool:
        """True if the registry must be saved before it is read further; a batch of it may wait for that."""
        return harvester in self._awaiting_save

    def forget(self, harvester: Harvester) -> None:
        self._ready.pop(harvester, None)
        self._polled.pop(harvester, None)
        self._unwatched.pop(harvester, None)
        self._timed.pop(harvester, None)
        saved = self._awaiting_save.pop(harvester, None)
        if saved is not None:
            del self._saves[saved][harvester]

    def next_ready(self) -> Harvester | None:
        """Return the harvester whose turn it is; the caller reads it once and calls `again` or `park`."""
        if self._polled:  # also beside a backlog: polled files have no watch
            self._read_polled()
        return self._ready.popitem(last=False)[0] if self._ready else None

    def again(self, harvester: Harvester) -> None:
        """Queue a harvester again that gave a batch and may have more: at the end, or with `one_by_one` at the head."""
        self._ready[harvester] = None
        if self._one_by_one:
            self._ready.move_to_end(harvester, last=False)
        self._time_message(harvester)

    def park(self, harvester: Harvester) -> None:
        """Park a harvester that is at its end: it is read again soon while it is polled, else after a hint."""
        self._time_message(harvester)
        if self._is_busy(harvester):
            self._watcher.unwatch_file(harvester.key)
            self._polled[harvester] = None
        elif not self._watcher.is_watched(harvester.key):
            if self._watcher.watch_file(harvester.key, harvester.fd):
                self._ready[harvester] = None  # once more, for what was written before the watch was set
            else:
                self._unwatched[harvester] = None

    def released(self) -> Iterator[tuple[Harvester, Batch | None]]:
        """Yield the harvesters whose state is saved now, each with the batch that waited for that."""
        while self._saves and (saved := next(iter(self._saves))).done:
            waiting = self._saves[saved]
            while waiting:  # one by one: the caller may stop at any batch
                harvester, batch = waiting.popitem(last=False)
                del self._awaiting_save[harvester]
                self._ready[harvester] = None
                yield harvester, batch
            del self._saves[saved]

    def overdue(self) -> list[Harvester]:
        """Return the harvesters whose pending message has waited too long for its next line, each once until it is read
        again."""
        overdue: list[Harvester] = []
        if not self._deadlines:
            return overdue
        now = self._clock.monotonic()
        while self._deadlines and self._deadlines[0][0] <= now:
            deadline, _, harvester = heapq.heappop(self._deadlines)
            if self._timed.get(harvester) != deadline:
                continue
            del self._timed[harvester]
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
        """Seconds until the scheduler has something to do, if nothing happens."""
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
            self._ready.update(self._polled)
            self._polled.clear()

    def _is_busy(self, harvester: Harvester) -> bool:
        """True if the file costs less when it is polled than when it is watched."""
        activity, interval = harvester.activity, self._interval
        limit = BUSY_GAP if self._watcher.is_watched(harvester.key) else QUIET_GAP
        if activity.gap >= limit * interval:
            return False
        return self._clock.monotonic() - activity.read_at < QUIET_AFTER * interval

    def _time_message(self, harvester: Harvester) -> None:
        deadline = harvester.message_deadline
        if deadline is None or self._timed.get(harvester, NEVER) <= deadline:
            return  # what is in the heap is looked at no later than it must be
        if len(self._deadlines) > 2 * len(self._timed) + MAX_PASSED:
            self._deadlines = [item for item in self._deadlines if self._timed.get(item[2]) == item[0]]
            heapq.heapify(self._deadlines)
        self._timed[harvester] = deadline
        heapq.heappush(self._deadlines, (deadline, next(self._number), harvester))
