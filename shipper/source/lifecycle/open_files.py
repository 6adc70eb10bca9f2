"""The open files: what is done when one is opened and when one is closed, whoever decided it."""

import os
from collections import Counter
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, replace
from functools import partial

from registry.state import REMOVED, FileState
from shipper.metrics import Metrics
from shipper.source.discovery.scanner import FileKey, ScannedFile
from shipper.source.discovery.survey import Candidate
from shipper.source.discovery.watch import Watcher
from shipper.source.identity.entries import RegistryEntries
from shipper.source.identity.fingerprint import BY_PATH, name_of_entry
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
        found: Callable[[FileKey], Candidate | None],
        on_shut: Callable[[Harvester], None],
    ) -> None:
        """`found`: what the survey has of a file; `on_shut` is called for each file that is not read any more."""
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
        if harvester.padding:  # as in _watch_closed
            self._watcher.unwatch_file(harvester.key)
        elif not self._watcher.is_watched(harvester.key):
            self._watcher.watch_file(harvester.key, harvester.fd)  # it outlives the descriptor
        status = harvester.status()
        may_grow = harvester.at_end and not harvester.content.compressed
        if may_grow and (harvester.has_new_data(status.st_size) or not harvester.is_as_read):
            self._scheduler.wake(harvester)
            return False
        harvester.note_last_look(status)
        if harvester.at_end or harvester.finished:
            self._note_closed(harvester, status)
        self._close_file(harvester)
        return True

    def wake(self, harvester: Harvester) -> None:
        self._scheduler.wake(harvester)

    def end(self, harvester: Harvester, ended: str) -> None:
        """Stop reading a file whose life is over. Batches of it that are in flight still move its position."""
        self._watcher.unwatch_file(harvester.key)
        harvester.end(partial(self._entries.ended, why=ended))
        self._close_file(harvester)

    def release(self, harvester: Harvester, *, until_new_data: bool) -> None:
        """Close a file that cannot be read on, wherever it stands; opened again at the next scan, or with new data."""
        if until_new_data:
            self._note_closed(harvester, harvester.status())
        self._watcher.unwatch_file(harvester.key)
        self._close_file(harvester)

    def forget_missing(self, found: Container[FileKey]) -> None:
        """After a scan: what is not under the paths any more is no file that has new data."""
        for key in [key for key in self.closed if key not in found]:
            del self.closed[key]
            self._watcher.unwatch_file(key)

    def _note_closed(self, harvester: Harvester, status: os.stat_result) -> None:
        candidate = self._found(harvester.key)
        found = candidate[1] if candidate is not None else None
        self.closed[harvester.key] = ClosedFile(ScannedFile.of(harvester.state.path, status), found)

    def end_renamed(self, found: Mapping[FileKey, Candidate]) -> None:
        """Under `file_identity.path`, end the lives of files that a survey found at other paths: they are met again as
        new ones, from their start. What was not read of them is read then, and an entry that stayed would be taken for
        that of the next file at its path."""
        for harvester in [running for running in self.running.values() if _has_moved(running.state, found)]:
            self.end(harvester, REMOVED)
        for state in [entry for entry in self._entries.closed_entries.values() if _has_moved(entry, found)]:
            del self._entries.closed_entries[name_of_entry(state)]
            self.closed.pop((state.device, state.inode), None)
            self._entries.orphan(self._entries.ended(state, REMOVED))

    def wake_unwatched(self, *, all_of_them: bool) -> None:
        """Wake those that have new data: a write whose event was lost, or of which none will ever tell, because there
        is no watch, or because it is stored in memory (padding.py). `all_of_them`: watched ones too."""
        for harvester in self.running.values():
            unwatched = all_of_them or not self._watcher.is_watched(harvester.key)
            if harvester.padding or (unwatched and _may_have_new_data(harvester)):
                self._scheduler.wake(harvester)

    def step(self) -> bool:
        """True if a file that was closed is done with now: another may have waited for it."""
        settled = [harvester for harvester in self.draining.values() if harvester.settled]
        for harvester in settled:
            del self.draining[harvester.state.id]
            self._archive(harvester)
        return bool(settled)

    def stop(self) -> None:
        for harvester in list(self.running.values()):
            harvester.note_last_look(harvester.status())
            self._close_file(harvester)

    def ending(self) -> dict[FileKey, FileState]:
        """Files that were deleted, and are not done with."""
        deleted = {
            key: replace(harvester.state, modified=harvester.status().st_mtime_ns)
            for key, harvester in self.running.items()
            if harvester.is_removed
        }
        return deleted | {harvester.key: harvester.state for harvester in self.draining.values()}

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
        return [
            replace(harvester.state, modified=harvester.status().st_mtime_ns)
            for harvester in self.running.values()
            if (harvester.has_left_path or self._scheduler.is_awake(harvester)) and not harvester.is_as_read
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


def _has_moved(state: FileState, found: Mapping[FileKey, Candidate]) -> bool:
    if not state.key.startswith(BY_PATH) or state.ended is not None:
        return False
    candidate = found.get((state.device, state.inode))
    return candidate is not None and candidate[1].path != state.path


def _may_have_new_data(harvester: Harvester) -> bool:
    """One that was rewritten may have its size again."""
    status = harvester.status()
    return harvester.has_new_data(status.st_size) or status.st_mtime_ns != harvester.state.modified
