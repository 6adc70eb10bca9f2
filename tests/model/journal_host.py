"""Journals in memory, and journalctl processes that read them when the program lets them."""

import json
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, islice

from log_shipper.shipper.inputs.feed import LoopWake
from log_shipper.shipper.inputs.journald.options import JournaldConfig
from tests.fake_journalctl import ARCHIVED, HEADER, Entry, OpenFile, Reader, Refused, header, make_entry

DIRECTORY = "/journals"
PIPE_ENTRIES = 20  # that a journalctl writes at a time
_READ = 2000  # bytes


@dataclass(eq=False)
class MemoryFile:
    inode: int
    sequence: str
    written: list[Entry] = field(default_factory=list)
    archived: bool = False

    def entries(self) -> list[Entry]:
        return self.written


class JournalDisk:
    """The files of one directory, by path."""

    def __init__(self) -> None:
        self.files: dict[str, MemoryFile] = {}
        self._inodes = count(1)

    def create(self, path: str, sequence: str) -> MemoryFile:
        self.files[path] = file = MemoryFile(next(self._inodes), sequence)
        return file

    def names(self, directory: str) -> list[str]:
        return list(self.files)

    def open(self, path: str) -> MemoryFile:
        if path not in self.files:
            raise FileNotFoundError(path)
        return self.files[path]

    def has(self, path: str, file: OpenFile) -> bool:
        return self.files.get(path) is file


class Writer:
    """A host whose entries are received. `removed`: what of it was deleted, by sequence."""

    def __init__(self, disk: JournalDisk, name: str) -> None:
        self.removed: dict[str, set[int]] = {}
        self.last: dict[str, int] = {}  # by sequence
        self._disk = disk
        self._name = name
        self._boots = self._sequences = 0
        self._number = 0
        self._begin_sequence()

    @property
    def path(self) -> str:
        return f"{DIRECTORY}/remote-{self._name}.journal"

    @property
    def sequence(self) -> str:
        return f"{self._name:0>16}{self._sequences:016x}"

    def _begin_sequence(self) -> None:
        self._sequences += 1
        self._number = 0
        self.removed[self.sequence] = set()
        self._begin_file()

    def _begin_file(self) -> None:
        self._file = self._disk.create(self.path, self.sequence)

    def log(self, entries: int, second: float) -> None:
        """Write so many entries, a millisecond apart from that second on."""
        if self._disk.files.get(self.path) is not self._file:
            self._begin_sequence()
        for index in range(entries):
            self._number += 1
            boot = f"{self._name:0>16}{self._boots:016x}"
            moment = max(second + index / 1000, 0.0)
            text = f"{self.sequence} {self._number}"
            self._file.written.append(make_entry(self.sequence, boot, self._number, moment, MESSAGE=text, TAG="1"))
        self.last[self.sequence] = self._number

    def boot(self) -> None:
        self._boots += 1

    def rotate(self) -> None:
        if self._disk.files.get(self.path) is self._file and self._file.written:
            self._file.archived = True
            del self._disk.files[self.path]
            self._disk.files[f"{self.path[:-8]}@{self.sequence}-{self._number:016x}.journal"] = self._file
            self._begin_file()

    def vacuum(self) -> None:
        """Delete the oldest file that was rotated."""
        for path, file in self._disk.files.items():
            if file.archived and path.startswith(f"{self.path[:-8]}@"):
                self._delete(path)
                return

    def remove(self) -> None:
        """Delete all its files; the next entry begins another sequence."""
        for path in [path for path in self._disk.files if path == self.path or path.startswith(f"{self.path[:-8]}@")]:
            self._delete(path)

    def _delete(self, path: str) -> None:
        file = self._disk.files.pop(path)
        numbers = (int(entry["__CURSOR"].split(";")[1][2:], 16) for entry in file.written)
        self.removed[file.sequence].update(numbers)


class MemoryChild:
    """A journalctl. `run` lets it do something: its first time it opens its files."""

    def __init__(self, command: Sequence[str], disk: JournalDisk, fds: Iterator[int]) -> None:
        self.output, self.errors, self.pid = next(fds), next(fds), next(fds)
        self._command = list(command[1:])
        self._disk = disk
        self._reader: Reader | None = None
        self._buffer = b""
        self._words: deque[str] = deque()
        self._code: int | None = None

    def run(self) -> None:
        if self._code is not None or len(self._buffer) > _READ:
            return
        try:
            if self._reader is None:
                self._reader = Reader(self._command, self._disk)
                return
            given = list(islice(self._reader.poll(), PIPE_ENTRIES))
        except Refused as error:
            self._words.append(str(error))
            self._code = 1
            return
        self._buffer += b"".join(json.dumps(entry).encode() + b"\n" for entry in given)
        if len(given) < PIPE_ENTRIES and not self._reader.follows:
            self._code = 0

    def kill(self) -> None:
        self._code = -9 if self._code is None else self._code

    def has_data(self, fd: int) -> bool:
        return self._code is not None or bool(self._buffer if fd == self.output else self._words)

    def read(self) -> bytes | None:
        block, self._buffer = self._buffer[:_READ], self._buffer[_READ:]
        return block or (b"" if self._code is not None else None)

    def words(self) -> str | None:
        return self._words.popleft() if self._words else (None if self._code is not None else "")

    def end(self) -> int | None:
        self.kill()
        return self._code

    def exit_code(self) -> int | None:
        return self._code


class MemoryHost:
    """A Host (shipper/inputs/journald/host.py), and what wakes the loop."""

    def __init__(self, disk: JournalDisk) -> None:
        self.wake: LoopWake = self
        self._disk = disk
        self._children: dict[int, MemoryChild] = {}  # by each of their descriptors
        self._watched: dict[int, Callable[[], None]] = {}
        self._fds = count(3)

    def start(self, command: Sequence[str], chroot: str) -> MemoryChild:
        child = MemoryChild(command, self._disk, self._fds)
        self._children |= {child.output: child, child.errors: child}
        return child

    def files(self, config: JournaldConfig, path: str) -> Iterator[str]:
        yield from list(self._disk.files)

    def header(self, path: str) -> tuple[int, int, bytes]:
        file = self._disk.open(path)
        last = int(file.written[-1]["__CURSOR"].split(";")[1][2:], 16) if file.written else 0
        return file.inode, HEADER.size, header(file.sequence, last, ARCHIVED if file.archived else 0)

    def inode(self, path: str) -> int:
        return self._disk.open(path).inode

    def set_if_open(self) -> None: ...

    def watch(self, fd: int, ready: Callable[[], None]) -> None:
        self._watched[fd] = ready

    def unwatch(self, fd: int) -> None:
        self._watched.pop(fd, None)
        self._children.pop(fd, None)

    def run_children(self) -> None:
        for fd, child in self._children.items():
            if fd == child.output:
                child.run()
        self.ring()

    def ring(self) -> None:
        for fd in [fd for fd in self._watched if self._children[fd].has_data(fd)]:
            self._watched.pop(fd)()

    def kill_children(self) -> None:
        for child in self._children.values():
            child.kill()
        self.ring()
