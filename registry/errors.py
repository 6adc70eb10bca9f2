"""The errors of a registry; each message names the file and what to do.

    RegistryError
    ├── RegistryLocked         another process has locked the directory
    ├── RegistryCorrupt        bytes that were once on disk are damaged or missing
    ├── RegistryForeignVersion written in the form of another release
    ├── RegistryMisplaced      what is at its path is not a directory, or not a plain file
    └── RegistryReplaced       while it was in use, another took its place

A disk that refuses a write (full, read-only) raises a plain OSError: that may pass, these do not.

`disk_error` says of what SQLite raises whether it is one.
"""

from __future__ import annotations

import errno
import os
import sqlite3
from pathlib import Path

# SQLite's codes for the disk; any other is about the content of the database.
_ERRNO = {
    sqlite3.SQLITE_PERM: errno.EACCES,
    sqlite3.SQLITE_BUSY: errno.EBUSY,
    sqlite3.SQLITE_LOCKED: errno.EBUSY,
    sqlite3.SQLITE_READONLY: errno.EROFS,
    sqlite3.SQLITE_IOERR: errno.EIO,
    sqlite3.SQLITE_FULL: errno.ENOSPC,
    sqlite3.SQLITE_CANTOPEN: errno.EACCES,
    sqlite3.SQLITE_PROTOCOL: errno.ENOLCK,
}
_SQLITE_SAYS_MORE = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PROTOCOL}


class RegistryError(Exception):
    pass


class RegistryLocked(RegistryError):
    def __init__(self, directory: Path, pid: int | None) -> None:
        self.pid = pid
        holder = "another process" if pid is None else f"process {pid}"
        super().__init__(f"registry {directory} is in use by {holder}; stop it or use another path.data")


class RegistryReplaced(RegistryError):
    """Raised in the process that was the writer so far: two writers would undo each other's work."""

    def __init__(self, directory: Path, why: str) -> None:
        super().__init__(
            f"registry {directory} was replaced while in use: {why}. This process ends; the next one continues with "
            "the new registry"
        )


class RegistryCorrupt(RegistryError):
    def __init__(self, file: Path, why: str, offset: int | None = None) -> None:
        self.file = file
        place = "" if offset is None else f" at byte {offset}"
        super().__init__(
            f"registry file {file} is damaged{place}: {why}. Restore {file.parent} from a backup, or move it away to "
            "start without positions (all files are then shipped again from the start)"
        )


class RegistryForeignVersion(RegistryError):
    def __init__(self, file: Path, version: int, known: int) -> None:
        self.file = file
        self.version = version
        super().__init__(
            f"registry file {file} has format version {version}; this release supports only version {known}. Run the "
            f"release that wrote it, or move {file.parent} away to start without positions (all files are then "
            "shipped again from the start)"
        )


class RegistryMisplaced(RegistryError):
    """Raised where something else is at the registry's path. If it counted as a missing registry, every file would be
    shipped again from its start."""

    def __init__(self, path: Path, why: str) -> None:
        self.path = path
        super().__init__(f"registry {path} {why}")


def code_of(error: sqlite3.Error) -> int:
    """Return SQLite's extended result code, SQLITE_ERROR for an error of the module sqlite3 itself."""
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)


def disk_error(error: sqlite3.Error, file: Path) -> OSError | None:
    """Return the error as one of the disk; None if it is about the database's content."""
    result = code_of(error) & 0xFF
    code = _ERRNO.get(result)
    if code is None:
        return None
    return OSError(code, str(error) if result in _SQLITE_SAYS_MORE else os.strerror(code), str(file))
