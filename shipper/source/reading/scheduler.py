"""Decides which file is read next.

A harvester is in one of these places:
- ready: it has something to read; ready ones are taken in turn, one read each, so that a big file cannot starve others;
- polled: it was written to a moment ago; it is read every `POLL_INTERVAL` without waiting for events;
- idle: it has nothing to read until the watcher or a scan gives a hint;
- awaiting a save: something about it must be saved in the registry before it is read further (a new id, a message
  that was ended by time).
"""

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Protocol

from registry.registrar import SaveTicket
from shipper.clock import Clock
from shipper.event import Batch
from shipper.source.discovery.scanner import FileKey
from shipper.source.reading.harvester import Harvester

POLL_INTERVAL = 0.004  # seconds between two reads of a polled file: half of it is the mean delay that it adds


@dataclass(frozen=True, slots=True)
class _AwaitingSave:
    saved: SaveTicket
    batch: Batch | None


class FileWatcher(Protocol):
    def is_watched(self, key: FileKey) -> bool: ...

    def watch_file(self, key: FileKey, fd: int) -> bool:
        """True if the file is watched now."""

    def unwatch_file(self, key: FileKey) -> None: ...


class Scheduler:
    def __init__(self, watcher: FileWatcher, clock: Clock, *, one_by_one: bool = False) -> None:
        """`one_by_one`: a file is read to its end before the next one's turn, so that lines come in the order of their
        age; for a replay, where the delay of small files does not matter."""
        self._watcher = watcher
        self._clock = clock
        self._one_by_one = one_by_one
        self._ready: OrderedDict[Harvester, None] = OrderedDict()
        self._polled: dict[Harvester, None] = {}
        self._awaiting_save: dict[Harvester, _AwaitingSave] = {}
        self._timed: dict[Harvester, None] = {}
        self._looked_at = 0.0

    def wake(self, harvester: Harvester) -> None:
        """The file may have something to read. Waking it twice does no harm."""
        if (
            harvester.is_open and harvester not in self._awaiting_save
        ):  # a descriptor that was closed may be another file's now
            self._polled.pop(harvester, None)
            self._ready[harvester] = None

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
        self._awaiting_save[harvester] = _AwaitingSave(saved, batch)

    def awaits_save(self, harvester: Harvester) -> bool:
        """True if the registry must be saved before it is read further; a batch of it may wait for that."""
        return harvester in self._awaiting_save

    def forget(self, harvester: Harvester) -> None:
        for place in (self._ready, self._polled, self._timed, self._awaiting_save):
            place.pop(harvester, None)

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
        if harvester.activity.is_busy:
            self._watcher.unwatch_file(harvester.key)
            self._polled[harvester] = None
        elif not self._watcher.is_watched(harvester.key) and self._watcher.watch_file(harvester.key, harvester.fd):
            self._ready[harvester] = None  # once more, for what was written before the watch was set

    def released(self) -> Iterator[tuple[Harvester, Batch | None]]:
        """Yield the harvesters whose state is saved now, each with the batch that waited for that."""
        for harvester in [harvester for harvester, waiting in self._awaiting_save.items() if waiting.saved.done]:
            waiting = self._awaiting_save.pop(harvester)
            self._ready[harvester] = None
            yield harvester, waiting.batch

    def overdue(self) -> list[Harvester]:
        """Return the harvesters whose pending message has waited too long for its next line."""
        if not self._timed:
            return []
        return [harvester for harvester in self._timed if harvester.is_overdue]

    @property
    def busy(self) -> bool:
        return bool(self._ready)

    @property
    def idle_for(self) -> float:
        """Seconds until the scheduler has something to do, if nothing happens."""
        now = self._clock.monotonic()
        wait = 3600.0
        if self._polled:
            wait = self._looked_at + POLL_INTERVAL - now
        for harvester in self._timed:
            if harvester.message_deadline is not None and harvester not in self._ready:
                wait = min(wait, harvester.message_deadline - now)
        return max(wait, 0.0)

    def _read_polled(self) -> None:
        now = self._clock.monotonic()
        if now - self._looked_at >= POLL_INTERVAL:
            self._looked_at = now
            self._ready.update(self._polled)
            self._polled.clear()

    def _time_message(self, harvester: Harvester) -> None:
        if harvester.message_deadline is None:
            self._timed.pop(harvester, None)
        else:
            self._timed[harvester] = None
