"""Which files do the paths name now. A scan is the truth about files; events only say when to look earlier."""

import glob
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field

FileKey = tuple[int, int]  # device, inode


@dataclass(frozen=True, slots=True)
class Found:
    """A regular file that a glob matched; `size` in bytes, `modified` in unix seconds."""

    path: str
    key: FileKey
    size: int
    modified: float


@dataclass(slots=True)
class Listing:
    """Files by key, so that links to one file count once; `problems` tells what is wrong with a path, in words."""

    files: dict[FileKey, Found] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    directories: set[str] = field(default_factory=set)


def scan(patterns: Iterable[str]) -> Listing:
    listing = Listing()
    for pattern in patterns:
        listing.directories.add(_fixed_directory(pattern))
        paths = sorted(glob.glob(pattern, recursive=True, include_hidden=True))
        # Counted, not looked up in the listing: another pattern may have found the same file.
        if not sum([_look(path, listing) for path in paths]):
            listing.problems[pattern] = _why_nothing(_fixed_directory(pattern))
    return listing


def _look(path: str, listing: Listing) -> bool:
    """Whether it is a regular file, or might be one."""
    listing.directories.add(os.path.dirname(path))
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return False  # it went between listing and looking: the next scan tells
    except OSError as error:
        listing.problems[path] = f"cannot be looked at: {error.strerror}"
        return True
    if not stat.S_ISREG(status.st_mode):
        return False
    key = (status.st_dev, status.st_ino)
    listing.files.setdefault(key, Found(path, key, status.st_size, status.st_mtime))
    return True


def _why_nothing(directory: str) -> str:
    """glob takes a directory that it may not read for an empty one."""
    try:
        os.scandir(directory).close()
    except OSError as error:
        return f"no file matches it: {directory}: {error.strerror}"
    return "no file matches it"


def _fixed_directory(pattern: str) -> str:
    """The deepest directory of a pattern that contains no wildcard: there, new matches can only come through it."""
    directory = os.path.dirname(pattern)
    while glob.has_magic(directory):
        directory = os.path.dirname(directory)
    return directory or "."
