"""A path that is inspected in every scan: one that the configuration names in full, or a symlink, whose target may
change without a change of its directory."""

import os
import stat
from collections.abc import Sequence

from config.text.patterns import Pattern, searcher
from shipper.source.discovery.directory import MISSING_ERRORS, ScannedFile, deepest_directory

_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
READ_LINKS = "set prospector.scanner.symlinks: true to read such files"


class Filters:
    """`exclude` and `include`: regular expressions that are searched for in a path."""

    def __init__(self, exclude: Sequence[Pattern], include: Sequence[Pattern]) -> None:
        self._excludes = searcher(exclude)
        self._includes = searcher(include or ("",))

    def let_through(self, path: str) -> bool:
        return self._includes(path) and not self._excludes(path)


class Probe:
    """The current state of a path: a `file`, a `problem` in words, `excluded`, or none of these: nothing to read."""

    def __init__(self, path: str, filters: Filters, *, symlinks: bool, literal: bool) -> None:
        self.path = path
        self.file: ScannedFile | None = None
        self.problem: str | None = None
        self.excluded = False
        self.is_link = False
        self.watch = os.path.dirname(path)
        self._filters = filters
        self._symlinks = symlinks
        self._literal = literal

    def refresh(self, *, full: bool) -> bool:
        """Inspect the path again; True if anything about it has changed."""
        before = (self.file, self.problem, self.excluded, self.watch)
        self.problem, self.watch = None, os.path.dirname(self.path)
        self.is_link = False
        try:
            status = os.lstat(self.path)
            self.is_link = stat.S_ISLNK(status.st_mode)
            if not self.is_link or self._symlinks:
                self._see(os.stat(self.path) if self.is_link else status, full)
            else:
                self._leave(f"is a symbolic link, which is not read: {READ_LINKS}" if self._literal else None)
        except OSError as error:
            self._refused(error)
        return (self.file, self.problem, self.excluded, self.watch) != before

    def _see(self, status: os.stat_result, full: bool) -> None:
        if not stat.S_ISREG(status.st_mode):
            kind = _KINDS.get(stat.S_IFMT(status.st_mode), "something else")
            self._leave(f"is {kind}, not a regular file" if self._literal else None)
        elif full or self.file is None or self.file.key != (status.st_dev, status.st_ino):
            paths = {self.path, os.path.realpath(self.path) if self.is_link else self.path}
            self.excluded = not all(self._filters.let_through(path) for path in paths)
            self.file = None if self.excluded else ScannedFile.of(self.path, status)

    def _leave(self, problem: str | None) -> None:
        self.file, self.excluded, self.problem = None, False, problem

    def _refused(self, error: OSError) -> None:
        """Take the error of an inspection. A path that exists but cannot be inspected at the moment keeps its state."""
        if error.errno not in MISSING_ERRORS:
            self.problem = f"cannot be accessed: {error.strerror}"
        elif self.is_link:
            self._leave(f"is a symbolic link that leads nowhere: {os.path.realpath(self.path)}: {error.strerror}")
        else:
            self._leave(None)
            self.watch = deepest_directory(self.path)
