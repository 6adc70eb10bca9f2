"""The open files: what is done when one is opened and when one is closed, whoever decided it."""

import os
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from registry.state import FileState
from shipper.metrics import Metrics
from shipper.source.discover import FileKey, Found
from shipper.source.entries import Entries, Opened
from shipper.source.harvester import REMOVED, Harvester
from shipper.source.input import Input
from shipper.source.scheduler import Scheduler
from shipper.source.watch import Watcher


@dataclass(frozen=True, slots=True)
class Closed:
    """A file that was closed and is not ended: opened again when it has news. `found` is what the survey had of it
    then: the same object says that nobody looked at the file since."""

    size: int
    modified: float
    found: Found | None

    def has_news(self, found: Found) -> bool:
        return found is not self.found and (found.size, found.modified) != (self.size, self.modified)


class Fleet:
    """Used by the reading thread only."""

    def __init__(
        self, entries: Entries, scheduler: Scheduler, watcher: Watcher, metrics: Metrics,
        found: Mapping[FileKey, tuple[Input, Found]], on_shut: Callable[[Harvester], None],
    ) -> None:  # fmt: skip
        """`found`: what the survey has of each file; `on_shut` is told of each file that is not read any more."""
        self.running: dict[FileKey, Harvester] = {}
        self.closed: dict[FileKey, Closed] = {}
        self.draining: dict[str, Harvester] = {}  # by file id: closed, and batches of it are under way
        self.of_input: Counter[str] = Counter()
        self._entries = entries
        self._scheduler = scheduler
        self._watcher = watcher
        self._metrics = metrics
        self._found = found
        self._on_shut = on_shut

    def add(self, harvester: Harvester) -> None:
        self.running[harvester.key] = harvester
        self.closed.pop(harvester.key, None)
        self.of_input[harvester.source.input_id] += 1
        self._metrics.harvesters_started += 1

    def rest(self, opened: Opened, state: FileState) -> None:
        """A file that is known and in which there is nothing to read now."""
        key = opened.found.key
        self._watcher.watch_file(key, opened.content.fd)
        os.close(opened.content.fd)
        self._entries.keep(state)
        self.closed[key] = Closed(opened.found.size, opened.found.modified, None)

    def close(self, harvester: Harvester) -> bool:
        """Stop reading a file that may be opened again. False when it has news just now: then it stays open."""
        if not self._watcher.is_watched(harvester.key):
            self._watcher.watch_file(harvester.key, harvester.fd)  # it outlives the descriptor
        status = os.fstat(harvester.fd)
        if harvester.at_end and not harvester.content.compressed and status.st_size != harvester.read_to:
            self._scheduler.wake(harvester)
            return False
        if harvester.is_complete:
            harvester.update(compressed=status.st_size)
        elif not harvester.content.compressed and status.st_size > harvester.state.size_seen:
            harvester.update(size_seen=status.st_size)  # should it go before it is read on, this much is missed
        if harvester.at_end or harvester.finished:
            _, found = self._found.get(harvester.key, (None, None))
            self.closed[harvester.key] = Closed(status.st_size, status.st_mtime, found)
        self._shut(harvester)
        return True

    def wake(self, harvester: Harvester) -> None:
        self._scheduler.wake(harvester)

    def end(self, harvester: Harvester, ended: str) -> None:
        """Stop reading a file whose life is over. Batches of it that are under way still move its position."""
        # What was not read is counted by now; should the agent be killed, what was not acknowledged is missed.
        harvester.size = harvester.offset
        harvester.state = self._entries.ended(replace(harvester.state, size_seen=harvester.size), ended)
        self._watcher.unwatch_file(harvester.key)
        self._shut(harvester)

    def put_down(self, harvester: Harvester, *, until_news: bool) -> None:
        """Close a file that cannot be read on, wherever it stands; opened again at the next scan, or with news."""
        if until_news:
            status = os.fstat(harvester.fd)
            _, found = self._found.get(harvester.key, (None, None))
            self.closed[harvester.key] = Closed(status.st_size, status.st_mtime, found)
        self._watcher.unwatch_file(harvester.key)
        self._shut(harvester)

    def step(self) -> bool:
        """Whether a file that was closed is done with now: another may have waited for it."""
        settled = [harvester for harvester in self.draining.values() if harvester.settled]
        for harvester in settled:
            del self.draining[harvester.state.id]
            self._put_away(harvester)
        return bool(settled)

    def stop(self) -> None:
        for harvester in list(self.running.values()):
            status = os.fstat(harvester.fd)
            if not harvester.content.compressed and status.st_size > harvester.state.size_seen:
                harvester.update(size_seen=status.st_size)
            self._shut(harvester)

    def ending(self) -> dict[FileKey, FileState]:
        """Files that are gone, and not done with."""
        gone = [harvester for harvester in self.running.values() if harvester.gone == REMOVED]
        return {each.key: each.state for each in (*gone, *self.draining.values())}

    @property
    def draining_keys(self) -> set[FileKey]:
        return {harvester.key for harvester in self.draining.values()}

    def state_of(self, key: FileKey) -> FileState | None:
        running = self.running.get(key)
        entries = self._entries
        return running.state if running is not None else entries.asleep.get(key) or entries.claimed.get(key)

    def states(self) -> list[FileState]:
        """Of all files that are there."""
        return [*(harvester.state for harvester in self.running.values()), *self._entries.asleep.values()]

    def _shut(self, harvester: Harvester) -> None:
        self._scheduler.forget(harvester)
        del self.running[harvester.key]
        self.of_input[harvester.source.input_id] -= 1
        harvester.close()
        self._metrics.harvesters_closed += 1
        self._on_shut(harvester)
        if harvester.settled:
            self._put_away(harvester)
        else:
            self.draining[harvester.state.id] = harvester

    def _put_away(self, harvester: Harvester) -> None:
        if harvester.state.ended is None:
            self._entries.keep(harvester.state)
        else:
            self._entries.orphan(harvester.state)
