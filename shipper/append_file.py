"""A file to which whole lines are appended, while other programs may rename, remove or truncate it (logrotate).

One agent writes to it: it is locked (flock), so bytes after the last sync are its own, and are truncated if a write
fails. Without locks, on some file systems, nothing is truncated, because it could be another program's: a partial line
gets a line end and stays, and so does anything that others append meanwhile.

Because others may change the path at any time, each sync is followed by a check (`holds_all`): is this still the file
at the path, with the full length? Then it was so after the bytes were on disk, and a program that renames it to
compress it finds them. If not, they may be in a file that was compressed before or is deleted, and are written again.
"""

import errno
import logging
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import orjson

from log_shipper.runtime.disk import fsync_directory, make_directory
from log_shipper.runtime.disk_errors import Misplaced
from log_shipper.runtime.locking import Lock, flock, lock_exclusively

logger = logging.getLogger(__name__)


class AppendFile:
    """An open file. Methods may block on the disk and raise OSError, or FileInUse when opening. Used by one thread.

    After `append` raised OSError, none of the data counts as written; after `sync` did, `holds_all` is false.
    """

    def __init__(
        self,
        path: Path,
        fsync: Callable[[int], None] = os.fsync,
        lock: Lock = flock,
        *,
        with_directory: bool = False,
        mode: int = 0o600,
    ) -> None:
        """Open the file. `with_directory`: create its missing directory too. `mode`: of a new file."""
        self._path = path
        self._with_directory = with_directory
        self._mode = mode
        self._fsync = fsync
        self._lock = lock
        self._fd = -1
        self._identity = (0, 0)
        self._locked = True
        self._size = 0  # by our writes; others may have added to it, or truncated it
        self._synced = 0
        self._shared = False  # another program has written after `_synced`
        self._broken = False  # a write or a sync failed: the bytes after `_synced` are unreliable
        self._open()

    @property
    def size(self) -> int:
        """Return the size, including appended data."""
        return self._size

    @property
    def unsynced(self) -> int:
        """Return the bytes appended since the last sync."""
        return self._size - self._synced

    def holds_all(self) -> bool:
        """Return True if this is still the file at its path, with all appended data. If not, call `recover`."""
        try:
            status = os.stat(self._path)
        except (FileNotFoundError, NotADirectoryError):
            return False
        return not self._broken and _identity(status) == self._identity and status.st_size >= self._size

    def append(self, data: bytes) -> None:
        """Append `data`, whole lines."""
        end = os.fstat(self._fd).st_size
        if end and os.pread(self._fd, 1, end - 1) != b"\n":
            data = b"\n" + data  # a partial line of another program gets a line of its own
        self._shared = self._shared or end > self._size
        # Not `end` if that is smaller: the file was truncated since the last check, and the next check must notice.
        start = self._size = max(self._size, end)
        rest = memoryview(data)
        try:
            while rest:  # a nearly full disk takes a part, and refuses the next call
                written = os.write(self._fd, rest)
                self._size += written
                rest = rest[written:]
        except OSError:
            self._broken = True  # unless the cut succeeds
            self._cut(start)
            self._broken = False
            raise

    def sync(self) -> None:
        """Write to disk. Afterwards, if `holds_all`, all appended data survives a power failure."""
        self._broken = True
        self._fsync(self._fd)
        self._broken = self._shared = False
        self._synced = self._size

    def recover(self) -> None:
        """Return to the last sync, in the file that is now at the path. The caller appends later data again."""
        if self._is_at_path():
            size = os.fstat(self._fd).st_size
            if size < self._size and not self._broken:
                logger.warning(
                    "%s was truncated by another program: records that it had not copied yet are lost. Use "
                    "'create' in logrotate instead of 'copytruncate'; no signal is needed",
                    self._path,
                )
            # After a failed sync the kernel may have dropped pages, and reports that only once: a later sync succeeds
            # without them. So they are written again.
            if not self._shared:
                self._cut(self._synced)
            self._size = self._synced = os.fstat(self._fd).st_size
        else:
            self._open()
        self._broken = self._shared = False

    def close(self) -> None:
        os.close(self._fd)

    def _is_at_path(self) -> bool:
        with suppress(FileNotFoundError, NotADirectoryError):
            return _identity(os.stat(self._path)) == self._identity
        return False

    def _cut(self, end: int) -> None:
        """Truncate to `end`, unless another program has appended to the file or truncated it."""
        if self._locked and os.fstat(self._fd).st_size == self._size:
            os.ftruncate(self._fd, end)
            self._size = end

    def _open(self) -> None:
        """Open the file at the path, created if missing, and close the previous one."""
        if self._with_directory:
            _make_directory(self._path.parent)
        is_new = not self._path.exists()
        fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK | os.O_CLOEXEC, self._mode)
        try:
            if is_new:
                os.fchmod(fd, self._mode)  # whatever the umask
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise OSError(errno.EINVAL, "not a regular file", str(self._path))
            locked = self._try_lock(fd)
            size = _cut_torn_record(fd) if locked else os.fstat(fd).st_size
            # Otherwise a power failure could remove the file with its fsynced data.
            fsync_directory(Path(os.path.realpath(self._path)).parent)
        except OSError:
            os.close(fd)
            raise
        last, self._fd, self._locked = self._fd, fd, locked
        self._identity = _identity(os.fstat(fd))
        self._size = self._synced = size
        if last >= 0:
            with suppress(OSError):  # a network file system may no longer know it
                self._log_what_happened_to(last)
            with suppress(OSError):
                os.close(last)

    def _try_lock(self, fd: int) -> bool:
        refusal = lock_exclusively(fd, self._path, self._lock)
        if refusal is not None and self._locked:  # logged once
            logger.warning(
                "%s cannot be locked: %s. Make sure that no other agent writes to it", self._path, refusal.strerror
            )
        return refusal is None

    def _log_what_happened_to(self, fd: int) -> None:
        if os.fstat(fd).st_nlink:
            logger.info("%s was renamed: new records go to a new file at this path", self._path)
        else:
            logger.warning(
                "%s was removed: its records are lost unless it was compressed first. New records go to a "
                "new file at this path",
                self._path,
            )


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _make_directory(directory: Path) -> None:
    try:
        make_directory(directory)
    except Misplaced as error:  # a file, or a symlink to nothing
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(error.path)) from error


def _cut_torn_record(fd: int) -> int:
    """Truncate a partial record that a killed writer left, and return the size. Anything else is another program's: a
    record without line end after editing, or a foreign file."""
    size = os.fstat(fd).st_size
    start = size
    while start > 0:
        step = min(start, 65536)
        newline = os.pread(fd, step, start - step).rfind(b"\n")
        if newline >= 0:
            start += newline + 1 - step
            break
        start -= step
    if os.pread(fd, 1, start) != b"{" or _is_document(os.pread(fd, size - start, start)):
        return size
    os.ftruncate(fd, start)
    return start


def _is_document(data: bytes) -> bool:
    try:
        orjson.loads(data)
    except orjson.JSONDecodeError:
        return False
    return True
