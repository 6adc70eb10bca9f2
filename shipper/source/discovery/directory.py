"""What a directory held when it was listed last, so that it need not be listed again.

It is listed when its stamp moved: which directory it is, and when it changed. Two changes within one tick of the file
system's clock give the same stamp, so a listing is relied on only if it was made a while after its stamp was seen
first; until then the directory is listed at every scan. Only our own monotonic clock is asked for that: a network
share's may differ from ours. What cannot be listed at the moment is taken to hold what it held.
"""

import errno
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from operator import itemgetter

from config.text.globs import Wildcard

FileKey = tuple[int, int]  # device, inode

TICK = 2.0  # seconds: FAT's, the longest known
# A link that leads round in a circle leads to no directory either.
MISSING_ERRORS = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP}


@dataclass(frozen=True, slots=True)
class ScannedFile:
    """A regular file that a pattern matched; `size` in bytes, `modified` in unix seconds, `changed` (ctime) in
    nanoseconds, all of when it was first looked at, or looked at in full."""

    path: str
    key: FileKey
    size: int
    modified: float
    changed: int = 0

    @classmethod
    def of(cls, path: str, status: os.stat_result) -> "ScannedFile":
        return cls(path, (status.st_dev, status.st_ino), status.st_size, status.st_mtime, status.st_ctime_ns)


class Kind(Enum):
    FILE = 1
    DIRECTORY = 2
    LINK = 3
    OTHER = 4


@dataclass(slots=True, eq=False)
class Name:
    """A name in a directory. `inode` is the directory's word for it: for a file that another is mounted over, it is not
    the inode that one gets to read. `file` counts once it was looked at."""

    inode: int
    kind: Kind
    file: ScannedFile | None = None
    looked_at: bool = False


class Directory:
    """`key` is None while no directory is there, `problem` tells in words why it cannot be looked through."""

    def __init__(self, path: str, monotonic: Callable[[], float]) -> None:
        self.path = path
        self.prefix = os.path.join(path, "")
        self.key: FileKey | None = None
        self.problem: str | None = None
        self.watch = path  # where to wait for news of it: itself, or the deepest directory above that is there
        self._monotonic = monotonic
        self._names: dict[str, Name] = {}
        self._matching: dict[str, list[tuple[str, Name]]] = {}
        self._ways: list[tuple[str, Name]] | None = None
        self._stamp = (0, 0, 0, 0)
        self._seen = 0.0
        self._reliable = False
        self._listed = False

    def matching(self, segment: Wildcard) -> list[tuple[str, Name]]:
        known = self._matching.get(segment.text)
        if known is None:
            matches = segment.regex.fullmatch
            matched = sorted(filter(matches, self._names))
            known = self._matching[segment.text] = [(name, self._names[name]) for name in matched]
        return known

    @property
    def ways(self) -> list[tuple[str, Name]]:
        """What may lead to another directory."""
        if self._ways is None:
            file = [(name, entry) for name, entry in self._names.items() if entry.kind in (Kind.DIRECTORY, Kind.LINK)]
            self._ways = sorted(file, key=itemgetter(0))
        return self._ways

    def refresh(self, *, full: bool) -> bool:
        """List it again if that could tell something new. Whether anything about it is not as before."""
        before = (self.key, self.problem, self.watch)
        self._listed = False
        moved = self._look(full)
        return moved or (self.key, self.problem, self.watch) != before

    @property
    def is_torn(self) -> bool:
        """True if it changed while it was listed, or since: a file renamed meanwhile can be missing by both names."""
        if not self._listed:
            return False
        try:
            return _stamp(os.stat(self.path)) != self._stamp
        except OSError:
            return True

    def _look(self, full: bool) -> bool:
        started = self._monotonic()
        try:
            status = os.stat(self.path)
        except OSError as error:
            return self._refused(error, "looked at")
        if not stat.S_ISDIR(status.st_mode):
            return self._missing()
        key, stamp = (status.st_dev, status.st_ino), _stamp(status)
        if stamp == self._stamp:
            if self._reliable and not full:
                return False
        else:
            self._stamp, self._seen = stamp, self._monotonic()
        if key != self.key:
            self._replace({}, True)  # the same inodes on another device are other files
        self.key, self.watch = key, self.path
        return self._list(full, reliable=started - self._seen >= TICK)

    def _list(self, full: bool, *, reliable: bool) -> bool:
        names: dict[str, Name] = {}
        known, moved = self._names, False
        try:
            with os.scandir(self.path) as entries:
                for entry in entries:
                    kind, inode = kind_of(entry), entry.inode()
                    name = known.get(entry.name)
                    if name is None or name.inode != inode or name.kind is not kind:
                        name, moved = Name(inode, kind), True
                    names[entry.name] = name
        except OSError as error:
            return self._refused(error, "listed")
        if full:
            for name in names.values():
                name.looked_at = False
        self.problem, self._reliable, self._listed = None, reliable, True
        return self._replace(names, moved or len(names) != len(known))

    def _replace(self, names: dict[str, Name], moved: bool) -> bool:
        if moved:
            self._names = names
            self._matching = {}
            self._ways = None
        return moved

    def _refused(self, error: OSError, what: str) -> bool:
        if error.errno in MISSING_ERRORS:
            return self._missing()
        self.problem = f"the directory cannot be {what}: {error.strerror}"
        self.watch = self.path if self.key is not None else deepest_directory(self.path)
        self._reliable = False
        return False

    def _missing(self) -> bool:
        self.key = self.problem = None
        self.watch = deepest_directory(self.path)
        self._reliable = False
        return self._replace({}, bool(self._names))


def _stamp(status: os.stat_result) -> tuple[int, int, int, int]:
    return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_ctime_ns


def kind_of(entry: "os.DirEntry[str]") -> Kind:
    """Most file systems tell the kind with the name; where they do not, this is a stat for each."""
    try:
        if entry.is_file(follow_symlinks=False):
            return Kind.FILE
        if entry.is_dir(follow_symlinks=False):
            return Kind.DIRECTORY
        return Kind.LINK if entry.is_symlink() else Kind.OTHER
    except OSError:
        return Kind.FILE  # perhaps: looking at it will tell why one cannot


def deepest_directory(path: str) -> str:
    """The last directory on the way to a path that is there now: what comes next can only come through it."""
    while path != "/":
        path = os.path.dirname(path)
        if os.path.isdir(path):
            break
    return path
