"""Files and directories whose content and name survive a power failure."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from log_shipper.runtime.disk_errors import DanglingLink, LinkedFile, Misplaced, NotDirectory, NotPlainFile


class AppendedFile(Protocol):
    """An open file with writes at its end. Every method may block on the disk and raise OSError."""

    def write(self, data: bytes) -> int:
        """Write and return the number of bytes written, which may be fewer than given: the caller writes the rest."""

    def fsync(self) -> None:
        """Make all bytes written so far survive a power failure. The name of the file may still be lost."""

    def truncate(self, size: int) -> None: ...

    def close(self) -> None: ...


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


def write_all(file: AppendedFile, data: bytes) -> None:
    taken = file.write(data)
    while taken < len(data):  # a nearly full disk first accepts a part, and refuses the next call
        taken += file.write(data[taken:])


def fsync_directory(directory: Path) -> None:
    """Make all names created, renamed and removed in the directory so far survive a power failure."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_directory(directory: Path, mode: int = 0o777, *, owned_as_parent: bool = False) -> None:
    """Create the directory and its missing parents. Raises Misplaced, OSError."""
    if directory.is_dir():
        return
    make_directory(directory.parent, mode, owned_as_parent=owned_as_parent)
    refuse_dangling(directory)
    try:
        directory.mkdir(mode, exist_ok=True)
    except FileExistsError:
        raise NotDirectory(directory) from None
    if owned_as_parent:
        give_to_owner_of_parent(directory)
    # Otherwise, a power failure may remove the directory with everything fsynced in it.
    fsync_directory(directory.parent)


def replace_file(path: Path, content: bytes, mode: int = 0o600) -> None:
    """Write the whole file; after a crash at any time it has the old content or the new. Raises OSError."""
    temporary = path.with_name(f"{path.name}.tmp")
    temporary.unlink(missing_ok=True)  # not truncated: it could be a symlink or another name of someone else's file
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        give_to_owner_of_parent(temporary)
        write_all(DiskFile(descriptor), content)
        os.fsync(descriptor)  # otherwise, the name could survive a power failure without the content
    except OSError:
        with suppress(OSError):
            temporary.unlink()
        raise
    finally:
        os.close(descriptor)
    temporary.rename(path)
    fsync_directory(path.parent)


def open_plain(path: Path, flags: int, mode: int = 0) -> int:
    """Return the descriptor of a regular file. Symlinks are refused, because a rename replaces them instead of their
    target; so are directories, FIFOs and devices, which could block forever. Raises Misplaced, OSError.
    """
    made = bool(flags & os.O_CREAT) and not path.exists()
    try:
        descriptor = os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, mode)
    except OSError as error:
        if error.errno == errno.ELOOP:
            refuse_dangling(path)
            raise LinkedFile(path, os.readlink(path)) from error
        if error.errno in (errno.EISDIR, errno.ENXIO):
            raise NotPlainFile(path) from error
        raise
    try:
        if made:
            give_to_owner_of_parent(path)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise NotPlainFile(path)
    except (OSError, Misplaced):
        os.close(descriptor)
        raise
    return descriptor


def read_file(path: Path, max_bytes: int = -1) -> bytes:
    """Return the content of a regular file, or its first bytes. Never blocks. Raises Misplaced, OSError."""
    with open(open_plain(path, os.O_RDONLY), "rb") as file:
        return file.read(max_bytes)


def give_to_owner_of_parent(path: Path) -> None:
    """Give a file that root created (`sudo shipper registry forget`) the owner of its directory: the agent's user, who
    could not open it otherwise.
    """
    if os.geteuid() == 0:
        owner = path.parent.stat()
        with suppress(PermissionError):  # root of an NFS client may be mapped to an unprivileged user
            os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)


def refuse_dangling(path: Path) -> None:
    """Raise DanglingLink for a symlink without a target: an unmounted disk must not look like a missing file."""
    if path.is_symlink() and not path.exists():
        raise DanglingLink(path, os.readlink(path))


def leads_to(path: Path, descriptor: int) -> bool:
    """Return True if the path leads to the open file or directory, or if that cannot be determined."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
