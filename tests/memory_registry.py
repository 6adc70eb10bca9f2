"""A registry without a disk: it is there as long as its `MemoryFiles`, whichever stores are opened on them."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from log_shipper.registry.files import DiskFiles, Lock
from log_shipper.registry.state import FileState
from log_shipper.registry.store import Store


class NoLock(Lock):
    """Held by whoever asks."""

    def __init__(self) -> None:
        pass

    def is_at(self, directory: Path) -> bool:
        return True

    def close(self) -> None:
        pass


class _Connection:
    """One that stays open when it is closed."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def close(self) -> None:
        pass


class MemoryFiles(DiskFiles):
    def __init__(self) -> None:
        super().__init__()
        self._databases: dict[Path, sqlite3.Connection] = {}

    def __del__(self) -> None:
        for connection in self._databases.values():
            connection.close()

    def lock(self, directory: Path) -> NoLock:
        return NoLock()

    def read(self, path: Path) -> None:
        return None

    def identity(self, path: Path) -> tuple[int, int] | None:
        return (0, id(self._databases[path])) if path in self._databases else None

    def create(self, path: Path) -> None:
        self.unlink(path)
        self._databases[path] = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)

    def connect(self, path: Path) -> Any:
        return _Connection(self._databases[path])

    def rename(self, source: Path, target: Path) -> None:
        self._databases[target] = self._databases.pop(source)

    def unlink(self, path: Path) -> None:
        if path in self._databases:
            self._databases.pop(path).close()

    def fsync(self, path: Path) -> None:
        pass

    def fsync_dir(self, directory: Path) -> None:
        pass

    def give_mode(self, path: Path) -> None:
        pass


def memory_store(*states: FileState, files: MemoryFiles | None = None) -> Store:
    """Return the store of a registry in memory that has these entries."""
    store = Store.open(Path("/registry"), files or MemoryFiles())
    store.write(states)
    return store
