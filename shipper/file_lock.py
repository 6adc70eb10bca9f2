"""One process alone may write to a file: flock(2), which goes with the open file and ends with the process."""

import errno
import fcntl
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

Lock = Callable[[int], None]

# Of a file system that knows no locks, or whose lock service does not run: NFS without lockd, some FUSE.
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL)


class FileInUse(OSError):
    """Another process writes to the file."""

    def __init__(self, path: Path, pid: int | None) -> None:
        holder = "another process" if pid is None else f"process {pid}"
        super().__init__(errno.EWOULDBLOCK, f"it is in use by {holder}", str(path))


def flock(fd: int) -> None:
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


def lock_alone(fd: int, path: Path, lock: Lock = flock) -> OSError | None:
    """Hold the file until it is closed. Returns why the file system cannot lock it, where that is so. Raises FileInUse,
    and OSError for what may pass."""
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
    """The process that has locked the file, where the system tells: proc(5), /proc/locks."""
    found = os.fstat(fd)
    file = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
    with suppress(OSError):
        for line in Path("/proc/locks").read_text(encoding="ascii").splitlines():
            fields = line.split()
            if "FLOCK" in fields and file in fields:
                pid = fields[fields.index(file) - 1]
                return int(pid) if pid.isdigit() and pid != "0" else None
    return None
