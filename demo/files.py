"""The log files on disk: the reference for topic and table."""

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from log_shipper.registry.state import FileState

CHUNK = 1 << 20
_LINE_END = re.compile(rb"[^\n]\n")  # of a line that is not empty: the shipper sends no empty lines
Key = tuple[int, int]  # device, inode: identifies a file across renames


@dataclass(slots=True)
class LineCount:
    """Counts lines, except empty ones, up to an increasing position; reads each byte once."""

    position: int = 0
    lines: int = 0
    _last: bytes = b"\n"  # the byte before the position

    def count_to(self, handle: int, position: int) -> int:
        while self.position < position:
            data = os.pread(handle, min(CHUNK, position - self.position), self.position)
            if not data:
                break
            self.position += len(data)
            self.lines += len(_LINE_END.findall(self._last + data))
            self._last = data[-1:]
        return self.lines


@dataclass(slots=True)
class FileOnDisk:
    """One file that the shipper reads, kept open across renames."""

    path: Path  # at the last scan
    handle: int
    written: LineCount = field(default_factory=LineCount)
    read: LineCount = field(default_factory=LineCount)
    acknowledged: LineCount = field(default_factory=LineCount)

    @property
    def size(self) -> int:
        return os.fstat(self.handle).st_size

    def whole_lines(self) -> int:
        """Return the number of bytes up to and including the last line end."""
        end = self.size
        while end > 0:
            start = max(end - CHUNK, 0)
            index = os.pread(self.handle, end - start, start).rfind(b"\n")
            if index >= 0:
                return start + index + 1
            end = start
        return 0

    def head(self, size: int) -> bytes:
        return os.pread(self.handle, size, 0)


@dataclass(frozen=True, slots=True)
class Counts:
    """Lines of all files together."""

    written: int
    read: int
    acknowledged: int


class LogFiles:
    """All files that match the patterns, by device and inode; a file stays after it is renamed or deleted."""

    def __init__(self, patterns: Iterable[Path]) -> None:
        self._patterns = tuple(patterns)
        self.by_key: dict[Key, FileOnDisk] = {}

    def scan(self) -> None:
        """Find new files, and new names of known ones."""
        for pattern in self._patterns:
            for path in sorted(pattern.parent.glob(pattern.name)):
                self._add(path)

    def counts(self, registry: Mapping[str, FileState]) -> Counts:
        """Count written, read and acknowledged lines; the latter two by the positions in `registry`."""
        states = {(state.device, state.inode): state for state in registry.values()}
        written = read = acknowledged = 0
        for key, file in self.by_key.items():
            written += file.written.count_to(file.handle, file.size)
            if (state := states.get(key)) is not None:
                read += file.read.count_to(file.handle, max(state.size_seen, state.position))
                acknowledged += file.acknowledged.count_to(file.handle, state.position)
        return Counts(written, read, acknowledged)

    def close(self) -> None:
        for file in self.by_key.values():
            os.close(file.handle)
        self.by_key.clear()

    def _add(self, path: Path) -> None:
        try:
            handle = os.open(path, os.O_RDONLY)
        except FileNotFoundError:  # renamed since the listing: the next scan finds the new name
            return
        status = os.fstat(handle)
        key = (status.st_dev, status.st_ino)
        if key in self.by_key:
            os.close(handle)
            self.by_key[key].path = path
        else:
            self.by_key[key] = FileOnDisk(path, handle)
