"""A disk below SQLite that fails or crashes at any operation, in place of the registry's `DiskFiles`.

The files are real, in a directory of the test; apsw has SQLite call this module for each write, sync, truncation and
removal. RecordExtras them it knows what a power failure may leave (POSIX promises no more):

- writes since the last sync of a file are lost, kept, torn, or only the later ones are kept;
- each new name, rename or removal is there or not, independently of the others, until the directory is synced;
- bytes of a sync that failed are taken for written: a later sync does not write them.
"""

from __future__ import annotations

import errno
import itertools
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

from log_shipper.registry.files import DiskFiles
from tests.crashing_files import Crash, apply_renames
from tests.memory_registry import NoLock

_numbers = itertools.count()


class _Change:
    """A write at an offset, or with `data` None a truncation."""

    def __init__(self, offset: int, data: bytes | None) -> None:
        self.offset = offset
        self.data = data

    def apply(self, content: bytes, part: int | None = None) -> bytes:
        if self.data is None:
            return content[: self.offset].ljust(self.offset, b"\0")
        data = self.data[:part]
        content = content.ljust(self.offset, b"\0")
        return content[: self.offset] + data + content[self.offset + len(data) :]


class _Node:
    """One file: what is on disk, and the changes since."""

    def __init__(self, durable: bytes = b"") -> None:
        self.durable = durable
        self.changes: list[_Change] = []
        self.forgotten: list[_Change] = []  # of a sync that failed

    def sync(self) -> None:
        for change in self.changes:
            self.durable = change.apply(self.durable)
        self.changes = []

    def fail_sync(self) -> None:
        self.forgotten, self.changes = self.forgotten + self.changes, []

    def outcomes(self) -> set[bytes]:
        """Return what a power failure may leave."""
        contents = {self.durable}
        for changes in (self.changes, [*self.forgotten, *self.changes]):
            for count in {len(changes), len(changes) - 1, len(changes) // 2} - {-1}:
                contents |= {_applied(self.durable, changes[:count]), _applied(self.durable, changes[count:])}
            if changes:
                torn = _applied(self.durable, changes[:-1])
                contents.add(changes[-1].apply(torn, len(changes[-1].data or b"") // 2))
        return contents


def _applied(content: bytes, changes: Sequence[_Change]) -> bytes:
    for change in changes:
        content = change.apply(content)
    return content


@contextmanager
def _as_sqlite_has_it(failure: int) -> Iterator[None]:
    try:
        yield
    except Crash:
        pass  # `call` raises it: SQLite would ignore it where it closes a file
    except OSError as error:
        full = error.errno == errno.ENOSPC and failure == apsw.SQLITE_IOERR_WRITE
        raise apsw.exception_for(apsw.SQLITE_FULL if full else failure) from error


def _path(name: str | apsw.URIFilename) -> Path:
    return Path(name if isinstance(name, str) else name.filename())


class _File(apsw.VFSFile):
    def __init__(self, disk: CrashingDatabase, name: str | apsw.URIFilename, flags: list[int]) -> None:
        self._disk = disk
        self._path = _path(name)
        self._is_named = False
        super().__init__("", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:
        with _as_sqlite_has_it(apsw.SQLITE_IOERR_WRITE):
            real = super().xWrite
            self._disk.write(self._path, offset, bytes(data), lambda part: real(part, offset))

    def xSync(self, flags: int) -> None:
        with _as_sqlite_has_it(apsw.SQLITE_IOERR_FSYNC):
            self._disk.sync(self._path)
            if self._path.name.endswith("-wal") and not self._is_named:
                self._disk.fsync_dir(self._path.parent)  # as SQLite's own does with the first sync
                self._is_named = True

    def xTruncate(self, size: int) -> None:
        with _as_sqlite_has_it(apsw.SQLITE_IOERR_TRUNCATE):
            self._disk.truncate(self._path, size)
            super().xTruncate(size)


class _Layer(apsw.VFS):
    def __init__(self, disk: CrashingDatabase, name: str) -> None:
        self.name = name
        self._disk = disk
        super().__init__(name, "")

    def xOpen(self, name: Any, flags: list[int]) -> _File:
        if not _path(name).exists():
            with _as_sqlite_has_it(apsw.SQLITE_CANTOPEN):
                self._disk.add(_path(name))
        return _File(self._disk, name, flags)

    def xDelete(self, name: str, sync_directory: bool) -> None:
        self._disk.remove(Path(name))  # at the end, when SQLite ignores an error


class _Connection:
    """The part of sqlite3.Connection that the registry uses."""

    def __init__(self, disk: CrashingDatabase, path: Path, layer: str) -> None:
        self._disk = disk
        self._connection = disk.call(lambda: apsw.Connection(str(path), vfs=layer))
        disk.connections.append(self._connection)

    @property
    def in_transaction(self) -> bool:
        return bool(self._connection.in_transaction)

    def execute(self, sql: str, values: Sequence[Any] = ()) -> _Rows:
        return _Rows(self._disk.call(lambda: list(self._connection.execute(sql, values))))

    executescript = execute

    def close(self) -> None:
        self._disk.call(self._connection.close)


class _Rows(list[Any]):
    def fetchall(self) -> list[Any]:
        return self

    def fetchone(self) -> Any:
        return self[0]


class CrashingDatabase(DiskFiles):
    """Stops at operation number `crash_at`, and refuses those of `fail_at` with that errno: ENOSPC or EIO.

    Operations are numbered from 1 and recorded in `trace`; one that fails or crashes may be half done. After a Crash,
    `killed` and `survivors` give the disk as it is then.
    """

    def __init__(self, directory: Path, crash_at: int | None = None, fail_at: Mapping[int, int] | None = None) -> None:
        super().__init__()
        directory.mkdir(exist_ok=True)
        self.directory = directory
        self.trace: list[str] = []
        self.crash_at = crash_at
        self.fail_at = dict(fail_at or {})
        self.is_full = False
        self.connections: list[apsw.Connection] = []
        self._fail_next = ("", 0)
        self._crashed = False
        self._names = {path: _Node(path.read_bytes()) for path in directory.iterdir()}
        self._durable = dict(self._names)
        self._pending: list[dict[Path, _Node | None]] = []  # names since the directory was synced; None: removed
        self._layer = _Layer(self, f"crashing-{next(_numbers)}")

    def fail_next(self, code: int, operation: str = "") -> None:
        self._fail_next = (operation, code)

    def _failure(self, name: str) -> int | None:
        operation, code = self._fail_next
        if not code or operation not in ("", name):
            return self.fail_at.get(len(self.trace))
        self._fail_next = ("", 0)
        return code

    def lose(self, *names: str) -> None:
        """Remove files as another process does it."""
        for name in names:
            self.remove(self.directory / name)

    def operate(self, name: str, partly: Callable[[], None] = lambda: None) -> None:
        if not self._crashed:
            self.trace.append(name)
            self._crashed = len(self.trace) == self.crash_at
            code = self._failure(name)
            if self._crashed or code:
                partly()
            if code and not self._crashed:
                raise OSError(code, os.strerror(code))
        if self._crashed:
            raise Crash(f"at operation {self.crash_at}, {self.trace[-1]}")

    def call(self, action: Callable[[], Any]) -> Any:
        """Call SQLite; its errors are those of sqlite3."""
        try:
            result = action()
        except apsw.Error as error:
            if self._crashed:
                raise Crash(str(error)) from error
            translated = sqlite3.OperationalError(str(error))
            translated.sqlite_errorcode = error.extendedresult  # type: ignore[attr-defined]  # where SQLite raised it
            raise translated from error
        if self._crashed:
            raise Crash(self.trace[-1])
        return result

    def write(self, path: Path, offset: int, data: bytes, really: Callable[[bytes], None]) -> None:
        def write(part: bytes) -> None:
            self._names[path].changes.append(_Change(offset, part))
            really(part)

        self.operate("write", lambda: write(data[: len(data) // 2]))
        if self.is_full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(data)

    def sync(self, path: Path) -> None:
        try:
            self.operate("sync")
        except OSError:
            self._names[path].fail_sync()
            raise
        self._names[path].sync()

    def truncate(self, path: Path, size: int) -> None:
        self.operate("truncate")
        self._names[path].changes.append(_Change(size, None))

    def add(self, path: Path) -> None:
        self.operate("open")
        self._rename({path: _Node()})

    def _rename(self, change: dict[Path, _Node | None]) -> None:
        self._pending.append(change)
        apply_renames(self._names, change)

    def lock(self, directory: Path) -> NoLock:
        return NoLock()

    def connect(self, path: Path) -> Any:
        return _Connection(self, path, self._layer.name)

    def create(self, path: Path) -> None:
        self.add(path)
        super().create(path)

    def fsync(self, path: Path) -> None:
        self.sync(path)

    def rename(self, source: Path, target: Path) -> None:
        self.operate("rename")
        self._rename({source: None, target: self._names[source]})
        super().rename(source, target)

    def unlink(self, path: Path) -> None:
        if path.exists():
            self.operate("unlink")
            self.remove(path)

    def remove(self, path: Path) -> None:
        """Remove a file without counting that."""
        if not self._crashed:
            self._rename({path: None})
            super().unlink(path)

    def fsync_dir(self, directory: Path) -> None:
        self.operate("fsync_dir")
        self._pending.clear()
        self._durable = dict(self._names)

    def give_mode(self, path: Path) -> None:
        pass  # a mode that a crash lost does no harm

    def release(self) -> None:
        """Close what a process that crashed had open. Nothing is written any more."""
        while self.connections:
            self.connections.pop().close(force=True)

    def killed(self, place: Path) -> Path:
        """Return `place` with the files as they are after the process was killed, but not the machine."""
        return filled(place, {path.name: path.read_bytes() for path in self._names if path.exists()})

    def survivors(self) -> Iterator[dict[str, bytes]]:
        """Yield the files of every disk that a power failure may leave."""
        seen = set()
        for kept in itertools.product((False, True), repeat=len(self._pending)):
            names = dict(self._durable)
            for change in itertools.compress(self._pending, kept):
                apply_renames(names, change)
            for contents in itertools.product(*(sorted(node.outcomes()) for node in names.values())):
                files = {path.name: content for path, content in zip(names, contents, strict=True)}
                if (key := tuple(sorted(files.items()))) not in seen:
                    seen.add(key)
                    yield files


def filled(place: Path, files: Mapping[str, bytes]) -> Path:
    """Return the directory with these files and no others."""
    place.mkdir(exist_ok=True)
    for path in place.iterdir():
        if path.name not in files:
            path.unlink()
    for name, content in files.items():
        (place / name).write_bytes(content)
    return place
