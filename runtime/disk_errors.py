"""What to do about errors of the disk, and what is raised where a path leads to something else than the file or
directory that is needed there.

    Misplaced
    ├── DanglingLink      a symlink whose target does not exist
    ├── LinkedFile        a symlink to a file, where a rename must replace the file itself
    ├── NotPlainFile      a directory, FIFO, socket or device
    └── NotDirectory      a file, where a directory is needed

The message names what the path leads to. The caller adds what to do about it, which depends on the content.
"""

import errno
from pathlib import Path


class Misplaced(Exception):
    """Base class of these errors. Not an OSError: repeating the call does not help."""

    def __init__(self, path: Path, problem: str) -> None:
        self.path = path
        self.problem = problem
        super().__init__(f"{path} {problem}")


class DanglingLink(Misplaced):
    def __init__(self, path: Path, target: str) -> None:
        super().__init__(path, f"is a symlink to {target}, which does not exist")


class LinkedFile(Misplaced):
    def __init__(self, path: Path, target: str) -> None:
        super().__init__(path, f"is a symlink to {target}, which a rename would replace")


class NotPlainFile(Misplaced):
    def __init__(self, path: Path) -> None:
        super().__init__(path, "is not a regular file")


class NotDirectory(Misplaced):
    def __init__(self, path: Path) -> None:
        super().__init__(path, "is a file, but must be a directory")


_ADVICE = {
    errno.ENOSPC: "free some space there",
    errno.EDQUOT: "raise the disk quota of the shipper's user",
    errno.EROFS: "make the file system writable again",
    errno.EACCES: "give the shipper's user write permission there",
    errno.EPERM: "give the shipper's user write permission there",
    errno.EBUSY: "stop the program that has locked it",
    errno.EIO: "check the disk and the kernel's log",
}


def advice_for(error: OSError) -> str:
    """Return what to do about a disk error, for the log."""
    return _ADVICE.get(error.errno or 0, "check this file system")
