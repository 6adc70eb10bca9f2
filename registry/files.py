"""The registry's door to the disk: every operation on files of this package goes through `DiskFiles`, SQLite's by the
connections that it makes. The tests have others, among them a disk that crashes between any two operations.

No file of a database may be opened here while a connection to it is open: closing it would take away SQLite's locks
(fcntl belongs to the process). The exception is its log (-wal), on which there are none."""

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
BUSY_TIMEOUT = 1.0  # seconds that a change waits for another program that has the database locked

Identity = tuple[int, int]  # device and inode

_ADVICE: dict[type[Misplaced], str] = {
    DanglingLink: "mount or make that, or remove the symlink to begin without positions (every file is then shipped"
    " again from its start)",
    LinkedFile: "move the file here, or link the directory",
    NotPlainFile: "move it away, and restore the file from a backup if there is one",
    NotDirectory: "move it away or set another path.data",
}


@contextmanager
def translated() -> Iterator[None]:
    """Raise a Misplaced as RegistryMisplaced, with what to do about it."""
    try:
        yield
    except Misplaced as error:
        raise RegistryMisplaced(error.path, f"{error.problem}; {_ADVICE[type(error)]}") from error


class Lock:
    """Two locks. The one on the directory counts: no one can remove it and let a second writer in. The one on the file
    is for file systems that do not lock directories (NFS)."""

    def __init__(self, directory: int, file: int) -> None:
        self._directory = directory
        self._file = file

    def is_at(self, directory: Path) -> bool:
        """True if the path still leads to the directory that is locked, and where that cannot be determined."""
        return leads_to(directory, self._directory)

    def close(self) -> None:
        os.close(self._file)
        os.close(self._directory)


def _lock_both(directory: Path, directory_fd: int, file: int) -> None:
    """Take both locks. Raises FileInUse where another process has one of them."""
    try:
        lock_exclusively(directory_fd, directory)
    except FileInUse:
        raise
    except OSError:
        pass  # the file system does not lock directories, for whatever reason it gives
    if refusal := lock_exclusively(file, directory / LOCK):
        raise refusal


class DiskFiles:
    """Every method may block on the disk and raise OSError, and RegistryMisplaced where it opens or creates
    something."""

    def __init__(self, file_mode: int | None = None, directory_mode: int = 0o750) -> None:
        """Without `file_mode` new files get 600, and existing ones keep what they have."""
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
                # The kernel's own list of locks is empty in another container; the lock file's text is not.
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
        """Return what distinguishes a plain file from another of its name, None if there is no file."""
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
        """Make an empty file in place of what is there."""
        path.unlink(missing_ok=True)  # not emptied: it could be a symlink to, or a name of, someone else's file
        with translated():
            os.close(open_plain(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, self._file_mode))

    def connect(self, path: Path) -> sqlite3.Connection:
        """Open a database for one thread at a time, without transactions of Python's own. Raises sqlite3.Error."""
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
        except OSError as error:  # another user's, or a file system without permissions
            _logger.warning(
                "%s: its permissions cannot be made %03o, as registry.file_permissions asks (%s); it is used as it is. "
                "Let the user that runs the shipper own it, or set what it has",
                path,
                self._file_mode,
                error.strerror,
            )

    def rename(self, source: Path, target: Path) -> None:
        source.rename(target)

    def fsync_dir(self, directory: Path) -> None:
        fsync_directory(directory)
