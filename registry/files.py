"""The one door to the disk. `registry.testing.MemoryFiles` is the other implementation: a disk that crashes."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import Protocol

from registry.errors import RegistryLocked


class File(Protocol):
    """An open file that is written at its end. Every method may block on the disk and raise OSError."""

    def write(self, data: bytes) -> int:
        """Bytes taken, which may be fewer than given: then the rest is to be offered again."""

    def fsync(self) -> None:
        """After it returned, the bytes written so far survive a power failure; the file's name need not."""

    def truncate(self, size: int) -> None: ...

    def close(self) -> None: ...


class Files(Protocol):
    """Every method may block on the disk and raise OSError."""

    def lock(self, directory: Path) -> File:
        """Makes the directory if needed, and holds it until the result is closed. Raises RegistryLocked."""

    def read(self, path: Path) -> bytes | None:
        """None when there is no such file."""

    def open(self, path: Path, fresh: bool = False) -> File:
        """For appending; `fresh` makes it, or empties it."""

    def rename(self, source: Path, target: Path) -> None: ...

    def fsync_dir(self, directory: Path) -> None:
        """After it returned, the renames done so far survive a power failure."""


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

    def close(self) -> None:
        os.close(self._descriptor)


class DiskFiles:
    def __init__(self, file_mode: int = 0o600, directory_mode: int = 0o750) -> None:
        self._file_mode = file_mode
        self._directory_mode = directory_mode

    def lock(self, directory: Path) -> DiskFile:
        self._make(directory)
        # Not emptied by opening: the bytes are the holder's pid until the lock is ours.
        descriptor = os.open(directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, self._file_mode)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(descriptor, 20, 0).strip()
            os.close(descriptor)
            raise RegistryLocked(directory, int(holder) if holder.isdigit() else None) from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, b"%d\n" % os.getpid(), 0)
        return DiskFile(descriptor)

    def _make(self, directory: Path) -> None:
        if directory.is_dir():
            return
        self._make(directory.parent)
        directory.mkdir(self._directory_mode, exist_ok=True)
        self.fsync_dir(directory.parent)  # or a power failure takes the directory, with all that was fsynced in it

    def read(self, path: Path) -> bytes | None:
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return None

    def open(self, path: Path, fresh: bool = False) -> DiskFile:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | (os.O_CREAT | os.O_TRUNC if fresh else 0)
        return DiskFile(os.open(path, flags, self._file_mode))

    def rename(self, source: Path, target: Path) -> None:
        source.rename(target)

    def fsync_dir(self, directory: Path) -> None:
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
