"""A disk in memory that crashes: the other implementation of `SegmentFiles` (the queue's).

What a power failure may do to bytes and names that were not fsynced (POSIX promises no more):

- appended bytes are lost, kept, or torn: a part of them, zeros, zeros before the end;
- bytes that were cut off are back, whether they had been fsynced or the kernel wrote them by itself;
- each new name or rename is there or not, independently of the others;
- bytes of an fsync that failed are taken for written: a later fsync does not write them.
"""

from __future__ import annotations

import errno
import itertools
import os
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from pathlib import Path
from typing import TypeVar


class Crash(BaseException):
    """The machine stopped. No OSError and no Exception: nothing may survive it by catching it."""


def _common(old: bytes, new: bytes) -> int:
    pairs = enumerate(zip(old, new, strict=False))
    return next((offset for offset, (left, right) in pairs if left != right), min(len(old), len(new)))


Node = TypeVar("Node")


class _Node:
    """One file: what is on disk, and what is in the page cache."""

    def __init__(self, durable: bytes = b"", cached: bytes = b"") -> None:
        self.durable = durable
        self.cached = cached
        self.cut: bytes | None = None  # the content before a truncate that was not fsynced
        self.forgotten = (0, 0)  # bytes from, to: a failed fsync marked them as written

    def fsync(self) -> None:
        start, end = self.forgotten
        self.durable = self.cached[:start] + b"\0" * (end - start) + self.cached[end:]
        self.cut = None

    def fail_fsync(self) -> None:
        self.forgotten = (_common(self.durable, self.cached), len(self.cached))

    def truncate(self, size: int) -> None:
        self.cut = self.cached
        self.cached = self.cached[:size]
        start, end = self.forgotten
        self.forgotten = (min(start, size), min(end, size))  # later bytes are new, and will be written out

    def outcomes(self) -> list[bytes]:
        """Return what a power failure may leave, the worst case first."""
        if self.cut is None:
            return self._outcomes(self.durable)
        return [*self._outcomes(self.durable), *self._outcomes(self.cut)]

    def _outcomes(self, old: bytes) -> list[bytes]:
        new = self.cached
        if old == new:
            return [old]
        start = _common(old, new)
        middle = (start + len(new)) // 2
        zeros = b"\0" * (middle - start)
        torn = [
            new[:middle],
            new[: max(start, len(new) - 1)],
            new[:middle] + b"\0" * (len(new) - middle),
            new[:start] + zeros + new[middle:],
        ]
        return [old, *torn, new + old[len(new) :], new]


class _MemoryFile:
    def __init__(self, disk: CrashingFiles, node: _Node) -> None:
        self._disk = disk
        self._node = node

    def write(self, data: bytes) -> int:
        self._disk.operate("write", lambda: self._add(data[: len(data) // 2]))
        taken = data[: self._disk.take_room(len(data))]
        self._add(taken)
        return len(taken)

    def _add(self, data: bytes) -> None:
        self._node.cached += data

    def fsync(self) -> None:
        try:
            self._disk.operate("fsync")
        except OSError:
            self._node.fail_fsync()
            raise
        self._node.fsync()

    def truncate(self, size: int) -> None:
        self._disk.operate("truncate")
        self._node.truncate(size)

    def close(self) -> None:
        pass


class CrashingFiles:
    """Stops at operation number `crash_at`, and refuses those of `fail_at` with that errno.

    Operations are numbered from 1 and recorded in `trace`; one that fails or crashes may be half done. After a Crash,
    `killed()` and `survivors()` give the disk as it is then.
    """

    def __init__(self, crash_at: int | None = None, fail_at: Mapping[int, int] | None = None) -> None:
        self.trace: list[str] = []
        self.room: int | None = None  # bytes until the disk is full
        self._crash_at = crash_at
        self._fail_at = dict(fail_at or {})
        self._crashed = False
        self._durable: dict[Path, _Node] = {}
        self._names: dict[Path, _Node] = {}
        self._renames: list[dict[Path, _Node | None]] = []  # since the last fsync_dir; None: the name was removed

    def operate(self, name: str, partly: Callable[[], None] = lambda: None) -> None:
        if not self._crashed:
            self.trace.append(name)
            self._crashed = len(self.trace) == self._crash_at
            code = self._fail_at.get(len(self.trace))
            if self._crashed or code:
                partly()
            if code and not self._crashed:
                raise OSError(code, os.strerror(code))
        if self._crashed:
            raise Crash(f"at operation {self._crash_at}, {self.trace[-1]}")

    def take_room(self, size: int) -> int:
        if self.room is None:
            return size
        if self.room == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        taken = min(size, self.room)
        self.room -= taken
        return taken

    def read(self, path: Path) -> bytes | None:
        node = self._names.get(path)
        return None if node is None else node.cached

    def read_at(self, path: Path, offset: int, size: int) -> bytes:
        return self._names[path].cached[offset : offset + size]

    def stop_reading(self) -> None:
        pass

    def sizes(self, directory: Path) -> dict[str, int]:
        return {path.name: len(node.cached) for path, node in self._names.items() if path.parent == directory}

    def unlink(self, path: Path) -> None:
        self.operate("unlink")
        if path in self._names:
            self._rename({path: None})

    def open(self, path: Path, fresh: bool = False) -> _MemoryFile:
        self.operate("open")
        if path not in self._names:
            if not fresh:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
            self._rename({path: _Node()})
        elif fresh:
            self._names[path].truncate(0)
        return _MemoryFile(self, self._names[path])

    def _rename(self, change: dict[Path, _Node | None]) -> None:
        self._renames.append(change)
        apply_renames(self._names, change)

    def fsync_dir(self, directory: Path) -> None:
        self.operate("fsync_dir")
        self._renames.clear()
        self._durable = dict(self._names)

    def put(self, path: Path, data: bytes) -> None:
        """Add a file that has been on disk for long."""
        self._names[path] = self._durable[path] = _Node(data, data)

    def killed(self, crash_at: int | None = None) -> CrashingFiles:
        """Return the disk after the process was killed, but not the machine: the page cache is not on disk yet."""
        again = CrashingFiles(crash_at)
        nodes = {id(node): copy(node) for node in (*self._durable.values(), *self._names.values())}
        again._durable = {path: nodes[id(node)] for path, node in self._durable.items()}
        again._names = {path: nodes[id(node)] for path, node in self._names.items()}
        again._renames = [
            {path: node and nodes.get(id(node), node) for path, node in change.items()} for change in self._renames
        ]
        return again

    def survivors(self) -> Iterator[CrashingFiles]:
        """Yield every disk that a power failure may leave."""
        for kept in itertools.product((False, True), repeat=len(self._renames)):
            names = dict(self._durable)
            for change in itertools.compress(self._renames, kept):
                apply_renames(names, change)
            for contents in itertools.product(*(node.outcomes() for node in names.values())):
                disk = CrashingFiles()
                for path, content in zip(names, contents, strict=True):
                    disk.put(path, content)
                yield disk


def apply_renames(names: dict[Path, Node], change: Mapping[Path, Node | None]) -> None:
    """Change the names of files: None removes one."""
    for path, node in change.items():
        if node is None:
            names.pop(path, None)
        else:
            names[path] = node
