"""A file system that fails for some open files, as one does whose server is gone, or for a page of a file, as a damaged
disk does: no file of a test can do that."""

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PAGE = 4096


class FailingDisk:
    """The descriptors for which the system refuses to tell or read anything, after it did so `calls` times. Even to
    close one is an error, but then its number is free.

    `bad_pages`: by inode, the offset of a page that cannot be read. `bad_reads`: how many more reads fail to read it.
    """

    def __init__(self) -> None:
        self.refused: dict[int, int] = {}
        self.bad_pages: dict[int, int] = {}
        self.bad_reads = 0
        self._close = os.close
        self._fstat = os.fstat
        self._pread = os.pread

    def refuse(self, fd: int, calls: int = 0) -> None:
        self.refused[fd] = calls

    def damage(self, path: Path, page: int, reads: int = 1_000_000) -> None:
        """Make the page with this number unreadable, for that many reads that meet it."""
        self.bad_pages[path.stat().st_ino] = page * PAGE
        self.bad_reads = reads

    def repair(self) -> None:
        self.bad_pages.clear()

    def pread(self, fd: int, size: int, offset: int) -> bytes:
        """Read as the kernel does (filemap_read): up to a page that cannot be read, without an error. Only a read that
        begins in that page fails, unless it begins at the end of the file."""
        status = self._fstat(fd)
        page = self.bad_pages.get(status.st_ino)
        if page is None or not self.bad_reads or offset >= min(page + PAGE, status.st_size) or offset + size <= page:
            return self._pread(fd, size, offset)
        self.bad_reads -= 1
        if offset >= page:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return self._pread(fd, page - offset, offset)

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
    os.fstat, os.pread, os.close = disk.refusing(fstat), disk.refusing(disk.pread), disk.close
    try:
        yield disk
    finally:
        os.fstat, os.pread, os.close = fstat, pread, close
