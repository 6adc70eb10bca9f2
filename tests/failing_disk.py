"""A file system that fails for some open files, as one does whose server is gone: no file of a test can do that."""

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class FailingDisk:
    """The descriptors for which the system refuses to tell or read anything, after it did so `calls` times. Even to
    close one is an error, but then its number is free."""

    def __init__(self) -> None:
        self.refused: dict[int, int] = {}
        self._close = os.close

    def refuse(self, fd: int, calls: int = 0) -> None:
        self.refused[fd] = calls

    def refusing(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def refuse(fd: int, *rest: Any) -> Any:
            if fd in self.refused:
                self.refused[fd] -= 1
                if self.refused[fd] < 0:
                    raise OSError(errno.EIO, os.strerror(errno.EIO))
            return call(fd, *rest)

        return refuse

    def close(self, fd: int) -> None:
        self._close(fd)
        if self.refused.pop(fd, None) is not None:
            raise OSError(errno.EIO, os.strerror(errno.EIO))


@contextmanager
def failing_disk() -> Iterator[FailingDisk]:
    """Let the system fail in this process until the end of the block."""
    disk = FailingDisk()
    fstat, pread, close = os.fstat, os.pread, os.close
    os.fstat, os.pread, os.close = disk.refusing(fstat), disk.refusing(pread), disk.close
    try:
        yield disk
    finally:
        os.fstat, os.pread, os.close = fstat, pread, close
