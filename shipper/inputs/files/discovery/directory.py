"""Keep the last listing of a directory, so that an unchanged directory need not be listed again.

A directory is listed when its stamp has changed: its identity and its times of change. Two changes within one tick of
the file system's clock give the same stamp, so a listing is relied on only if it was made some time after its stamp was
first seen; until then the directory is listed at every scan. That time is measured with our own monotonic clock: a
network share's clock may differ. A directory that cannot be listed at the moment keeps its last listing.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from operator import itemgetter

from log_shipper.config.text.globs import Wildcard
from log_shipper.shipper.inputs.files.discovery.symlinks import ANY_NAME, Inode, PathHistory, Place, Symlinks

LONG_ENDING = 16  # characters: shorter endings match many files
TICK = 2.0  # seconds: FAT's resolution, the coarsest known
# A link in a circle does not lead to a directory either.
MISSING_ERRORS = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP}


@dataclass(frozen=True, slots=True)
class ScannedFile:
    """A regular file that a pattern matched. `size` in bytes, `modified` in unix seconds, `changed` (ctime) in
    nanoseconds, as of its first inspection or the last full scan."""

    path: str
    inode: Inode
    size: int
    modified: float
    changed: int = 0

    @classmethod
    def from_status(cls, path: str, status: os.stat_result) -> "ScannedFile":
        return cls(path, (status.st_dev, status.st_ino), status.st_size, status.st_mtime, status.st_ctime_ns)


class Kind(Enum):
    FILE = 1
    DIRECTORY = 2
    LINK = 3
    OTHER = 4


@dataclass(slots=True, eq=False)
class DirectoryEntry:
    """A name in a directory. `inode` is the listed one: at a mount point, another file is read. `file` is valid once
    the entry `is_checked`."""

    inode: int
    kind: Kind
    file: ScannedFile | None = None
    is_checked: bool = False


class Directory:
    """A directory and its last listing. `key` is None while it does not exist; `problem` is the reason why it cannot be
    listed; `version` differs after each change. `progressed` is Heart.beat (base.py)."""

    def __init__(
        self, path: str, symlinks: Symlinks, monotonic: Callable[[], float], progressed: Callable[[], None]
    ) -> None:
        self.path = path
        self.prefix = os.path.join(path, "")
        self.key: Inode | None = None
        self.problem: str | None = None
        self._symlinks = symlinks
        self._trail = PathHistory(path, symlinks, includes_last=False)
        self._monotonic = monotonic
        self._progressed = progressed
        self._names: dict[str, DirectoryEntry] = {}
        self._matching: dict[str, list[tuple[str, DirectoryEntry]]] = {}
        self._by_ending: dict[int, dict[str, list[str]]] = {}  # names by their last characters
        self.version = 0
        self._subdirectories: list[tuple[str, DirectoryEntry]] | None = None
        self._stamp = (0, 0, 0, 0)
        self._seen = 0.0
        self._reliable = False
        self._listed = False
        self.is_whole = False  # listed while nothing changed

    def matching(self, segment: Wildcard) -> list[tuple[str, DirectoryEntry]]:
        known = self._matching.get(segment.text)
        if known is None:
            matches = segment.regex.fullmatch
            matched = sorted(filter(matches, self._ending_with(long_ending(segment))))
            known = self._matching[segment.text] = [(name, self._names[name]) for name in matched]
        return known

    def _ending_with(self, ending: str) -> Iterable[str]:
        """Return the names with this ending. Matching each name against thousands of patterns, one per container, would
        take seconds."""
        if not ending:
            return self._names
        length = len(ending)
        index = self._by_ending.get(length)
        if index is None:
            index = self._by_ending[length] = {}
            for name in self._names:
                index.setdefault(name[-length:], []).append(name)
        return index.get(ending, ())

    @property
    def subdirectories(self) -> list[tuple[str, DirectoryEntry]]:
        """The entries that are directories, or links that may lead to one; sorted by name."""
        if self._subdirectories is None:
            entries = [pair for pair in self._names.items() if pair[1].kind in (Kind.DIRECTORY, Kind.LINK)]
            self._subdirectories = sorted(entries, key=itemgetter(0))
        return self._subdirectories

    @property
    def places(self) -> tuple[Place, ...]:
        """Return the places to watch: all names of the directory, the links that lead to it, and where the first
        missing directory above it would appear."""
        return self._trail.places if self.key is None else (*self._trail.places, (self.path, ANY_NAME))

    def refresh(self, *, full: bool) -> bool:
        """List the directory again if that could show a change. Return True if anything changed."""
        before = (self.key, self.problem, self._trail.places)
        self._listed = self.is_whole = False
        changed = self._look(full) or (self.key, self.problem, self._trail.places) != before
        self._progressed()
        self.version += changed
        return changed

    @property
    def is_torn(self) -> bool:
        """Return True if the directory changed during or since its listing: a file renamed meanwhile can be missing
        under both names."""
        if not self._listed:
            return False
        try:
            self.is_whole = _stamp(os.stat(self.path)) == self._stamp
        except OSError:
            self.is_whole = False
        self._progressed()
        return not self.is_whole

    def _look(self, full: bool) -> bool:
        started = self._monotonic()
        try:
            status = os.stat(self.path)
        except OSError as error:
            return self._refused(error, "accessed", full)
        if not stat.S_ISDIR(status.st_mode):
            return self._missing(full)
        key, stamp = (status.st_dev, status.st_ino), _stamp(status)
        self._trail.update(key, again=full)
        if stamp == self._stamp:
            if self._reliable and not full:
                return False
        else:
            self._stamp, self._seen = stamp, self._monotonic()
        if key != self.key:
            self._replace({}, True)  # the same inodes on another device are other files
            self._symlinks.moved.add(self.path)
        self.key = key
        return self._list(full, reliable=started - self._seen >= TICK)

    def _list(self, full: bool, *, reliable: bool) -> bool:
        names: dict[str, DirectoryEntry] = {}
        known, changed = self._names, False
        try:
            with os.scandir(self.path) as entries:
                for entry in entries:
                    kind, inode = kind_of(entry), entry.inode()
                    name = known.get(entry.name)
                    if name is None or name.inode != inode or name.kind is not kind:
                        name, changed = DirectoryEntry(inode, kind), True
                    names[entry.name] = name
                    self._progressed()  # the next one may be read from the disk, and a kind may need a look at it
        except OSError as error:
            return self._refused(error, "listed", full)
        if full:
            for name in names.values():
                name.is_checked = False
        self.problem, self._reliable, self._listed = None, reliable, True
        return self._replace(names, changed or len(names) != len(known))

    def _replace(self, names: dict[str, DirectoryEntry], changed: bool) -> bool:
        if changed:
            self._names = names
            self._matching = {}
            self._by_ending = {}
            self._subdirectories = None
        return changed

    def _refused(self, error: OSError, what: str, full: bool) -> bool:
        if error.errno in MISSING_ERRORS:
            return self._missing(full)
        self.problem = f"the directory cannot be {what}: {error.strerror}"
        self._trail.update(self.key, again=full, counts=False)
        self._reliable = False
        return False

    def _missing(self, full: bool) -> bool:
        self.key = self.problem = None
        self._trail.update(None, again=full)
        self._reliable = False
        return self._replace({}, bool(self._names))


def long_ending(segment: Wildcard) -> str:
    """Return the ending of all names that the segment matches; empty if it is too short to be selective."""
    return segment.ending if len(segment.ending) >= LONG_ENDING else ""


def _stamp(status: os.stat_result) -> tuple[int, int, int, int]:
    return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_ctime_ns


def kind_of(entry: "os.DirEntry[str]") -> Kind:
    """Return the type of an entry. Most file systems list it with the name; others need a stat."""
    try:
        if entry.is_file(follow_symlinks=False):
            return Kind.FILE
        if entry.is_dir(follow_symlinks=False):
            return Kind.DIRECTORY
        return Kind.LINK if entry.is_symlink() else Kind.OTHER
    except OSError:
        return Kind.FILE  # possibly; the inspection of the file reports the error


def inode_at(path: str) -> Inode | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino
