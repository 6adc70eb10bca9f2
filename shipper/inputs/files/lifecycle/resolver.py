"""Open the files found by a scan, and match each with its registry entry.

The files of one scan are identified together, in this order: files whose name and bytes the registry knows; files with
the bytes of an entry whose file is missing; suspected copies, which wait; all others are new.
"""

import errno
import logging
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from functools import partial

from log_shipper.registry.state import FileState
from log_shipper.shipper.inputs.base import SourceContext, with_progress
from log_shipper.shipper.inputs.files.discovery.scanner import ScannedFile
from log_shipper.shipper.inputs.files.discovery.spec import Candidate, FileKey, InputSpec, key_of
from log_shipper.shipper.inputs.files.identity.birth import birth_time
from log_shipper.shipper.inputs.files.identity.content import close_descriptor, content_for, part_of
from log_shipper.shipper.inputs.files.identity.entries import RegistryEntries
from log_shipper.shipper.inputs.files.identity.fingerprint import Name, name_of_entry, name_of_file, name_of_short_file
from log_shipper.shipper.inputs.files.identity.missing_files import FileIdentity
from log_shipper.shipper.inputs.files.identity.opened_file import (
    EntryMatch,
    OpenedFile,
    is_log_of,
    opened_plain,
    path_of,
)
from log_shipper.shipper.inputs.files.identity.touched import is_settled
from log_shipper.shipper.inputs.files.lifecycle.copy_detector import CopyDetector, FilesAt, inode_of
from log_shipper.shipper.inputs.files.lifecycle.open_files import OpenFiles
from log_shipper.shipper.reader.gzip_file import is_gzip

logger = logging.getLogger(__name__)

LONGEST_CHARACTER = 4  # bytes

Step = Callable[[OpenedFile], EntryMatch | None]


class FileResolver:
    """The identification of files. Used by the reading thread only. `report` takes a path and its problem, or None if
    it has none."""

    def __init__(
        self,
        open_files: OpenFiles,
        entries: RegistryEntries,
        copies: CopyDetector,
        report: Callable[[str, str | None], None],
        context: SourceContext,
    ) -> None:
        self._files = open_files.files
        self._named = open_files.named
        self.entries = entries
        self.copies = copies
        self._report = report
        self._clock = context.clock
        self._once = context.once
        self._progressed = context.pulse.beat
        self._vanished: dict[FileKey, Candidate] = {}

    def open(self, wanted: Iterable[Candidate]) -> list[OpenedFile]:
        """Open these files. Files that cannot be opened, or are no longer the scanned ones, are left out; the latter
        are noted (take_vanished)."""
        opened = [
            file
            for spec, scanned, _ in with_progress(wanted, self._progressed)
            if (file := self._open(spec, scanned)) is not None and not self._is_undecided(file)
        ]
        first: dict[Name, str] = {}
        return [file for file in opened if not _is_by_fingerprint(file) or self._is_first(file, first)]

    def take_vanished(self) -> Collection[Candidate]:
        """Return the files that were no longer at their path when they were to be opened, and were noted since the last
        call. The next survey shows whether they have another one."""
        vanished, self._vanished = self._vanished, {}
        return vanished.values()

    def _is_undecided(self, opened: OpenedFile) -> bool:
        """Return True if the file was touched (resend_on_touch), or is being written to: it is closed, and the next
        survey opens it again. End the entry of a touched file."""
        try:
            if not self.entries.is_touched(opened):
                return False
        except OSError:
            return False  # reported when the file is read
        if self._once or is_settled(opened.modified, self._clock.time()):
            self.entries.end_touched(opened)
            self._files[opened.key].is_fresh = True  # else it may wait as a suspected copy
            return False
        opened.close()
        return True

    def _is_first(self, opened: OpenedFile, first: dict[Name, str]) -> bool:
        """Return True if the file is the first with its name; any other is closed. With `file_identity.fingerprint`,
        files that begin with the same bytes are one file, and only one of them is read, as in Filebeat."""
        path = opened.scanned.path
        other = self._named.path_of(opened.name) or first.setdefault(opened.name, path)
        if other != path:
            opened.close()
            if not (file := self._files[opened.key]).warned_of_twin:
                file.warned_of_twin = True
                logger.warning(
                    "%s is not read: it begins with the same bytes as %s, so file_identity.fingerprint takes both for "
                    "one file. If they are different files, raise prospector.scanner.fingerprint.length or offset",
                    path,
                    other,
                )
        return other == path

    def check_originals(
        self, opened: list[OpenedFile], candidates: Mapping[FileKey, Candidate], files_at: FilesAt
    ) -> None:
        """Check the possible originals of new files that are not opened with them. Such an original may have been
        truncated, and renamed, while it waited: unless that is known first, its copy is taken for a file of its own."""
        together = {file.key for file in opened}
        keys = dict.fromkeys(
            key
            for file in opened
            if self.entries.is_unknown(file)
            for _, key in files_at.originals(file.spec.id, file.scanned.path)
        )
        for key in with_progress(keys, self._progressed):
            if key in candidates and key not in together:
                self._check(candidates[key])

    def note_path(self, state: FileState, candidate: Candidate) -> None:
        """Note that a closed file was renamed. If it waits for its turn, and was truncated before, its entry ends
        first, with the path by which its copy is recognised."""
        if self.entries.closed_entries.get(name_of_entry(state)) is state:  # else it was opened, or has ended
            self._check(candidate)
            self.entries.note_path(state, candidate.file.path)

    def reopen(self, path: str, open_fd: int, spec: InputSpec, was: FileState | None = None) -> OpenedFile:
        """Return an open file again, with its own descriptor. `was`: the entry with which it was matched before. Raises
        OSError."""
        fd = os.dup(open_fd)
        scanned = ScannedFile.from_status(path, os.fstat(fd))
        try:
            opened = self._look_into(spec, scanned, fd)
            if opened is None:
                raise OSError(errno.ENODATA, "too short for file_identity.fingerprint")
        except OSError:
            close_descriptor(fd)
            raise
        if was is None or was.ended is None:
            self._files[opened.key].is_fresh = True  # else it may still be a copy of another file
        return opened

    def find_written_over(self, unwatched: Iterable[FileKey], candidates: Mapping[FileKey, Candidate]) -> None:
        """Have closed files opened again of which the NULs at the end were written over through mapped memory. This
        changes neither their size nor, before the kernel has written the page to disk, a time."""
        padded = ((key, closed) for key in unwatched if (closed := self._files.closed.get(key)) is not None)
        ends = [(key, closed.nuls_at) for key, closed in padded if closed.nuls_at is not None and key in candidates]
        for key, nuls_at in with_progress(ends, self._progressed):
            spec, scanned, _ = candidates[key]
            with opened_plain(scanned.path, _follow(spec)) as file, suppress(OSError):
                if file is None or inode_of(file) != key[1:]:
                    continue
                if any(os.pread(file.fd, LONGEST_CHARACTER, nuls_at)):
                    self._files.change(key, None)

    def check_replaced(self, unopened: Iterable[Candidate], candidates: Mapping[FileKey, Candidate]) -> None:
        """End the entries of waiting files that were replaced: their new content may be lost, too."""
        for candidate in unopened:
            if candidate.key in candidates:
                self._check(candidates[candidate.key])

    def _check(self, candidate: Candidate) -> None:
        opened = self._open(candidate.spec, candidate.file)
        if opened is not None:
            with suppress(OSError):  # reported when the file is opened in its turn
                self.entries.check(opened)
                self.entries.mark_rewritten(opened)
            opened.close()

    def identify(self, opened: list[OpenedFile], files_at: FilesAt | None) -> list[tuple[OpenedFile, EntryMatch]]:
        """Return the files with their entries. Suspected copies and files that cannot be read are left out. `files_at`
        is None if no file can be a copy of one that has not ended."""
        for file in with_progress(opened, self._progressed):
            with suppress(OSError):  # reported when the file is read
                self.entries.mark_rewritten(file)
        claims: dict[FileKey, EntryMatch] = {}
        successors: dict[FileKey, FileKey] = {}
        left = {file.key: file for file in opened}
        longest_first = sorted(opened, key=lambda file: -file.size)  # of copies, it alone may have unread data
        for step, turn in ((self.entries.claim, opened), (self._adopt, longest_first)):
            for file in with_progress([candidate for candidate in turn if candidate.key in left], self._progressed):
                claim = self._try(step, file, left)
                if claim is not None:
                    claims[file.key] = claim
                    del left[file.key]
                    self.copies.drop(file.key)
                    if claim.was is not None:
                        successors[key_of(claim.was)] = file.key
        waiting = self.copies.inherit(successors)
        for key, file in with_progress(list(left.items()), self._progressed):
            if key not in waiting and not self._is_suspect(file, files_at):
                claim = self._try(self._make, file, left)
                if claim is not None:
                    claims[key] = claim
        self.entries.matched_entries.clear()
        for file in opened:
            if file.key not in claims and file.key not in self._files.suspects:
                file.close()
        return [(file, claims[file.key]) for file in opened if file.key in claims]

    def _adopt(self, opened: OpenedFile) -> EntryMatch | None:
        return self.entries.adopt(opened, self.copies.original_id_of(opened.key))

    def _make(self, opened: OpenedFile) -> EntryMatch:
        shipped = self.copies.shipped_of(opened, self.entries.unclaimed)
        self.copies.drop(opened.key)
        return self.entries.make(opened, shipped)

    def _is_suspect(self, opened: OpenedFile, files_at: FilesAt | None) -> bool:
        file = self._files[opened.key]
        if files_at is None or file.is_fresh:
            file.is_fresh = False
            return False
        try:
            return self.copies.must_wait(opened, files_at)
        except OSError as error:
            self._report(opened.scanned.path, f"cannot be read: {error.strerror}")
            return False

    def _try(self, step: Step, opened: OpenedFile, left: dict[FileKey, OpenedFile]) -> EntryMatch | None:
        """Return the result of the step. A file that cannot be read is removed from `left`: it may be known, and must
        not count as a new one."""
        try:
            return step(opened)
        except OSError as error:
            self._report(opened.scanned.path, f"cannot be read: {error.strerror}")
            self.copies.drop(opened.key)
        del left[opened.key]
        return None

    def _open(self, spec: InputSpec, scanned: ScannedFile) -> OpenedFile | None:
        follow = _follow(spec)
        try:
            fd = os.open(scanned.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | follow)
        except OSError as error:
            if error.errno == errno.ENOENT or (follow and error.errno == errno.ELOOP):
                self._note_vanished(spec, scanned)
                return None
            self._report(scanned.path, f"cannot be opened: {error.strerror}")
            return None
        try:
            opened = self._look_into(spec, scanned, fd) if self._may_be_read(spec, scanned, fd) else None
        except OSError as error:
            self._report(scanned.path, f"cannot be read: {error.strerror}")
            opened = None
        if opened is None:
            close_descriptor(fd)
        else:
            self._report(scanned.path, None)
        return opened

    def _may_be_read(self, spec: InputSpec, scanned: ScannedFile, fd: int) -> bool:
        """Return False if a hint named the path and a link on the way leads out of the container's log directory."""
        if not spec.config.owned_by or is_log_of(spec.config.owned_by, path := path_of(fd)):
            return True
        self._report(scanned.path, f"is not read: it links to {path}, outside the log directory of its container")
        return False

    def _look_into(self, spec: InputSpec, scanned: ScannedFile, fd: int) -> OpenedFile | None:
        status = os.fstat(fd)
        if (status.st_dev, status.st_ino) != scanned.inode:
            self._note_vanished(spec, scanned)  # another file took its path since the listing
            return None
        key = (spec.id, *scanned.inode)
        content = content_for(spec.config, fd, scanned.path)
        name = name_of_file(spec.config, scanned, partial(part_of, content), content.ends_before)
        birth = birth_time(fd)
        if name != "":
            named = name or name_of_short_file(spec.config.file_identity)
            self._files[key].identified = FileIdentity(named, birth)
        if name is None:
            if status.st_size:  # an empty file has nothing to wait for
                self._report_short(spec, scanned)
            return None
        if spec.config.compression == "none" and is_gzip(fd):
            self._warn_of_gzip(key, scanned.path)
        return OpenedFile(
            ScannedFile.from_status(scanned.path, status),
            content,
            content.size,
            name,
            spec,
            birth,
            status.st_mtime_ns,
        )

    def _note_vanished(self, spec: InputSpec, scanned: ScannedFile) -> None:
        candidate = Candidate.from_scan(spec, scanned)
        self._vanished[candidate.key] = candidate

    def _report_short(self, spec: InputSpec, scanned: ScannedFile) -> None:
        identity = spec.config.file_identity
        self._report(
            scanned.path,
            f"is not read until it has {identity.offset + identity.length} bytes (file_identity.fingerprint); lower "
            "prospector.scanner.fingerprint.length, or set file_identity.fingerprint.growing: true to read it at "
            "once",
        )

    def _warn_of_gzip(self, key: FileKey, path: str) -> None:
        if not (file := self._files[key]).warned_of_gzip:
            file.warned_of_gzip = True
            logger.warning(
                "%s looks like a gzip file but is read as text; set compression: auto, or exclude it with "
                "prospector.scanner.exclude_files",
                path,
            )


def _follow(spec: InputSpec) -> int:
    """Return the flag for open(2): a link that replaced a file since the listing may lead to a device, and opening one
    may have an effect."""
    return 0 if spec.config.prospector.scanner.symlinks else os.O_NOFOLLOW


def _is_by_fingerprint(opened: OpenedFile) -> bool:
    return bool(opened.named) and opened.spec.config.file_identity.name == "fingerprint"
