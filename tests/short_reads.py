"""A file that is read in pieces of chosen sizes."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from log_shipper.shipper.reader.log_file import LogFile


class ShortReads:
    """A pread that returns fewer new bytes than it could: the next of `sizes`, behind those that were read before."""

    def __init__(self, offset: int, sizes: Iterator[int]) -> None:
        self._read_to = offset
        self._sizes = sizes

    def __call__(self, fd: int, size: int, offset: int) -> bytes:
        known = self._read_to - offset
        if size > known:  # else it is the check of known bytes with which opening begins
            size = min(size, known + next(self._sizes, size))
        data = os.pread(fd, size, offset)
        self._read_to = max(self._read_to, offset + len(data))
        return data


class LogOnDisk:
    """A file of a test that can be opened many times; `close` closes all descriptors, after which it may be rewritten
    and opened again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fds: list[int] = []

    def write(self, content: bytes) -> None:
        self.path.write_bytes(content)

    def append(self, content: bytes) -> None:
        with self.path.open("ab") as file:
            file.write(content)

    def open(self, offset: int = 0, cuts: tuple[int, ...] = (), sizes: Iterable[int] = ()) -> LogFile:
        fd = os.open(self.path, os.O_RDONLY)
        self._fds.append(fd)
        return LogFile(fd, offset, cuts, ShortReads(offset, iter(sizes)))

    def close(self) -> None:
        while self._fds:
            os.close(self._fds.pop())
