"""Manage the open files: what happens when one is opened or closed, whatever the reason."""

import logging
import os
from collections.abc import Callable, Container, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial

from log_shipper.registry.state import REMOVED, TRUNCATED, FileState
from log_shipper.runtime.logs.folding import EACH
from log_shipper.shipper.inputs.base import SourceContext, with_progress
from log_shipper.shipper.inputs.files.discovery.spec import Candidate, FileKey, key_of
from log_shipper.shipper.inputs.files.discovery.watch import Watcher
from log_shipper.shipper.inputs.files.identity.entries import RegistryEntries
from log_shipper.shipper.inputs.files.identity.fingerprint import BY_PATH, name_of_entry
from log_shipper.shipper.inputs.files.identity.opened_file import OpenedFile
from log_shipper.shipper.inputs.files.lifecycle.files import Closed, Draining, Files
from log_shipper.shipper.inputs.files.lifecycle.idle_files import IdleFiles
from log_shipper.shipper.inputs.files.lifecycle.named_files import NamedFiles
from log_shipper.shipper.inputs.files.lifecycle.removed_files import RemovedFiles
from log_shipper.shipper.inputs.files.lifecycle.transitions import Effect, FileEvent, Next, Settled, To, next_state
from log_shipper.shipper.inputs.files.reading.harvester import Harvester
from log_shipper.shipper.inputs.files.reading.scheduler import Scheduler
from log_shipper.shipper.inputs.files.reading.sighting import PathState

logger = logging.getLogger(__name__)


class OpenFiles:
    """The open files. Used by the reading thread only."""

    def __init__(
        self,
        entries: RegistryEntries,
        scheduler: Scheduler,
        watcher: Watcher,
        context: SourceContext,
        candidate_of: Callable[[FileKey], Candidate | None],
        on_shut: Callable[[Harvester], None],
    ) -> None:
        """Take the callbacks: `candidate_of` returns the survey's object of a file; `on_shut` is called for each file
        that is no longer read."""
        self.files = Files()
        self.running = self.files.running
        self.idle = IdleFiles()
        self.removed = RemovedFiles(context.clock)
        self.named = NamedFiles()
        self._drained: list[Harvester] = []  # draining files with nothing in flight any more
        self._to_look_at: list[FileKey] = []
        self._padded: dict[Harvester, None] = {}  # running files that end with NULs
        self._entries = entries
        self._scheduler = scheduler
        self._watcher = watcher
        self._metrics = context.metrics
        self._clock = context.clock
        self._progressed = context.pulse.beat
        self._candidate_of = candidate_of
        self._on_shut = on_shut

    def add(self, harvester: Harvester) -> None:
        self.files.change(harvester.key, harvester)
        self.named.add(harvester)
        self._metrics.harvesters_started += 1

    def settled(self, harvester: Harvester) -> None:
        if harvester.is_open:
            self.idle.add(harvester)
        else:
            self._drained.append(harvester)

    def register_idle(self, opened: OpenedFile, state: FileState) -> None:
        """Close a known file without new data; it is watched for new data."""
        self._entries.keep(state)
        self._watch_closed(opened)

    def register_skipped(self, opened: OpenedFile, was: FileState) -> None:
        """Close a file that is not read now; that it is the file of its entry is proven when it is read."""
        self._entries.undo_match(was)
        self._watch_closed(opened)

    def _watch_closed(self, opened: OpenedFile) -> None:
        key, fd = opened.key, opened.content.fd
        nuls_at = opened.size if opened.size < opened.scanned.size else None
        if nuls_at is None:
            self._watcher.watch_file(key, fd)
        else:
            self._watcher.unwatch_file(key)  # writes to mapped memory, over NULs at the end, give no event
        closed = Closed(opened.scanned, nuls_at=nuls_at)
        if closed.has_new_data(Closed.from_status(opened.scanned.path, os.fstat(fd), None).seen):
            self._to_look_at.append(key)  # it was written to before the watch was set
        opened.close()
        self.files.change(key, closed)

    def watch(self, harvester: Harvester) -> None:
        """Watch an open file for writes after its closing: the watch outlives the descriptor."""
        if harvester.padding:  # as in _watch_closed
            self._watcher.unwatch_file(harvester.key)
        elif not self._watcher.is_watched(harvester.key):
            self._watcher.watch_file(harvester.key, harvester.fd)

    def wake(self, harvester: Harvester) -> None:
        self._scheduler.wake(harvester)

    def leave(self, harvester: Harvester, decided: Next, status: os.stat_result | None = None) -> None:
        """Stop reading a file, as decided. Batches in flight still move its position. `status`: that at which it had
        not grown; later writes are new data. A file whose status cannot be read is left as it was known, to be opened
        again."""
        status = status or harvester.status_if_known()
        if decided.ended is not None:
            self._watcher.unwatch_file(harvester.key)
            harvester.end(partial(self._entries.ended, why=decided.ended), status)
        elif Effect.KEEP in decided.effects:
            with suppress(OSError):  # its entry has what was acknowledged
                if status is not None:
                    harvester.note_last_look(status)
        else:
            self._watcher.unwatch_file(harvester.key)
            if harvester.sighting is not None:
                # It may have been written to, or trimmed, after the time in its entry: that is not a touch.
                harvester.state = replace(harvester.state, modified=0)
        closed = None
        if decided.to is To.CLOSED and status is not None:
            nuls_at = harvester.read_to if harvester.padding else None
            closed = Closed.from_status(harvester.state.path, status, self._candidate_of(harvester.key), nuls_at)
        self._close_file(harvester, closed)

    def note_reported(self, harvester: Harvester) -> None:
        """Note that unacknowledged data of an ended file was reported as lost, so that the next start does not report
        it again."""
        harvester.size = harvester.state.position
        harvester.state = self._entries.ended(replace(harvester.state, size_seen=harvester.size), REMOVED)

    def note_counted(self, state: FileState) -> None:
        """Note that the unread data of an entry is counted, which was put back: it must not be counted again when the
        file is missing."""
        state = self._entries.inherited(state)
        self._entries.change(replace(state, size_seen=state.position))

    def forget_missing(self, present: Container[FileKey]) -> None:
        """Forget closed files that left the paths, after a scan: new data in them is not read."""
        for key in [key for key in self.files.closed if key not in present]:
            self.files.change(key, None)
            self._watcher.unwatch_file(key)
        for key in self.files.forget(present):
            self._watcher.unwatch_file(key)

    def end_renamed(self, candidates: Mapping[FileKey, Candidate]) -> None:
        """End files found at other paths, with `file_identity.path`: they are read again from the start, as new files.
        Unread data is read then, and a remaining entry would be taken for that of the next file at its path."""
        named = [running for running in self.running.values() if running.state.key and not running.is_removed]
        for harvester in [running for running in named if _has_moved(running.state, candidates)]:
            if self.was_truncated(harvester):
                continue  # its next read counts its unread data as lost
            self.leave(harvester, next_state(FileEvent.RENAMED_BY_PATH))
        entries = [entry for entry in self._entries.closed_entries.values() if entry.key]
        for state in [entry for entry in entries if _has_moved(entry, candidates)]:
            del self._entries.closed_entries[name_of_entry(state)]
            if self.files.closed_as(key_of(state)) is not None:
                self.files.change(key_of(state), None)
            self._entries.orphan(self._entries.ended(state, REMOVED))

    def wake_unwatched(self, *, all_of_them: bool) -> None:
        """Wake files with new data that had no event: it was lost, or the file has no watch, or was written through
        memory (padding.py). `all_of_them`: watched files too."""
        for harvester in self._padded:
            self._scheduler.wake(harvester)
        partly = [self.running[key] for key in self._watcher.partly_watched(self.running)]
        unwatched = self.running.values() if all_of_them else [*self._scheduler.unwatched, *partly]
        for harvester in with_progress(unwatched, self._progressed):
            if self._may_have_changed(harvester):
                self._scheduler.wake(harvester)

    def _may_have_changed(self, harvester: Harvester) -> bool:
        try:
            return harvester.has_changed(harvester.status())
        except OSError:
            return True  # its read reports it

    def reached_end(self, harvester: Harvester) -> None:
        """Note that the file was read to its current end."""
        self.idle.add(harvester)
        if harvester.padding:
            self._padded[harvester] = None
        else:
            self._padded.pop(harvester, None)
        if harvester.size > harvester.read_to and not (harvester.policy.once or harvester.content.compressed):
            self.count_trimmed(harvester)

    def count_trimmed(self, harvester: Harvester) -> None:
        """Count and log unread data that a truncation removed from a file that is read on. Raises OSError."""
        size = max(harvester.status().st_size - harvester.padding, harvester.read_to)
        lost, harvester.size = harvester.size - size, min(harvester.size, size)
        if lost > 0:
            harvester.state = replace(harvester.state, size_seen=size)  # else it would be counted twice
            self._metrics.bytes_lost += lost
            logger.warning(
                f"{harvester.state.path} (file id {harvester.state.id}) was truncated to {size} bytes before all of it "
                f"was read: {lost} bytes from offset {size} are lost",
                extra=EACH,
            )

    def step(self) -> list[FileKey]:
        """Return the files to be checked: another one may have waited until the last batch of a closed file was
        acknowledged, or more was written meanwhile."""
        drained, self._drained = self._drained, []
        looks, self._to_look_at = self._to_look_at, []
        for harvester in drained:
            draining = self.files.draining.get(harvester.key)
            if draining is not None and draining.harvester is harvester and harvester.settled:
                self.files.change(harvester.key, draining.then)
                self._archive(harvester)
        return [*looks, *(harvester.key for harvester in drained)]

    @property
    def any_to_look_at(self) -> bool:
        return bool(self._drained or self._to_look_at)

    def stop(self) -> None:
        for harvester in with_progress(list(self.running.values()), self._progressed):
            with suppress(OSError):  # of a network file system: its entry has what was acknowledged
                self.leave(harvester, next_state(FileEvent.STOPPED))

    def was_truncated(self, harvester: Harvester) -> bool:
        """Return True if the file no longer has the bytes read last, which its next read will show."""
        try:
            if harvester.is_as_read:
                return False
        except OSError:
            return False  # reported when the file is read
        self._scheduler.wake(harvester)
        return True

    def renamed(self, harvester: Harvester, path: str) -> None:
        """Note that a survey found the file at another path of the inputs, or at its own again."""
        harvester.path_state = PathState.CURRENT if path == harvester.state.path else PathState.RENAMED
        harvester.update(path=path)
        self.named.add(harvester)
        self.idle.expect(harvester)

    def left_paths(self, harvester: Harvester) -> bool:
        """Note that a survey did not find the file: it was renamed or removed. Return True if it had its first path
        until now."""
        had_first_path = not harvester.has_left_its_path
        if harvester.path_state is not PathState.MOVED:
            harvester.note_moved(self._clock.monotonic())
            self.idle.expect(harvester)
        self.look_for_removal(harvester)
        return had_first_path

    def look_for_removal(self, harvester: Harvester) -> None:
        """Check whether the file was removed. It is registered by now, so an error must not leave this: the caller
        would close its descriptor."""
        harvester.look_for_removal(harvester.state.path)
        if harvester.is_removed and self.removed.add(harvester):
            status = harvester.status_if_known()
            self.named.add_ending(harvester, harvester.state.modified if status is None else status.st_mtime_ns)
            self.idle.expect(harvester)

    def is_ending(self, key: FileKey) -> bool:
        """Return True if the file was deleted and is still read, or was closed with batches in flight."""
        harvester = self.running.get(key)
        return (harvester is not None and harvester.is_removed) or key in self.files.draining

    def ended_originals(self, opened: OpenedFile) -> list[FileState]:
        """Return the ending or rewritten files of which this one may be a copy: with their final state, and their
        current modification time. Only a file that has unread data or has left its path may have been rewritten
        unnoticed."""
        states = []
        for harvester in self.named.possible_originals(opened):
            if not harvester.is_open:
                states.append(replace(harvester.state, ended=harvester.state.ended or REMOVED))
            elif harvester.has_left_its_path or harvester.schedule.is_awake:
                ended = REMOVED if harvester.is_as_read else TRUNCATED
                if harvester.is_removed or ended == TRUNCATED:
                    modified = harvester.status().st_mtime_ns
                    if ended == TRUNCATED:  # as in RegistryEntries.ended
                        modified = max(modified, int(self._clock.time() * 10**9))
                    states.append(replace(harvester.state, ended=ended, modified=modified))
        return states

    def state_of(self, key: FileKey) -> FileState | None:
        if key in self.running:
            return self.running[key].state
        return self._entries.closed_entries.get(key) or self._entries.matched_entries.get(key)

    def _close_file(self, harvester: Harvester, then: Closed | None) -> None:
        self._scheduler.closed(harvester)
        self.files.change(harvester.key, then if harvester.settled else Draining(harvester, then))
        self._padded.pop(harvester, None)
        self.idle.forget(harvester)
        self.removed.forget(harvester)
        harvester.close()
        self._metrics.harvesters_closed += 1
        self._on_shut(harvester)
        if harvester.settled:
            self._archive(harvester)
        else:
            self.named.add_ending(harvester, harvester.state.modified)

    def _archive(self, harvester: Harvester) -> None:
        self.named.forget(harvester)
        unproven, state = harvester.unproven, harvester.state
        (effect,) = next_state(Settled(is_proven=unproven is None, has_ended=state.ended is not None)).effects
        if effect is Effect.PUT_BACK and unproven is not None:
            self._entries.undo_match(unproven)
        elif effect is Effect.OFFER:
            self._entries.orphan(state)
            if harvester.copied > state.position:
                self._entries.possibly_lost.add_copied(state)
        elif self._is_displaced(state):
            self._entries.orphan(self._entries.ended(state, REMOVED))
            self._entries.possibly_lost.add(state)
        else:
            self._entries.keep(state)

    def _is_displaced(self, state: FileState) -> bool:
        """Return True if another file has an entry by this one's path, with `file_identity.path`, and the last survey
        did not find this one there: its entry would replace that of the other, and be taken for it."""
        other = self._entries.closed_entries.get(name_of_entry(state)) if state.key.startswith(BY_PATH) else None
        if other is None or other.ended is not None or other.id == state.id:
            return False
        candidate = self._candidate_of(key_of(state))
        return candidate is None or candidate.file.path != state.path


def _has_moved(state: FileState, candidates: Mapping[FileKey, Candidate]) -> bool:
    candidate = candidates.get(key_of(state)) if state.key.startswith(BY_PATH) and state.ended is None else None
    return candidate is not None and candidate.file.path != state.path
