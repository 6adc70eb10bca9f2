"""Recognise NULs at the end of a file as padding, which is not content: its writer has reserved the space, and will
fill it.

log4j2's MemoryMappedFileAppender maps a region longer than its content; others allocate before they write. The data of
such a writer become visible byte by byte, in any order: a NUL with content after it may belong to a half-written line.
So it is read again a moment later. A NUL that is still there then is content: the hole that copytruncate leaves under a
writer that does not append, of which line.py takes no text.
"""

import errno
import os
import time
from collections.abc import Callable

from log_shipper.shipper.reader.log_file import READ_SIZE, read_fully

FIRST_WINDOW = 4096
MAX_READ = 64 * 1024 * 1024
SETTLED = 0.01  # seconds after which a NUL with content after it counts as content
SCANNED_FOR = 5.0  # seconds for which known NULs are not scanned again, unless they are to be read
_NULS = [bytes(size) for size in (64 * 1024, 1024, 64, 8, 1)]  # compared as a whole, which costs a hundredth of rstrip


def end_of_content(data: bytes, start: int, unit: int) -> int:
    """Return how many of the bytes at offset `start` of a file come before the NULs at their end. `unit`: bytes of the
    smallest character; in UTF-16 half of one may be NUL."""
    end = len(data)
    for nuls in _NULS:
        while data.endswith(nuls, 0, end):
            end -= len(nuls)
    return min(end + -(start + end) % unit, len(data))


def _start_of_content(data: bytes) -> int:
    start = 0
    for nuls in _NULS:
        while data.startswith(nuls, start):
            start += len(nuls)
    return start


def _first_nul(data: bytes, start: int, unit: int) -> int:
    """Return the index of the first NUL character; -1 if there is none."""
    index = data.find(bytes(unit))
    while index >= 0 and (start + index) % unit:
        index = data.find(bytes(unit), index + 1)
    return index


def content_size(fd: int, unit: int, most: int = MAX_READ) -> int | None:
    """Return the size of a file without the NULs at its end. None if more than `most` of them are on disk, not in a
    hole: then they count as content, because scanning them takes too long. Raises OSError."""
    end, window, left = os.fstat(fd).st_size, FIRST_WINDOW, most
    while end and left > 0:
        start = max(end - window, 0)
        data_at = _next_data(fd, start)
        if data_at is None or data_at >= end:
            end, window = start, window * 2
        elif window > READ_SIZE:
            window //= 2  # the hole begins within it
        else:
            data = read_fully(fd, end - start, start)
            content = end_of_content(data, start, unit)
            if content:
                return start + content
            end, window, left = start, min(window * 2, READ_SIZE), left - len(data)
    return None if end else 0


def _next_data(fd: int, start: int) -> int | None:
    """Return the first offset that is not in a hole of the file; None at its end."""
    try:
        return os.lseek(fd, start, os.SEEK_DATA)
    except OSError as error:
        # A file system without holes says EINVAL, ENOTSUP or else; a read shows what cannot be read.
        return None if error.errno == errno.ENXIO else start


def is_filled_to(fd: int, size: int, unit: int) -> bool:
    """Return True unless the last character before `size` is NUL: space that its writer may still fill. Raises
    OSError."""
    start = max(size - unit, 0)
    last = os.pread(fd, size - start, start)
    return end_of_content(last, start, unit) == len(last) if unit else True


class Padding:
    """The padding of an open file, found in the blocks read from it. `busy`: the scan continues soon."""

    __slots__ = ("_content_to", "_doubtful", "_now", "_scanned_at", "_scanned_to", "_unit", "busy", "end", "leading")

    def __init__(self, unit: int, now: Callable[[], float] = time.monotonic) -> None:
        """Take `unit` as in end_of_content; 0: NULs are content, because they end lines."""
        self.busy = False
        self.end = 0  # the file's size if only NULs follow what was read; else 0
        self.leading = 0  # bytes of a hole with which the file begins, if it is larger than a read
        self._unit = unit
        self._now = now
        self._content_to = 0  # everything before it is content, including NULs
        self._doubtful = -1, 0.0  # where a NUL with content after it was found, and when first
        self._scanned_to = 0
        self._scanned_at = 0.0

    def content(self, fd: int, data: bytes, start: int) -> int:
        """Return how many bytes of the block read at `start` are content. Raises OSError."""
        self.busy, self.end = False, 0
        whole = len(data)
        if not self._unit or not data or data[-1] or start + whole <= self._content_to:
            return whole
        end = end_of_content(data, start, self._unit)
        if end == whole:
            return end
        nul = _first_nul(data[:end], start, self._unit)
        if nul >= 0:
            content_to = start + end
        elif end:
            return end
        else:
            index = self._scan(fd, start + whole)
            if index is None:
                return 0
            nul, end, content_to = 0, whole, index
        if not self._is_settled(start + nul):
            self.busy = True
            return nul
        self._content_to = content_to
        if not start and end == whole and not nul:
            self.leading = content_to
        return end

    def _is_settled(self, place: int) -> bool:
        now = self._now()
        if self._doubtful[0] != place:
            self._doubtful = place, now
        return now - self._doubtful[1] >= SETTLED

    def _scan(self, fd: int, start: int) -> int | None:
        """Return the offset at which content continues after the NULs; None if it does not, or is not known yet: one
        read at a time."""
        size, now = os.fstat(fd).st_size, self._now()
        if size < self._scanned_to or now - self._scanned_at > SCANNED_FOR:
            self._scanned_to, self._scanned_at = 0, now
        offset = _next_data(fd, max(start, self._scanned_to))
        data = os.pread(fd, READ_SIZE, offset) if offset is not None else b""
        if offset is None or not data:
            self._scanned_to = self.end = size
            return None
        nuls = _start_of_content(data)
        if nuls < len(data):
            return offset + nuls
        self._scanned_to = offset + nuls
        self.busy = True
        return None
