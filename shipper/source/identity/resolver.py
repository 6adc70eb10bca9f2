"""Opens files that a scan found, and finds out which of them is which.

All that were found together are looked at together, in this order: those whose name and bytes the registry knows; those
that hold what an entry without a file remembers; those that look like a copy of another, which wait; the rest are new.
"""

import logging
import os
from collections.abc import Callable, Container, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from registry.state import FileState
from shipper.reader.gzip_file import is_gzip
from shipper.source.discovery.scanner import FileKey, ScannedFile
from shipper.source.discovery.spec import InputSpec
from shipper.source.discovery.survey import Candidate
from shipper.source.identity.birth import born
from shipper.source.identity.content import content_for, part_of
from shipper.source.identity.copy_detector import CopyDetector, FilesAt
from shipper.source.identity.entries import EntryMatch, RegistryEntries
from shipper.source.identity.fingerprint import name_of_file
from shipper.source.identity.opened_file import OpenedFile
from shipper.source.identity.rotated_names import possible_originals

logger = logging.getLogger(__name__)

Step = Callable[[OpenedFile], EntryMatch | None]


class FileResolver:
    """Used by the reading thread only. `report` takes what is wrong with a path, in words, or None when it is well;
    `open_states` gives those of the open files."""

    def __init__(
        self,
        entries: RegistryEntries,
        copies: CopyDetector,
        report: Callable[[str, str | None], None],
        open_states: Callable[[], Iterable[FileState]],
        *,
        once: bool = False,
    ) -> None:
        self._entries = entries
        self._copies = copies
        self._report = report
        self._open_states = open_states
        self._once = once
        self._warned_of_twins: set[FileKey] = set()
        self._warned_of_gzip: set[FileKey] = set()
        self._truncated: set[FileKey] = set()  # in place: what is there now is no copy

    def truncated(self, key: FileKey) -> None:
        """A file's life ended in place: what it holds now is a new file, and no copy of another."""
        self._truncated.add(key)

    def forget_missing(self, found: Container[FileKey]) -> None:
        """After a scan: who is not there any more was told of, and is no file whose life ended in place."""
        for keys in (self._warned_of_twins, self._warned_of_gzip, self._truncated):
            keys.intersection_update([key for key in keys if key in found])

    def open(self, wanted: Iterable[Candidate]) -> list[OpenedFile]:
        """Those that could be opened and are still the files that were found."""
        opened = [each for spec, found in wanted if (each := self._open(spec, found)) is not None]
        if not any(_is_by_fingerprint(each) for each in opened):
            return opened
        first = {state.key: state.path for state in self._open_states()}
        return [each for each in opened if not _is_by_fingerprint(each) or self._is_first(each, first)]

    def _is_first(self, opened: OpenedFile, first: dict[str, str]) -> bool:
        """By `file_identity.fingerprint`, files that begin alike are one file, of which one is read; as in Filebeat."""
        path = opened.found.path
        other = first.setdefault(str(opened.name), path)
        if other != path:
            os.close(opened.content.fd)
            if opened.found.key not in self._warned_of_twins:
                self._warned_of_twins.add(opened.found.key)
                logger.warning(
                    "%s begins as %s does: by file_identity.fingerprint they are one file, and only that one is read; "
                    "if they are not, raise prospector.scanner.fingerprint.length or offset",
                    path,
                    other,
                )
        return other == path

    def look_at_originals(self, opened: list[OpenedFile], found: Mapping[FileKey, Candidate]) -> None:
        """What a new file may be a copy of may wait for its own turn, and be truncated: that must be known first, or
        the copy is taken for a file of its own."""
        unknown = [each.found.path for each in opened if self._entries.is_unknown(each)]
        if not unknown:
            return
        together = {each.found.key for each in opened}
        by_path = {file.path: (spec, file) for spec, file in found.values()}
        for path in dict.fromkeys(original for each in unknown for original in possible_originals(each)):
            if path in by_path and by_path[path][1].key not in together:
                self._check(*by_path[path])

    def again(self, path: str, open_fd: int, spec: InputSpec, was: FileState | None = None) -> OpenedFile:
        """A file that is open, by a descriptor of its own. `was`: the entry for which it was taken. Raises OSError."""
        fd = os.dup(open_fd)
        found = ScannedFile.of(path, os.fstat(fd))
        try:
            opened = self._look_into(spec, found, fd)
            assert opened is not None  # it is what it was
        except OSError:
            os.close(fd)
            raise
        if was is None or was.ended is None:
            self._truncated.add(opened.key)  # else it may be a copy of another one yet
        return opened

    def _check(self, spec: InputSpec, found: ScannedFile) -> None:
        opened = self._open(spec, found)
        if opened is not None:
            with suppress(OSError):  # whoever opens it in its turn will be told
                self._entries.check(opened)
            os.close(opened.content.fd)

    def identify(self, opened: list[OpenedFile], files_at: FilesAt | None) -> list[tuple[OpenedFile, EntryMatch]]:
        """Which entry each belongs to; those that must wait or cannot be read are left out. `files_at`: None where
        nothing can be a copy of something that is still to end."""
        for each in opened:
            with suppress(OSError):  # whoever reads it will be told
                self._entries.mark_rewritten(each)
        claims: dict[FileKey, EntryMatch] = {}
        successors: dict[FileKey, FileKey] = {}
        left = {each.found.key: each for each in opened}
        for step, turn in ((self._entries.claim, opened), (self._adopt, sorted(opened, key=_comes_last))):
            for each in [each for each in turn if each.found.key in left]:
                claim = self._try(step, each, left)
                if claim is not None:
                    claims[each.found.key] = claim
                    del left[each.found.key]
                    self._copies.drop(each.found.key)
                    if claim.was is not None:
                        successors[claim.was.device, claim.was.inode] = each.found.key
        waiting = self._copies.inherit(successors)
        for key, each in list(left.items()):
            if key not in waiting and not self._is_suspect(each, files_at):
                claim = self._try(self._make, each, left)
                if claim is not None:
                    claims[key] = claim
        self._entries.matched_entries.clear()
        for each in opened:
            if each.found.key not in claims and each.found.key not in self._copies.suspects:
                os.close(each.content.fd)
        return [(each, claims[each.found.key]) for each in opened if each.found.key in claims]

    def _adopt(self, opened: OpenedFile) -> EntryMatch | None:
        return self._entries.adopt(opened, self._copies.original_of(opened.found.key))

    def _make(self, opened: OpenedFile) -> EntryMatch:
        shipped = self._copies.shipped_of(opened, self._entries.unclaimed)
        self._copies.drop(opened.key)
        return self._entries.make(opened, shipped)

    def _is_suspect(self, opened: OpenedFile, files_at: FilesAt | None) -> bool:
        if files_at is None or opened.found.key in self._truncated:
            self._truncated.discard(opened.found.key)
            return False
        try:
            return self._copies.holds(opened, files_at)
        except OSError as error:
            self._report(opened.found.path, f"cannot be read: {error.strerror}")
            return False

    def _try(self, step: Step, opened: OpenedFile, left: dict[FileKey, OpenedFile]) -> EntryMatch | None:
        """One that cannot be read is not looked at any more: it may be known, and must not be taken for a new one."""
        try:
            return step(opened)
        except OSError as error:
            self._report(opened.found.path, f"cannot be read: {error.strerror}")
            self._copies.drop(opened.found.key)
        del left[opened.found.key]
        return None

    def _open(self, spec: InputSpec, found: ScannedFile) -> OpenedFile | None:
        try:
            fd = os.open(found.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except FileNotFoundError:
            return None  # it went since it was listed: the next scan tells
        except OSError as error:
            self._report(found.path, f"cannot be opened: {error.strerror}")
            return None
        try:
            opened = self._look_into(spec, found, fd)
        except OSError as error:
            self._report(found.path, f"cannot be read: {error.strerror}")
            opened = None
        if opened is None:
            os.close(fd)
        else:
            self._report(found.path, None)
        return opened

    def _look_into(self, spec: InputSpec, found: ScannedFile, fd: int) -> OpenedFile | None:
        status = os.fstat(fd)
        if (status.st_dev, status.st_ino) != found.key:
            return None  # another file took the path since it was listed
        content = content_for(spec.config, fd, found.path)
        name = name_of_file(spec.config, found, partial(part_of, content), content.ends_before)
        if name is None:
            if status.st_size:  # a file that is empty misses nothing
                self._report_short(spec, found)
            return None
        if spec.config.compression == "none" and is_gzip(fd):
            self._warn_of_gzip(found)
        return OpenedFile(
            ScannedFile.of(found.path, status),
            content,
            content.size,
            name,
            spec,
            born(fd),
            status.st_mtime_ns,
        )

    def _report_short(self, spec: InputSpec, found: ScannedFile) -> None:
        identity = spec.config.file_identity
        self._report(
            found.path,
            f"waits until it has {identity.offset + identity.length} bytes, which file_identity.fingerprint needs; "
            "prospector.scanner.fingerprint.length makes it less",
        )

    def _warn_of_gzip(self, found: ScannedFile) -> None:
        if found.key not in self._warned_of_gzip:
            self._warned_of_gzip.add(found.key)
            logger.warning(
                "%s looks like a gzip file and is read as text; set compression: auto, or leave it out by "
                "prospector.scanner.exclude_files",
                found.path,
            )


@dataclass(frozen=True, slots=True)
class Identity:
    """What knows which file is which, as its users have it together."""

    entries: RegistryEntries
    copies: CopyDetector
    resolver: FileResolver


def _is_by_fingerprint(opened: OpenedFile) -> bool:
    return opened.spec.config.file_identity.name == "fingerprint"


def _comes_last(opened: OpenedFile) -> tuple[bool, int]:
    """Of several copies goes on first the one that is deleted by now: its .gz goes on after it. Else the longest: it
    alone may have what was not read."""
    return os.fstat(opened.content.fd).st_nlink > 0, -opened.size
