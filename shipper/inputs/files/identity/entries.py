"""Find the registry entry of an open file: a known one if the bytes confirm it, else a new one."""

import logging
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import replace
from functools import partial

from log_shipper.registry.registrar import Registrar
from log_shipper.registry.state import MISSING, REMOVED, TRUNCATED, FileState
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.inputs.files.discovery.spec import Candidate, FileKey, InputSpec, key_of
from log_shipper.shipper.inputs.files.identity import possibly_lost
from log_shipper.shipper.inputs.files.identity.content import part_of
from log_shipper.shipper.inputs.files.identity.fingerprint import (
    Name,
    is_elsewhere,
    is_found_by_name,
    name_by_fingerprint,
    name_of_entry,
)
from log_shipper.shipper.inputs.files.identity.inheritance import Inheritance
from log_shipper.shipper.inputs.files.identity.missing_files import AsIdentified, ending, is_inode_used_again
from log_shipper.shipper.inputs.files.identity.opened_file import EntryMatch, OpenedFile, new_state
from log_shipper.shipper.inputs.files.identity.possibly_lost import PossiblyLost
from log_shipper.shipper.inputs.files.identity.prefix import Prefix
from log_shipper.shipper.inputs.files.identity.proving import is_as_closed
from log_shipper.shipper.inputs.files.identity.touched import is_touched, log_touch
from log_shipper.shipper.inputs.files.identity.unclaimed import UnclaimedEntries
from log_shipper.shipper.metrics import Metrics

logger = logging.getLogger(__name__)

KEPT_FOR = 24 * 3600.0  # seconds for which an entry without a file is kept, to recognise copies and .gz files


class RegistryEntries:
    """The entries of files that are not open. Used by the reading thread only."""

    def __init__(
        self,
        states: Iterable[FileState],
        registrar: Registrar,
        clock: Clock,
        metrics: Metrics,
        inputs: Mapping[str, InputSpec],
    ) -> None:
        """Take the registry's `states`, as loaded; `inputs` by id, for their cleaning options."""
        self._registrar = registrar
        self._clock = clock
        self._metrics = metrics
        self._inputs = inputs
        self._inheritance = Inheritance(inputs)
        self.closed_entries: dict[Name, FileState] = {}
        self.matched_entries: dict[FileKey, FileState] = {}  # by files that are about to be read
        self.unclaimed = UnclaimedEntries()
        self._closed: set[str] = set()  # ids of files read by this agent
        self.possibly_lost = PossiblyLost(metrics, self._still_ended, self.change)
        for state in self._inheritance.distributed(states):
            self._load(state)

    def _load(self, state: FileState) -> None:
        """Keep a loaded entry. Of two with one name, that of the file at the path stays, or else the later one."""
        if state.ended is not None:
            self._note_stopped(state)
        if is_found_by_name(state) and (other := self.closed_entries.get(name_of_entry(state))) is not None:
            if is_elsewhere(state) and not is_elsewhere(other):
                state, other = other, state
            self._end_displaced(other, state)
        self._put(state)

    def _end_displaced(self, displaced: FileState, by: FileState) -> None:
        """End the other entry of a name. The registry was restored from the positions in Kafka, which do not show that
        a file has ended; or the agent was killed while it read a file that had left its path, and the next one there.
        Copies of a file without a key resume there."""
        if displaced.ended is None:
            why = REMOVED if is_inode_used_again(displaced, by.birth) else TRUNCATED
            modified = displaced.modified if why == REMOVED else by.modified
            displaced = self.ended(replace(displaced, modified=modified), why)
            self._note_stopped(displaced)
        self.unclaimed.add(displaced)

    def _note_stopped(self, state: FileState) -> None:
        if state.size_seen > state.position:
            self.possibly_lost.add(state, possibly_lost.STOPPED)

    def keep(self, state: FileState) -> None:
        """Keep the state of a closed file: it resumes there when it is opened again."""
        state = self.inherited(state)
        self._closed.add(state.id)
        self.possibly_lost.mark_proven(state.id)
        self.closed_entries[name_of_entry(state)] = state

    def ended(self, state: FileState, why: str) -> FileState:
        """Return the state of a file that was deleted or truncated or has left the paths. Note it in the registry."""
        spec = self._inputs.get(state.input)
        stays = spec is not None and not spec.config.clean_removed and why != TRUNCATED
        ttl, now = -1.0 if stays else KEPT_FOR, self._clock.time()
        # ext4 shows the new size some milliseconds before the time of a truncation. A copy may be younger than that.
        modified = max(state.modified, int(now * 10**9)) if why == TRUNCATED else state.modified
        state = replace(state, ended=why, ttl=ttl, updated=now, modified=modified)
        self._registrar.note(state)
        return state

    def orphan(self, state: FileState) -> None:
        """Keep the entry for a file that may prove to be the missing one."""
        state = self.inherited(state)
        self._closed.discard(state.id)
        self.possibly_lost.mark_proven(state.id)
        self._put(state)

    def _put(self, state: FileState) -> None:
        """Put the entry where a file finds it: by its name or, if it has ended for good, by its content."""
        if is_found_by_name(state):
            self.closed_entries[name_of_entry(state)] = state
        else:
            self.unclaimed.add(state)

    def claim(self, opened: OpenedFile) -> EntryMatch | None:
        """Return the entry with the file's name, or None if there is none or the file does not have the bytes that it
        remembers. Raises OSError."""
        known = self.closed_entries.get(opened.name)
        if known is None:
            return self._claim_by_fingerprint(opened)
        if opened.has_content_as_name:
            # The size of a compressed file does not show where its content ends.
            fits = opened.content.compressed or opened.size >= known.position
            # The remembered bytes do not count here; from now on the reader compares with the current ones.
            head, tail = opened.content.fingerprint(), opened.content.tail_hash(known.position)
            known = replace(known, fingerprint=head, tail_hash=tail, proof="") if fits else known
            needs_no_proof = True  # the name alone decides
        else:
            fits = not is_inode_used_again(known, opened.birth_of_inode) and opened.content.matches(known)
            needs_no_proof = known.id in self._closed and is_as_closed(known, opened)
        del self.closed_entries[opened.name]  # not earlier: if the above raises, the entry must stay
        if fits:
            return EntryMatch(self._taken(known, opened), known.path, None if needs_no_proof else known)
        self._disprove(known, opened)
        return None

    def _claim_by_fingerprint(self, opened: OpenedFile) -> EntryMatch | None:
        """Find the entry of a growing file that was made before the input's fingerprint could grow."""
        identity = opened.spec.config.file_identity
        if not identity.growing:
            return None
        name = name_by_fingerprint(identity, partial(part_of, opened.content), opened.content.ends_before)
        known = self.closed_entries.get((opened.spec.id, name)) if name is not None else None
        if known is None or not opened.content.matches(known):
            return None
        is_there = known.ended is None and known.path != opened.scanned.path
        if is_there and key_of(known) != opened.key:
            return None  # it has its own file; this one begins with the same bytes
        del self.closed_entries[name_of_entry(known)]
        self.matched_entries[opened.key] = taken = replace(self._taken(known, opened), key="")
        return EntryMatch(taken, known.path, known)

    def is_unknown(self, opened: OpenedFile) -> bool:
        return opened.name not in self.closed_entries

    def check(self, opened: OpenedFile) -> None:
        """End the entry if the file does not have the bytes that it remembers. Raises OSError."""
        known = self.closed_entries.get(opened.name)
        if known is not None and not opened.has_content_as_name and not opened.content.matches(known):
            del self.closed_entries[opened.name]
            self._disprove(known, opened)

    def is_touched(self, opened: OpenedFile) -> bool:
        """Return True if the file was touched after its entry was made, and must be sent again. Raises OSError."""
        known = self.closed_entries.get(opened.name)
        if known is None or not opened.spec.config.prospector.scanner.resend_on_touch:
            return False
        return is_touched(known, opened, was_read=known.id in self._closed)

    def end_touched(self, opened: OpenedFile) -> None:
        """End the entry of a touched file, which is sent again as a new file."""
        known = self.closed_entries.pop(opened.name)
        log_touch(known)
        self._metrics.files_resent += 1
        # Without its key: a fingerprint would name the ended entry, and the file would resume there.
        self.orphan(self.ended(replace(known, key="", modified=opened.modified, size_seen=known.position), TRUNCATED))

    def mark_rewritten(self, opened: OpenedFile) -> None:
        """End the entries of missing files that reappeared with other bytes: they were truncated meanwhile, and a copy
        may resume there. Raises OSError."""
        for state in self.unclaimed.of_inode(opened) if not opened.is_trusted else ():
            if not opened.content.matches(state):
                self.unclaimed.remove(state.id)
                self._disprove(state, opened)

    def adopt(self, opened: OpenedFile, original_id: str = "") -> EntryMatch | None:
        """Find the entry without a file whose content this file has. `original_id`: the file of which it is a suspected
        copy. Raises OSError."""
        if opened.is_trusted:
            return None
        known = self.unclaimed.match(opened, original_id)
        if known is None:
            return None
        self.unclaimed.remove(known.id)
        self.possibly_lost.mark_tried(known.id)
        taken = self._taken(known, opened)
        # Its successor at its path is missing too: no existing file followed it.
        return EntryMatch(taken, taken.path if self.unclaimed.has_successor(known) else known.path, known)

    def undo_match(self, state: FileState) -> None:
        """Undo a match from which nothing was read. A missing file that was matched by its name is at it again."""
        self.possibly_lost.mark_disproved(state.id)
        state = self.inherited(state)
        if state.ended == MISSING and state.key and name_of_entry(state) not in self.closed_entries:
            state = replace(state, ended=None, ttl=-1.0)
            self._registrar.note(state)
        self._put_back(state)

    def _put_back(self, state: FileState) -> None:
        """Put the entry back. The name of one that has ended may belong to another file by now."""
        if state.ended is None:
            self.closed_entries[name_of_entry(state)] = state
        else:
            self.unclaimed.add(state)

    def release_match(self, claim: EntryMatch) -> None:
        """Undo a match because the file could not be read. A new entry is dropped, and made again later."""
        if claim.was is not None:
            self.undo_match(claim.was)
        elif not claim.is_new:
            self.keep(claim.state)

    def note_disproved(self, state: FileState, opened: OpenedFile) -> None:
        """Note that the file was proven not to be that of the entry, which was put back."""
        name = name_of_entry(state)
        known = self.closed_entries.get(name)
        if known is not None and known.id == state.id:
            del self.closed_entries[name]
            self._disprove(state, opened)
        else:
            self.unclaimed.refuse(state.id, opened.key)

    def make(self, opened: OpenedFile, shipped: Prefix | None = None) -> EntryMatch:
        """Return a new entry, whose id is not saved yet. `shipped`: the part of the content that was shipped from
        another file. Raises OSError."""
        state = new_state(opened, self._clock.time())
        if shipped is not None:
            tail = opened.content.tail_hash(shipped.length)
            state = replace(state, position=shipped.length, tail_hash=tail, proof=shipped.proof)
        logger.info("new file %s (file id %s, %d bytes)", state.path, state.id, opened.size)
        return EntryMatch(state)

    def inherited(self, state: FileState) -> FileState:
        return self._inheritance.inherited(state, self.closed_entries)

    def inputs_changed(self) -> None:
        """Let the inputs take over the entries of removed inputs."""
        self._inheritance.update()
        for state in [*self.closed_entries.values(), *self.unclaimed.states.values()]:
            if (inherited := self.inherited(state)) is not state:
                self.forget(state)
                self._put_back(inherited)

    def forget(self, state: FileState) -> None:
        """Forget an entry."""
        if state.id in self.unclaimed.states:
            self.unclaimed.remove(state.id)
        else:
            del self.closed_entries[name_of_entry(state)]

    def renamed(self, candidates: Mapping[FileKey, Candidate]) -> list[FileState]:
        """Return the states of closed files with a new path."""
        return [
            state
            for state in self.closed_entries.values()
            if (candidate := candidates.get(key_of(state))) is not None
            and candidate.file.path != state.path
            and not state.key
        ]

    def note_path(self, state: FileState, path: str) -> None:
        if self.closed_entries.get(name_of_entry(state)) is state:  # else it was opened, or has ended
            renamed = replace(state, path=path, updated=self._clock.time())
            self.closed_entries[name_of_entry(state)] = renamed
            self._registrar.note(renamed)

    def expire_missing(
        self,
        present: Container[FileKey],
        paths: Mapping[tuple[str, str], FileKey],
        excused: Callable[[str], bool],
        identified: AsIdentified,
        *,
        once: bool = False,
    ) -> None:
        """End the entries of missing files after a scan. `excused` is true of a path that could not be inspected, so
        that nothing is known about it. With `once` nothing is reported: only copies are searched."""
        self.unclaimed.forget_refused(present)
        endings = [
            (state, how)
            for state in self.closed_entries.values()
            if state.ended is None and (how := ending(state, present, paths, identified)) is not None
        ]
        for state, (why, words) in endings:
            if excused(state.path):
                continue
            del self.closed_entries[name_of_entry(state)]
            if once:
                self.orphan(replace(state, ended=why))
            else:
                self._end_unseen(state, why, words if state.input in self._inputs else possibly_lost.NO_INPUT)

    def change(self, state: FileState) -> None:
        """Replace the state of an entry whose file is not open; only its time of update may differ."""
        if state.id in self.unclaimed.states:
            self.unclaimed.states[state.id] = state
        else:
            self.closed_entries[name_of_entry(state)] = state
        self._registrar.note(state)

    def _taken(self, known: FileState, opened: OpenedFile) -> FileState:
        scanned = opened.scanned
        # If it is shorter than it was, the harvester counts the loss when it has read to the end.
        size = known.size_seen if opened.content.compressed else max(known.size_seen, opened.size)
        self.matched_entries[opened.key] = taken = replace(
            known,
            path=scanned.path,
            device=scanned.inode[0],
            inode=scanned.inode[1],
            size_seen=size,
            input=opened.spec.id,
            ended=None,
            ttl=-1.0,
            birth=opened.birth,
            modified=opened.modified,
        )
        return taken

    def _disprove(self, known: FileState, opened: OpenedFile) -> None:
        """End the entry of a file that was truncated while closed, or whose inode was reused: no file with that inode
        matches it."""
        if is_inode_used_again(known, opened.birth_of_inode):
            self._end_unseen(known, REMOVED, possibly_lost.INODE_USED_AGAIN)
        else:
            self._end_unseen(replace(known, modified=opened.modified), TRUNCATED, possibly_lost.REWRITTEN)

    def _end_unseen(self, known: FileState, why: str, words: str) -> None:
        self.orphan(self.ended(known, why))
        self.possibly_lost.add(known, words)

    def _still_ended(self, state: FileState) -> FileState | None:
        """Return the current entry of a missing file; None if it was matched with a file meanwhile."""
        now = self.unclaimed.states.get(state.id) or self.closed_entries.get(name_of_entry(state))
        return now if now is not None and now.id == state.id and now.ended is not None else None
