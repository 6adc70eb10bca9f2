"""Opens files that a scan found, and finds out which of them is which.

All that were found together are looked at together, in this order: those whose name and bytes the registry knows; those
that hold what an entry without a file remembers; those that look like a copy of another, which wait; the rest are new.
"""

import logging
import os
from collections.abc import Callable, Iterable
from dataclasses import replace

from shipper.reader.gzip_file import is_gzip
from shipper.source.content import content_of
from shipper.source.copies import Copies, FilesAt
from shipper.source.discover import FileKey, Found
from shipper.source.entries import Claim, Entries, Opened
from shipper.source.identity import name_of_file
from shipper.source.input import Input
from shipper.source.survey import Wanted

logger = logging.getLogger(__name__)


class Opener:
    """Used by the reading thread only. `tell` takes what is wrong with a path, in words, or None when it is well."""

    def __init__(self, entries: Entries, copies: Copies, tell: Callable[[str, str | None], None]) -> None:
        self._entries = entries
        self._copies = copies
        self._tell = tell
        self._told_of_gzip: set[FileKey] = set()
        self.reborn: set[FileKey] = set()  # files whose life ended in place: what is there now is no copy

    def open(self, wanted: Iterable[Wanted]) -> list[Opened]:
        """Those that could be opened and are still the files that were found."""
        return [opened for source, found in wanted if (opened := self._open(source, found)) is not None]

    def identify(self, opened: list[Opened], files_at: FilesAt | None) -> list[tuple[Opened, Claim]]:
        """Which entry each belongs to; those that must wait or cannot be read are left out. `files_at`: None where
        nothing can be a copy of something that is still to end."""
        claims: dict[int, Claim] = {}
        heirs: dict[FileKey, FileKey] = {}
        for step in (self._entries.claim, self._adopt):
            for index, each in enumerate(opened):
                if index not in claims and (claim := self._try(step, each)) is not None:
                    claims[index] = claim
                    self._copies.drop(each.found.key)
                    if claim.was is not None:
                        heirs[claim.was] = each.found.key
        waiting = self._copies.inherit(heirs)
        for index, each in enumerate(opened):
            if index not in claims and each.found.key not in waiting and not self._is_held(each, files_at):
                claim = self._try(self._entries.make, each)
                if claim is not None:
                    claims[index] = claim
        for index, each in enumerate(opened):
            if index not in claims and each.found.key not in self._copies.held:
                os.close(each.content.fd)
        return [(opened[index], claim) for index, claim in sorted(claims.items())]

    def _adopt(self, opened: Opened) -> Claim | None:
        return self._entries.adopt(opened, self._copies.original_of(opened.found.key))

    def _is_held(self, opened: Opened, files_at: FilesAt | None) -> bool:
        if files_at is None or opened.found.key in self.reborn:
            self.reborn.discard(opened.found.key)
            return False
        try:
            return self._copies.holds(opened, files_at)
        except OSError as error:
            self._tell(opened.found.path, f"cannot be read: {error.strerror}")
            return False

    def _try(self, step: Callable[[Opened], Claim | None], opened: Opened) -> Claim | None:
        try:
            return step(opened)
        except OSError as error:
            self._tell(opened.found.path, f"cannot be read: {error.strerror}")
            return None

    def _open(self, source: Input, found: Found) -> Opened | None:
        try:
            fd = os.open(found.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except FileNotFoundError:
            return None  # it went since it was listed: the next scan tells
        except OSError as error:
            self._tell(found.path, f"cannot be opened: {error.strerror}")
            return None
        try:
            opened = self._look_into(source, found, fd)
        except OSError as error:
            self._tell(found.path, f"cannot be read: {error.strerror}")
            opened = None
        if opened is None:
            os.close(fd)
        else:
            self._tell(found.path, None)
        return opened

    def _look_into(self, source: Input, found: Found, fd: int) -> Opened | None:
        status = os.fstat(fd)
        if (status.st_dev, status.st_ino) != found.key:
            return None  # another file took the path since it was listed
        name = name_of_file(source.config, found, fd)
        if name is None:
            return None  # shorter than what file_identity.fingerprint takes: read when it has grown
        content = content_of(fd, source.config.compression)
        if source.config.compression == "none" and is_gzip(fd):
            self._tell_of_gzip(found)
        return Opened(
            replace(found, size=status.st_size, modified=status.st_mtime), content, status.st_size, name, source
        )

    def _tell_of_gzip(self, found: Found) -> None:
        if found.key not in self._told_of_gzip:
            self._told_of_gzip.add(found.key)
            logger.warning(
                "%s looks like a gzip file and is read as text; set compression: auto, or leave it out by "
                "prospector.scanner.exclude_files",
                found.path,
            )
