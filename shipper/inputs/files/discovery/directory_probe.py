"""Inspect a path in every scan: one without a pattern, or a symlink, whose target may change without a change of its
directory."""

import os
import stat
from collections.abc import Sequence

from log_shipper.config.text.patterns import Pattern, searcher
from log_shipper.shipper.inputs.files.discovery.directory import MISSING_ERRORS, ScannedFile
from log_shipper.shipper.inputs.files.discovery.symlinks import PathHistory, Place, Symlinks

_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
READ_LINKS = "set prospector.scanner.symlinks: true to read symbolic links"


class Filters:
    """The patterns that exclude and include paths."""

    def __init__(self, exclude: Sequence[Pattern], include: Sequence[Pattern]) -> None:
        self._excludes = searcher(exclude)
        self._includes = searcher(include) if include else lambda path: True

    def let_through(self, path: str) -> bool:
        return self._includes(path) and not self._excludes(path)


class Probe:
    """The current state of a path: a `file`, a `problem`, `excluded`, or nothing to read."""

    def __init__(self, path: str, filters: Filters, symlinks: Symlinks, *, reads_links: bool, literal: bool) -> None:
        self.path = path
        self.file: ScannedFile | None = None
        self.problem: str | None = None
        self.excluded = False
        self.is_link = False
        self._filters = filters
        self._symlinks = symlinks
        self._trail = PathHistory(path, symlinks, includes_last=True)
        self._settled: object = None  # the last result: if it is unchanged, nothing else is inspected
        self._reads_links = reads_links
        self._literal = literal

    @property
    def places(self) -> tuple[Place, ...]:
        """Return the places to watch: the names at which a change leads the path to another file."""
        return self._trail.places

    def refresh(self, *, full: bool) -> bool:
        """Inspect the path again, unless this round is partial. Return True if anything changed."""
        if self._symlinks.is_partial and not self._trail.is_due:
            return False
        link = None
        try:
            status = os.lstat(self.path)
            if stat.S_ISLNK(status.st_mode):
                link = status.st_ino, status.st_ctime_ns
                status = os.stat(self.path) if self._reads_links else status
            if (status.st_dev, status.st_ino, link) == self._settled and not full and not self._symlinks.hints:
                return False  # nearly always
            return self._note(status, link, full)
        except OSError as error:
            return self._note(error, link, full)

    def _note(self, outcome: os.stat_result | OSError, link: object, full: bool) -> bool:
        before = (self.file, self.problem, self.excluded, self.places)
        self.problem = self._settled = None
        self.is_link = link is not None
        if isinstance(outcome, OSError):
            self._refused(outcome, link, full)
        else:
            self._see(outcome, link, full)
        return (self.file, self.problem, self.excluded, self.places) != before

    def _see(self, status: os.stat_result, link: object, full: bool) -> None:
        key, is_regular = (status.st_dev, status.st_ino), stat.S_ISREG(status.st_mode)
        self._trail.update(key, link, again=full, counts=is_regular and not self.excluded)
        if stat.S_ISLNK(status.st_mode):
            self._leave(f"is a symbolic link and is not read: {READ_LINKS}" if self._literal else None)
        elif not is_regular:
            kind = _KINDS.get(stat.S_IFMT(status.st_mode), "a special file")
            self._leave(f"is {kind}, not a regular file" if self._literal else None)
        else:
            self._settled = (*key, link)
            if full or self.file is None or self.file.inode != key:
                paths = {self.path, self._trail.end if self.is_link else self.path}
                self.excluded = not all(self._filters.let_through(path) for path in paths)
                self.file = None if self.excluded else ScannedFile.from_status(self.path, status)

    def _leave(self, problem: str | None) -> None:
        self.file, self.excluded, self.problem = None, False, problem

    def _refused(self, error: OSError, link: object, full: bool) -> None:
        """Record an error of the inspection. A path that exists but cannot be inspected at the moment keeps its
        state."""
        is_missing = error.errno in MISSING_ERRORS
        self._trail.update(None, link, again=full, counts=is_missing)
        if not is_missing:
            self.problem = f"cannot be accessed: {error.strerror}"
        elif self.is_link:
            self._leave(f"is a broken symbolic link: {self._trail.end}: {error.strerror}")
        else:
            self._leave(None)
