"""Exclusive locks on files and directories: flock(2), which belongs to the open file and ends with the process."""

import errno
import fcntl
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

Lock = Callable[[int], None]

# From file systems without locks, or whose lock service is down: NFS without lockd, some FUSE.
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL)


class FileInUse(OSError):
    """Raised when another open file has the lock. `pid` is its process, if the kernel shows it."""

    def __init__(self, path: Path, pid: int | None) -> None:
        self.pid = pid
        holder = "another process" if pid is None else f"process {pid}"
        super().__init__(errno.EWOULDBLOCK, f"in use by {holder}", str(path))


def flock(fd: int) -> None:
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


def lock_exclusively(fd: int, path: Path, lock: Lock = flock) -> OSError | None:
    """Lock the open file or directory until it is closed. Return None, or the error of a file system without locks, for
    the caller to decide. Raises FileInUse, and OSError for temporary errors.
    """
    try:
        lock(fd)
    except BlockingIOError:
        raise FileInUse(path, _holder(fd)) from None
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise
        return error
    return None


def _holder(fd: int) -> int | None:
    """Return the process that has the lock, if the system shows it: proc(5), /proc/locks."""
    status = os.fstat(fd)
    file = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    with suppress(OSError):
        for line in Path("/proc/locks").read_text(encoding="ascii").splitlines():
            fields = line.split()
            if "FLOCK" in fields and file in fields:
                pid = fields[fields.index(file) - 1]
                return int(pid) if pid.isdigit() and pid != "0" else None
    return None
