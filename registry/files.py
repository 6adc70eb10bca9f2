"""Access the disk for the registry: every file operation of this package goes through `DiskFiles`, SQLite's through the
connections that it makes. The tests replace it, for example by a disk that crashes between any two operations.

No file of a database may be opened here while a connection to it is open: closing it would release SQLite's locks
(fcntl locks belong to the process). The exception is its log (-wal), which has none.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from log_shipper.registry.errors import RegistryLocked, RegistryMisplaced
from log_shipper.runtime.disk import (
    fsync_directory,
    leads_to,
    make_directory,
    open_plain,
    refuse_dangling,
)
from log_shipper.runtime.disk_errors import DanglingLink, LinkedFile, Misplaced, NotDirectory, NotPlainFile
from log_shipper.runtime.locking import FileInUse, lock_exclusively

_logger = logging.getLogger(__name__)

LOCK = "lock"
BUSY_TIMEOUT = 1.0  # seconds for which a change waits for another program that locks the database

Identity = tuple[int, int]  # device and inode

_ADVICE: dict[type[Misplaced], str] = {
    DanglingLink: (
        "mount or create it, or remove the symlink to start without positions (all files are then shipped again from "
        "the start)"
    ),
    LinkedFile: "move the file here, or link the directory instead",
    NotPlainFile: "move it away, and restore the file from a backup if there is one",
    NotDirectory: "move it away or set another path.data",
}


@contextmanager
def translated() -> Iterator[None]:
    """Raise a Misplaced as RegistryMisplaced, with the action to take."""
    try:
        yield
    except Misplaced as error:
        raise RegistryMisplaced(error.path, f"{error.problem}; {_ADVICE[type(error)]}") from error


class Lock:
    """Two locks. The one on the directory counts: no one can remove it and let a second writer in. The one on the file
    is for file systems that cannot lock directories (NFS)."""

    def __init__(self, directory: int, file: int) -> None:
        self._directory = directory
        self._file = file

    def is_at(self, directory: Path) -> bool:
        """Return True if the path still leads to the locked directory, or if that cannot be determined."""
        return leads_to(directory, self._directory)

    def close(self) -> None:
        os.close(self._file)
        os.close(self._directory)


def _lock_both(directory: Path, directory_fd: int, file: int) -> None:
    """Take both locks. Raises FileInUse if another process has one of them."""
    try:
        lock_exclusively(directory_fd, directory)
    except FileInUse:
        raise
    except OSError:
        pass  # the file system cannot lock directories, for whatever reason
    if refusal := lock_exclusively(file, directory / LOCK):
        raise refusal


class DiskFiles:
    """The file operations of the registry. Each may block on the disk and raise OSError, and RegistryMisplaced if it
    opens or creates something."""

    def __init__(self, file_mode: int | None = None, directory_mode: int = 0o750) -> None:
        """Set the mode of new files: 600 without `file_mode`, and existing files keep theirs."""
        self._file_mode = 0o600 if file_mode is None else file_mode
        self._keeps_modes = file_mode is None
        self._directory_mode = directory_mode

    def lock(self, directory: Path) -> Lock:
        """Create the directory if needed, and keep other processes out until the lock is closed. Raises
        RegistryLocked."""
        with translated(), ExitStack() as undo:
            make_directory(directory, self._directory_mode, owned_as_parent=True)
            directory_fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            undo.callback(os.close, directory_fd)
            # Not emptied by opening: the bytes are the holder's pid until the lock is ours.
            file = open_plain(directory / LOCK, os.O_RDWR | os.O_CREAT, self._file_mode)
            undo.callback(os.close, file)
            try:
                _lock_both(directory, directory_fd, file)
            except FileInUse:
                # The kernel's list of locks is empty in another container; the lock file's text is not.
                holder = os.pread(file, 20, 0).strip()
                raise RegistryLocked(directory, int(holder) if holder.isdigit() else None) from None
            os.ftruncate(file, 0)
            os.pwrite(file, b"%d\n" % os.getpid(), 0)
            undo.pop_all()
        return Lock(directory_fd, file)

    def read(self, path: Path) -> bytes | None:
        """Return the content, or None if there is no such file."""
        with translated():
            try:
                descriptor = open_plain(path, os.O_RDONLY)
            except FileNotFoundError:
                for parent in path.parents:
                    refuse_dangling(parent)
                return None
        with open(descriptor, "rb") as file:
            return file.read()

    def identity(self, path: Path) -> Identity | None:
        """Return the identity of a plain file, None if there is no file."""
        with translated():
            try:
                status = path.lstat()
            except FileNotFoundError:
                for parent in path.parents:
                    refuse_dangling(parent)
                return None
            if stat.S_ISLNK(status.st_mode):
                refuse_dangling(path)
                raise LinkedFile(path, os.readlink(path))
            if not stat.S_ISREG(status.st_mode):
                raise NotPlainFile(path)
        return status.st_dev, status.st_ino

    def create(self, path: Path) -> None:
        """Create an empty file, replacing an existing one."""
        path.unlink(missing_ok=True)  # not truncated: it could be a symlink to, or a name of, someone else's file
        with translated():
            os.close(open_plain(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, self._file_mode))

    def connect(self, path: Path) -> sqlite3.Connection:
        """Open a database for one thread at a time, without Python's transactions. Raises sqlite3.Error."""
        return sqlite3.connect(path, timeout=BUSY_TIMEOUT, isolation_level=None, check_same_thread=False)

    def fsync(self, path: Path) -> None:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def unlink(self, path: Path) -> None:
        path.unlink(missing_ok=True)

    def give_mode(self, path: Path) -> None:
        """Give an existing file the permissions of a new one: it may have been created under other options. Raises
        nothing."""
        if self._keeps_modes:
            return
        with suppress(OSError, Misplaced):  # the next reader or writer reports that
            descriptor = open_plain(path, os.O_RDONLY)
            try:
                self._change_mode(path, descriptor)
            finally:
                os.close(descriptor)

    def _change_mode(self, path: Path, descriptor: int) -> None:
        try:
            if stat.S_IMODE(os.fstat(descriptor).st_mode) != self._file_mode:
                os.fchmod(descriptor, self._file_mode)
        except OSError as error:  # another user's file, or a file system without permissions
            _logger.warning(
                "%s: cannot set its permissions to %03o (registry.file_permissions): %s; continuing with its "
                "current ones. Make the shipper's user its owner, or set registry.file_permissions to its current "
                "ones",
                path,
                self._file_mode,
                error.strerror,
            )

    def rename(self, source: Path, target: Path) -> None:
        source.rename(target)

    def fsync_dir(self, directory: Path) -> None:
        fsync_directory(directory)
