"""The one door to the disk. `registry.testing.MemoryFiles` is the other implementation: a disk that crashes."""

from __future__ import annotations

import fcntl
import logging
import os
import stat
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

from registry.errors import RegistryLocked, RegistryMisplaced
from registry.plain_file import give_away, leads_to, open_plain, refuse_dangling

_logger = logging.getLogger(__name__)

LOCK = "lock"


class File(Protocol):
    """An open file that is written at its end. Every method may block on the disk and raise OSError."""

    def write(self, data: bytes) -> int:
        """Bytes taken, which may be fewer than given: then the rest is to be offered again."""

    def fsync(self) -> None:
        """After it returned, the bytes written so far survive a power failure; the file's name need not."""

    def truncate(self, size: int) -> None: ...

    def is_at(self, path: Path) -> bool:
        """Whether the path still leads to this file; True where that cannot be told."""

    def close(self) -> None: ...


class Lock(Protocol):
    def is_at(self, directory: Path) -> bool:
        """Whether the path still leads to the directory that is locked; True where that cannot be told."""

    def close(self) -> None: ...


class Files(Protocol):
    """Every method may block on the disk and raise OSError."""

    def lock(self, directory: Path) -> Lock:
        """Makes the directory if needed, and holds it until the result is closed. Raises RegistryLocked."""

    def read(self, path: Path) -> bytes | None:
        """None when there is no such file."""

    def open(self, path: Path, fresh: bool = False) -> File:
        """For appending; `fresh` makes it, or empties it."""

    def rename(self, source: Path, target: Path) -> None: ...

    def fsync_dir(self, directory: Path) -> None:
        """After it returned, the renames done so far survive a power failure."""

    def give_mode(self, path: Path) -> None:
        """Give a file that may have been made under other options the permissions of a new one. Raises nothing."""


def write_all(file: File, data: bytes) -> None:
    taken = file.write(data)
    while taken < len(data):  # a disk that is nearly full takes a part first, and refuses on the next call
        taken += file.write(data[taken:])


class DiskFile:
    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def write(self, data: bytes) -> int:
        return os.write(self._descriptor, data)

    def fsync(self) -> None:
        os.fsync(self._descriptor)

    def truncate(self, size: int) -> None:
        os.ftruncate(self._descriptor, size)

    def is_at(self, path: Path) -> bool:
        return leads_to(path, self._descriptor)

    def close(self) -> None:
        os.close(self._descriptor)


class DiskLock:
    """Two locks. That of the directory is the one that counts: nobody can remove it and let a second writer in. That of
    the file keeps out releases that know no other, and works on file systems that do not lock directories (NFS)."""

    def __init__(self, directory: int, file: int) -> None:
        self._directory = directory
        self._file = file

    def is_at(self, directory: Path) -> bool:
        return leads_to(directory, self._directory)

    def close(self) -> None:
        os.close(self._file)
        os.close(self._directory)


def _flock_directory(descriptor: int) -> None:
    """Raises BlockingIOError when another process has it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:
        pass  # the file system does not lock directories


class DiskFiles:
    def __init__(self, file_mode: int | None = None, directory_mode: int = 0o750) -> None:
        """Without `file_mode` new files get 600, and those that are there keep what they have."""
        self._file_mode = 0o600 if file_mode is None else file_mode
        self._keeps_modes = file_mode is None
        self._directory_mode = directory_mode

    def lock(self, directory: Path) -> DiskLock:
        self.make(directory)
        with ExitStack() as undo:
            place = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            undo.callback(os.close, place)
            # Not emptied by opening: the bytes are the holder's pid until the lock is ours.
            file = open_plain(directory / LOCK, os.O_RDWR | os.O_CREAT, self._file_mode)
            undo.callback(os.close, file)
            try:
                _flock_directory(place)
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = os.pread(file, 20, 0).strip()
                raise RegistryLocked(directory, int(holder) if holder.isdigit() else None) from None
            os.ftruncate(file, 0)
            os.pwrite(file, b"%d\n" % os.getpid(), 0)
            undo.pop_all()
        return DiskLock(place, file)

    def make(self, directory: Path) -> None:
        """The directory, and those above it, unless they are there. Raises RegistryMisplaced."""
        if directory.is_dir():
            return
        self.make(directory.parent)
        refuse_dangling(directory)
        try:
            directory.mkdir(self._directory_mode, exist_ok=True)
            give_away(directory)
        except FileExistsError:
            why = "is a file, and a directory is needed there; move it away or set another path.data"
            raise RegistryMisplaced(directory, why) from None
        self.fsync_dir(directory.parent)  # or a power failure takes the directory, with all that was fsynced in it

    def read(self, path: Path) -> bytes | None:
        try:
            descriptor = open_plain(path, os.O_RDONLY)
        except FileNotFoundError:
            for each in path.parents:
                refuse_dangling(each)
            return None
        with open(descriptor, "rb") as file:
            return file.read()

    def open(self, path: Path, fresh: bool = False) -> DiskFile:
        if fresh:
            path.unlink(missing_ok=True)  # not emptied: it could be a symlink to, or a name of, somebody else's file
        flags = os.O_WRONLY | os.O_APPEND | (os.O_CREAT | os.O_EXCL if fresh else 0)
        return DiskFile(open_plain(path, flags, self._file_mode))

    def give_mode(self, path: Path) -> None:
        if self._keeps_modes:
            return
        try:
            descriptor = open_plain(path, os.O_RDONLY)
        except OSError:
            return  # whoever reads or writes it says so
        try:
            if stat.S_IMODE(os.fstat(descriptor).st_mode) != self._file_mode:
                os.fchmod(descriptor, self._file_mode)
        except OSError as error:  # another user's, or a file system without permissions
            _logger.warning(
                "%s: its permissions cannot be made %03o, as registry.file_permissions asks (%s); it is used as it is. "
                "Let the user that runs the shipper own it, or set what it has",
                path, self._file_mode, error.strerror,
            )  # fmt: skip
        finally:
            os.close(descriptor)

    def rename(self, source: Path, target: Path) -> None:
        source.rename(target)

    def fsync_dir(self, directory: Path) -> None:
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
