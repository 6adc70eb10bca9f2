"""The open files: what is done when one is opened and when one is closed, whoever decided it."""

import os
from collections import Counter
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, replace

from registry.state import REMOVED, FileState
from shipper.metrics import Metrics
from shipper.source.discovery.scanner import FileKey, ScannedFile
from shipper.source.discovery.spec import InputSpec
from shipper.source.discovery.watch import Watcher
from shipper.source.identity.entries import RegistryEntries
from shipper.source.identity.opened_file import OpenedFile
from shipper.source.reading.harvester import Harvester
from shipper.source.reading.scheduler import Scheduler


@dataclass(frozen=True, slots=True)
class ClosedFile:
    """A file that was closed and is not ended: opened again when it has new data. `seen` is what it was then; `found`
    what the survey had of it: the same object says that no one looked at the file since."""

    seen: ScannedFile
    found: ScannedFile | None = None

    def has_new_data(self, found: ScannedFile) -> bool:
        """Its time of change counts too (a rename is one): another file may have its inode, size and time by now."""
        seen = self.seen
        now, then = (found.size, found.modified, found.changed), (seen.size, seen.modified, seen.changed)
        return found is not self.found and now != then


class OpenFiles:
    """Used by the reading thread only."""

    def __init__(
        self,
        entries: RegistryEntries,
        scheduler: Scheduler,
        watcher: Watcher,
        metrics: Metrics,
        found: Mapping[FileKey, tuple[InputSpec, ScannedFile]],
        on_shut: Callable[[Harvester], None],
    ) -> None:
        """`found`: what the survey has of each file; `on_shut` is called for each file that is not read any more."""
        self.running: dict[FileKey, Harvester] = {}
        self.closed: dict[FileKey, ClosedFile] = {}
        self.draining: dict[str, Harvester] = {}  # by file id: closed, and batches of it are in flight
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

    def register_idle(self, opened: OpenedFile, state: FileState) -> None:
        """A file that is known and in which there is nothing to read now."""
        self._entries.keep(state)
        self._watch_closed(opened)

    def register_skipped(self, opened: OpenedFile, was: FileState) -> None:
        """A file that is not to be read now; which it is, is to be proven when it is."""
        self._entries.put_back(was)
        self._watch_closed(opened)

    def _watch_closed(self, opened: OpenedFile) -> None:
        key = opened.found.key
        if opened.size == opened.found.size:  # what is stored in memory, over NULs at the end, gives no event
            self._watcher.watch_file(key, opened.content.fd)
        os.close(opened.content.fd)
        self.closed[key] = ClosedFile(opened.found)

    def close(self, harvester: Harvester) -> bool:
        """Stop reading a file that may be opened again. False when it has new data just now: then it stays open."""
        if harvester.reading.padding:  # as in _watch_closed
            self._watcher.unwatch_file(harvester.key)
        elif not self._watcher.is_watched(harvester.key):
            self._watcher.watch_file(harvester.key, harvester.fd)  # it outlives the descriptor
        status = os.fstat(harvester.fd)
        may_grow = harvester.at_end and not harvester.content.compressed
        if may_grow and (harvester.has_new_data(status.st_size) or not harvester.reading.is_as_read):
            self._scheduler.wake(harvester)
            return False
        self._note_last_look(harvester, status)
        if harvester.at_end or harvester.finished:
            self._note_closed(harvester, status)
        self._close_file(harvester)
        return True

    def awaits_save(self, harvester: Harvester) -> bool:
        """True if the registry must be saved before it is read further; a batch of it may wait for that."""
        return self._scheduler.awaits_save(harvester)

    def wake(self, harvester: Harvester) -> None:
        self._scheduler.wake(harvester)

    def end(self, harvester: Harvester, ended: str) -> None:
        """Stop reading a file whose life is over. Batches of it that are in flight still move its position."""
        self._watcher.unwatch_file(harvester.key)
        if harvester.is_proven:
            # What was not read is counted by now; should the agent be killed, what was not acknowledged is missed.
            harvester.size = harvester.offset
            modified = os.fstat(harvester.fd).st_mtime_ns
            state = replace(harvester.state, size_seen=harvester.size, modified=modified)
            harvester.state = self._entries.ended(state, ended)
        self._close_file(harvester)

    def release(self, harvester: Harvester, *, until_news: bool) -> None:
        """Close a file that cannot be read on, wherever it stands; opened again at the next scan, or with news."""
        if until_news:
            self._note_closed(harvester, os.fstat(harvester.fd))
        self._watcher.unwatch_file(harvester.key)
        self._close_file(harvester)

    def forget_missing(self, found: Container[FileKey]) -> None:
        """After a scan: what is not under the paths any more is no file that has new data."""
        for key in [key for key in self.closed if key not in found]:
            del self.closed[key]
            self._watcher.unwatch_file(key)

    def _note_closed(self, harvester: Harvester, status: os.stat_result) -> None:
        _, found = self._found.get(harvester.key, (None, None))
        self.closed[harvester.key] = ClosedFile(ScannedFile.of(harvester.state.path, status), found)

    def step(self) -> bool:
        """True if a file that was closed is done with now: another may have waited for it."""
        settled = [harvester for harvester in self.draining.values() if harvester.settled]
        for harvester in settled:
            del self.draining[harvester.state.id]
            self._archive(harvester)
        return bool(settled)

    def stop(self) -> None:
        for harvester in list(self.running.values()):
            self._note_last_look(harvester, os.fstat(harvester.fd))
            self._close_file(harvester)

    def _note_last_look(self, harvester: Harvester, status: os.stat_result) -> None:
        """As long as the file's times stay what they are now, no one has written to it."""
        if not harvester.is_proven:
            return
        if harvester.is_complete:
            seen = {"compressed": status.st_size}
        elif harvester.content.compressed:
            seen = {}
        else:  # should it go before it is read on, this much is missed
            seen = {"size_seen": max(harvester.state.size_seen, status.st_size - harvester.reading.padding)}
        as_read = status.st_ctime_ns if harvester.reading.is_as_read else 0
        harvester.update(**seen, changed=as_read, modified=status.st_mtime_ns)

    def ending(self) -> dict[FileKey, FileState]:
        """Files that were deleted, and are not done with."""
        gone = {
            key: replace(harvester.state, modified=os.fstat(harvester.fd).st_mtime_ns)
            for key, harvester in self.running.items()
            if harvester.gone == REMOVED
        }
        return gone | {harvester.key: harvester.state for harvester in self.draining.values()}

    @property
    def draining_keys(self) -> set[FileKey]:
        return {harvester.key for harvester in self.draining.values()}

    def states(self) -> list[FileState]:
        """Return those of the open files."""
        return [harvester.state for harvester in self.running.values()]

    def state_of(self, key: FileKey) -> FileState | None:
        if key in self.running:
            return self.running[key].state
        return self._entries.closed_entries.get(key) or self._entries.matched_entries.get(key)

    def rewritten(self) -> list[FileState]:
        """Of the files that have something to read or were deleted, those that hold something else now; modified when
        they were."""
        looked_at = [each for each in self.running.values() if each.gone or self._scheduler.is_awake(each)]
        return [
            replace(each.state, modified=os.fstat(each.fd).st_mtime_ns)
            for each in looked_at
            if not each.reading.is_as_read
        ]

    def _close_file(self, harvester: Harvester) -> None:
        self._scheduler.forget(harvester)
        del self.running[harvester.key]
        self.of_input[harvester.source.input_id] -= 1
        harvester.close()
        self._metrics.harvesters_closed += 1
        self._on_shut(harvester)
        if harvester.settled:
            self._archive(harvester)
        else:
            self.draining[harvester.state.id] = harvester

    def _archive(self, harvester: Harvester) -> None:
        if harvester.unproven is not None:
            self._entries.put_back(harvester.unproven)
        elif harvester.state.ended is None:
            self._entries.keep(harvester.state)
        else:
            self._entries.orphan(harvester.state)
