"""Reads the raw bytes of an open file from an offset, as long as its content is unchanged.

Each read begins a little before the offset and compares those bytes with the previous read, in the same system call: so
a truncated file, even one that has grown past the old position, is noticed before any new content is taken for a
continuation of the old.
"""

import os
from collections.abc import Callable

from log_shipper.shipper.errors import Truncated

READ_SIZE = 256 * 1024
# Reads of short lines are smaller, because each line costs memory besides its bytes, and one read is one batch.
READ_LINES = 8192
FIRST_READ = 2 * READ_LINES
TAIL_SIZE = 256

Pread = Callable[[int, int, int], bytes]


def read_fully(fd: int, size: int, offset: int, pread: Pread | None = None) -> bytes:
    """Return the `size` bytes at `offset`, fewer only at the end of the file. Raises OSError.

    If a page cannot be read (EIO), the kernel returns the bytes before it without an error (filemap_read). Only a read
    that begins in the page fails.
    """
    pread = pread or os.pread
    data = pread(fd, size, offset)
    while 0 < len(data) < size and (more := pread(fd, size - len(data), offset + len(data))):
        data += more
    return data


class LogFile:
    """Reads forward from `offset`, at most `READ_SIZE` bytes at a time, and stops at each of `cuts`."""

    start = 0
    busy = False
    complete = False  # it may always grow

    def __init__(self, fd: int, offset: int, cuts: tuple[int, ...] = (), pread: Pread | None = None) -> None:
        self.fd = fd
        self.offset = offset
        self._cuts = sorted({cut for cut in cuts if cut > offset})
        self._pread = pread or os.pread
        self._read_size = FIRST_READ
        self._tail = read_fully(fd, min(offset, TAIL_SIZE), max(offset - TAIL_SIZE, 0), pread)

    def next(self) -> bytes:
        """Return the next bytes; empty at the end of the file. Raises Truncated, OSError."""
        size = self._read_size
        if self._cuts:
            size = min(size, self._cuts[0] - self.offset)
        known = self._tail
        data = self._read(len(known) + size, self.offset - len(known))
        if not data.startswith(known):
            raise Truncated(os.fstat(self.fd).st_size)
        if len(data) == len(known):
            return b""
        self.offset += len(data) - len(known)
        self._tail = data[-TAIL_SIZE:]
        fresh = data[len(known) :]
        line_size = len(fresh) // (fresh.count(b"\n") + 1) + 1
        self._read_size = min(READ_SIZE, line_size * READ_LINES)
        return fresh

    def _read(self, size: int, start: int) -> bytes:
        """Read in one system call, because the known bytes must be as old as the new ones. If nothing new came, the
        next byte shows whether the file ends there, or cannot be read (read_fully)."""
        data = self._pread(self.fd, size, start)
        end = start + len(data)
        if len(data) < size and end <= self.offset and self._pread(self.fd, 1, end):
            data = self._pread(self.fd, size, start)  # the file has grown, or can be read now
        return data

    def at_end(self) -> bool:
        return os.fstat(self.fd).st_size == self.offset

    def require_complete(self) -> None:
        pass  # a plain file always has its end

    def head(self, length: int) -> bytes:
        return os.pread(self.fd, length, 0)

    @property
    def cuts(self) -> tuple[int, ...]:
        return tuple(self._cuts)

    def cut_here(self) -> None:
        self._cuts.insert(0, self.offset)

    def pop_cut(self) -> bool:
        """Return True, once per cut, if the bytes read so far end at one."""
        if self._cuts and self._cuts[0] == self.offset:
            del self._cuts[0]
            return True
        return False
