"""Detect new files that may be copies of another file, before that original is truncated or removed.

copytruncate and gzip write a second file beside the first, and only then truncate or remove the first. An agent that
learns of new files within milliseconds sees both at once; taken for a file of its own, the copy would be shipped again.
So a new file whose name and bytes look like those of another is a suspected copy: it waits, and is compared with the
other. If its original ends, it resumes there (relation.py). If it gets bytes of its own, is deleted, or does not change
for some seconds, it is a file like any other. It waits longer only while its original is ending, or was rewritten,
which is about to be noticed; a blocked output can prolong both.
"""

import logging
import os
from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import chain

from log_shipper.registry.state import TRUNCATED, FileState
from log_shipper.runtime.logs.folding import EACH
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.inputs.files.discovery.scanner import Inode, ScannedFile
from log_shipper.shipper.inputs.files.discovery.spec import Candidate, FileKey, InputSpec, key_of
from log_shipper.shipper.inputs.files.identity.content import Plain, begins_as, content_now
from log_shipper.shipper.inputs.files.identity.opened_file import OpenedFile, opened_plain
from log_shipper.shipper.inputs.files.identity.prefix import Prefix
from log_shipper.shipper.inputs.files.identity.rotated_names import (
    directory_of,
    possible_originals,
    possible_originals_elsewhere,
)
from log_shipper.shipper.inputs.files.identity.unclaimed import UnclaimedEntries
from log_shipper.shipper.inputs.files.lifecycle.files import NEVER, Suspected
from log_shipper.shipper.inputs.files.lifecycle.open_files import OpenFiles

logger = logging.getLogger(__name__)

GRACE = 5.0  # seconds without growth after which a suspected copy counts as a file of its own
# On a host that was suspended, the copying program was suspended as well: a check that is late by this many seconds is
# repeated after as many.
LATE = 1.0
MAX_SUSPECTS = 64  # they keep descriptors open; further copies count as files of their own
COMPARED_AT_ONCE = 4 * 1024 * 1024
UNKNOWN = "?"  # a proof that is not known yet
COMPARE_AGAIN = 0.01  # seconds until the next part of a large file is compared


class FilesAt:
    """The files that are at the paths of the inputs, or were just before, by input and path."""

    def __init__(self, *files: Mapping[tuple[str, str], FileKey]) -> None:
        self._files = files

    def originals(self, input_id: str, path: str) -> Iterator[tuple[str, FileKey]]:
        """Yield the files of which the one at this path may be a copy, with their paths: first those beside it."""
        for original in chain(possible_originals(path), possible_originals_elsewhere(path)):
            for files in self._files:
                if (input_id, original) in files:
                    yield original, files[input_id, original]


class CopyDetector:
    """The suspected copies. Used by the reading thread only. `report` takes the path of a file and why it cannot be
    read."""

    def __init__(self, clock: Clock, open_files: OpenFiles, report: Callable[[str, str], None]) -> None:
        self._clock = clock
        self._open_files = open_files
        self._report = report
        self._files = open_files.files
        self.suspects = open_files.files.suspects  # its index, kept by `change`

    def must_wait(self, opened: OpenedFile, files_at: FilesAt) -> bool:
        """Return True if the file is a suspected copy and must wait; if not, the caller must `drop` it. Raises
        OSError."""
        known = self.suspects.get(opened.key)
        suspicion = self._suspicion(opened, files_at)
        if suspicion is None or (known is None and len(self.suspects) >= MAX_SUSPECTS):
            return False
        original, original_id = suspicion
        now = self._clock.monotonic()
        if known is None:
            known = Suspected(opened, original, opened.size, now, original_id)
            self._files.change(opened.key, known)
        elif known.size != opened.size:
            known.size, known.since, known.was_late = opened.size, now, False
        known.opened, known.original = opened, original
        if known.original_id != original_id:  # what was shipped under an earlier id proves nothing about this one
            known.original_id, known.shipped = original_id, Prefix()
        known.compare_at = NEVER
        is_ending = self._open_files.is_ending(original) or self._is_rewritten(original)
        if not is_ending and not self._compare(known):
            if not self._is_rewritten(original):
                return False
            is_ending = True  # just now
        if is_ending:
            known.since = now
        elif now - known.since >= GRACE + LATE and not known.was_late:
            known.since, known.was_late = now - GRACE + LATE, True
        return is_ending or (now - known.since < GRACE and not opened.is_removed)

    def copied_to(self, state: FileState, key: FileKey, size: int) -> int:
        """Return the size of the longest suspected copy of this file; 0 if there is none. A compressed copy counts as
        complete, with `size` bytes: its size does not show it."""
        longest = 0
        for suspect in self.suspects.values():
            copy = suspect.opened.content
            with suppress(OSError):  # the next survey reports it
                if suspect.original == key and copy.matches(state):
                    longest = max(longest, size if copy.compressed else os.fstat(copy.fd).st_size)
        return longest

    def inherit(self, successors: Mapping[FileKey, FileKey]) -> set[FileKey]:
        """Replace originals whose entry another file took over by that file. Return the suspects concerned: they
        resemble the successor now."""
        inheriting = {key for key, suspect in self.suspects.items() if suspect.original in successors}
        for key in inheriting:
            self.suspects[key].original = successors[self.suspects[key].original]
        return inheriting

    def original_id_of(self, key: FileKey) -> str:
        return self.suspects[key].original_id if key in self.suspects else ""

    def shipped_of(self, opened: OpenedFile, unclaimed: UnclaimedEntries) -> Prefix | None:
        """Return the content of a copy that lacks only the last lines of its original, which were read from the
        original: as compared while the original was whole. None for any other file."""
        suspect = self.suspects.get(opened.key)
        if suspect is None or opened.content.compressed or suspect.shipped.length != opened.size:
            return None
        was = unclaimed.states.get(suspect.original_id)
        if was is None or was.ended != TRUNCATED or directory_of(was.path) != directory_of(opened.scanned.path):
            return None  # the first bytes of a log in another directory prove nothing
        return suspect.shipped if was.position >= opened.size else None

    @property
    def next_check(self) -> float:
        """Monotonic time of the next check of a suspected copy."""
        if not self.suspects:
            return NEVER
        due = (min(suspect.since + GRACE, suspect.compare_at) for suspect in self.suspects.values())
        return min(due)

    def refreshed(self, candidates: Mapping[FileKey, Candidate]) -> list[OpenedFile]:
        """Return the suspected copies with their current size and times, and the paths that the last survey found.
        Close those that cannot be read: the next survey opens them again."""
        current = []
        for key, suspect in list(self.suspects.items()):
            path = (candidates[key].file if key in candidates else suspect.opened.scanned).path
            try:
                current.append(_as_it_is_now(suspect.opened, path))
            except OSError as error:
                self._report(path, f"cannot be read: {error.strerror}")
                self._close(key, suspect)
        return current

    def hand_over(self, removed: Container[str], specs: Mapping[str, InputSpec]) -> None:
        """Give the suspects of the `removed` inputs to those with the same ids now: `specs` by id. A suspect without an
        input is closed."""
        for key, suspect in list(self.suspects.items()):
            if suspect.opened.spec.id not in removed:
                continue
            spec = specs.get(suspect.opened.spec.id)
            if spec is None:
                self._close(key, suspect)
            else:
                suspect.opened = replace(suspect.opened, spec=spec)

    def drop(self, key: FileKey) -> None:
        """Forget a decided suspect; its descriptor belongs to the caller."""
        if key in self.suspects:
            self._files.change(key, None)

    def close(self) -> int:
        """Close the suspects at a stop. Return how many bytes are lost because the copy was deleted, too: those from
        which the reading of its truncated original was to continue. They are logged."""
        lost = 0
        for key, suspect in list(self.suspects.items()):
            lost += self._lost_of(suspect)
            self._close(key, suspect)
        return lost

    def _lost_of(self, suspect: Suspected) -> int:
        opened, draining = suspect.opened, self._files.draining.get(suspect.original)
        was = draining.harvester if draining is not None else None
        if was is None or was.state.id != suspect.original_id or was.state.ended != TRUNCATED:
            return 0  # its original is there, or what was not read of it is counted
        try:
            status = os.fstat(opened.content.fd)
        except OSError:
            return 0
        # Unacknowledged data of the original is counted at the next start.
        start = 0 if opened.content.compressed else was.offset
        lost = max(status.st_size - start, 0) if status.st_nlink == 0 else 0
        if lost:
            logger.warning(
                f"{opened.scanned.path} was removed before it was read, and the agent is stopping: {lost} bytes from "
                f"offset {start}, which only this copy of {was.state.path} (file id {was.state.id}) had, are lost",
                extra=EACH,
            )
        return lost

    def _close(self, key: FileKey, suspect: Suspected) -> None:
        self.drop(key)
        suspect.opened.close()

    def _suspicion(self, opened: OpenedFile, files_at: FilesAt) -> tuple[FileKey, str] | None:
        """Return the original and its file id, empty if it is not known yet: of an original that is a suspected copy
        itself. Raises OSError."""
        known = self.suspects.get(opened.key)
        files = self._open_files
        if known is not None and (self._is_of_ending(known, opened) or self._is_like_known(known, opened)):
            state = files.state_of(known.original)  # by its key, because it may have been renamed since
            return known.original, state.id if state is not None else known.original_id
        assumed_ended = UnclaimedEntries()
        for state in files.ended_originals(opened):
            assumed_ended.add(_settled(state))
        original = assumed_ended.match(opened)
        if original is not None:
            return key_of(original), original.id
        for path, key in files_at.originals(opened.spec.id, opened.scanned.path):
            if key != opened.key and self._looks_like(opened, path, key):
                state = files.state_of(key)
                return key, state.id if state is not None else ""
        return None

    def _is_of_ending(self, known: Suspected, opened: OpenedFile) -> bool:
        """Return True if the original is ending, and this file was not rewritten meanwhile: then it has other bytes.
        Raises OSError."""
        draining = self._files.draining.get(known.original)
        if draining is None or opened.content.fingerprint()[0] == 0:
            return self._open_files.is_ending(known.original)
        was_equal = not opened.content.compressed and known.shipped.length == opened.size
        return was_equal or opened.content.matches(draining.harvester.state)

    def _is_like_known(self, known: Suspected, opened: OpenedFile) -> bool:
        """Return True if the file resembles its original, or was equal to it until that was rewritten: it may lack the
        last lines, which were read from the original."""
        state = self._open_files.state_of(known.original)
        if state is None:
            return False
        was_equal = not opened.content.compressed and known.shipped.length == opened.size
        return self._looks_like(opened, state.path, known.original) or (
            was_equal and self._is_rewritten(known.original)
        )

    def _looks_like(self, opened: OpenedFile, path: str, key: FileKey) -> bool:
        """Return True if all bytes equal those of the file `key`, judged by head and tail, or did until that file was
        rewritten."""
        if opened.content.fingerprint()[0] == 0:
            return True  # cp and gzip create the copy before they fill it
        state = self._open_files.state_of(key)
        was = state is not None and state.fingerprint[0] > 0 and opened.content.matches(state)
        if was and not self._is_as_it_was(key):
            return True
        with self._original(path, key) as original:
            return original is not None and begins_as(original, opened.content, opened.size)

    def _is_rewritten(self, key: FileKey) -> bool:
        """Return True if the file no longer has the bytes that were read. While it is not read, its harvester may
        notice that late."""
        return self._is_as_it_was(key) is False

    def _is_as_it_was(self, key: FileKey) -> bool | None:
        """Return True if the file still has the bytes that were read; None if the file is unknown, or is neither open
        nor at its path: it may just have been renamed."""
        harvester = self._files.running.get(key)
        if harvester is not None:
            return harvester.is_as_read  # also where nothing is acknowledged yet
        state = self._open_files.state_of(key)
        if state is None:
            return None
        with self._original(state.path, key) as original:
            return original.matches(state) if original is not None else None

    def _compare(self, suspect: Suspected) -> bool:
        """Compare the next part with the original. Return False if they differ."""
        state = self._open_files.state_of(suspect.original)
        if state is None or suspect.opened.content.compressed:
            return True
        if suspect.shipped.length > suspect.opened.size:  # the copy was made once more
            suspect.shipped = Prefix()
        shipped = suspect.shipped
        with self._original(state.path, suspect.original) as original:
            if original is None:
                return True
            size = min(COMPARED_AT_ONCE, suspect.opened.size - shipped.length)
            data = os.pread(suspect.opened.content.fd, size, shipped.length)
            if os.pread(original.fd, len(data), shipped.length) != data:
                return False
            shipped.feed(data)
            if shipped.length < suspect.opened.size:
                suspect.compare_at = self._clock.monotonic() + COMPARE_AGAIN
        return True

    @contextmanager
    def _original(self, path: str, key: FileKey) -> Iterator[Plain | None]:
        """Yield the file with this key: by its own descriptor if it is open, wherever it was moved, else the file at
        the path; None if that is another one."""
        if (harvester := self._files.running.get(key)) is not None:
            yield Plain(harvester.fd)
            return
        with opened_plain(path) as file:
            yield file if file is not None and inode_of(file) == key[1:] else None


def _as_it_is_now(opened: OpenedFile, path: str) -> OpenedFile:
    """Return the file with its current size and times. Raises OSError."""
    content = content_now(opened.content)
    status = os.fstat(content.fd)
    scanned = ScannedFile.from_status(path, status)
    return replace(opened, content=content, size=content.size, scanned=scanned, modified=status.st_mtime_ns)


def _settled(state: FileState) -> FileState:
    """Return the state that the file may have once everything read is acknowledged, for a first suspicion."""
    tail = state.tail_hash if state.position else ""
    return replace(state, position=max(state.position, 1), tail_hash=tail, proof=UNKNOWN)


def inode_of(file: Plain) -> Inode:
    status = os.fstat(file.fd)
    return status.st_dev, status.st_ino
