"""The registry on disk: a database of SQLite in one directory, `<path.data>/registry/`.

    lock             locked (flock) while a store is open, as is the directory; its text is the holder's pid
    registry.db      all entries up to the last flush; `table.py` describes them
    registry.db-wal  what changed since: SQLite's write-ahead log
    registry.db-shm  the index of that log, shared by the processes that read
    registry.tmp     a new database that is being written; what a crash leaves of it is overwritten
    registry.new     a whole one, which takes the place of registry.db

Other programs may read it at any time (`sqlite3 registry.db`).

What is promised, and why it holds:

- *A kill takes nothing that was written.* Each write is a transaction, and in the page cache when the call returns: the
  next start finds it in the log. So it is with `synchronous=NORMAL`, and without an fsync.
- *A power failure takes nothing that was flushed.* `write` returns when SQLite has fsynced the log, copied it into
  registry.db and fsynced that (a checkpoint). Where a program that reads, or a full disk, keeps it from copying all, it
  is the fsync of the log that counts.
- *No damage goes unseen.* SQLite takes a log for ended where a checksum of it is wrong, and cannot distinguish damage
  from what a power failure left of bytes that were not fsynced. So nothing relies on the log: what was flushed is in
  registry.db, whose rows and their number have checksums of ours. A registry.db that does not have what was written is
  RegistryCorrupt, as is one that is missing where its log is there; only an empty directory is a new registry.
- *A failed fsync is never repeated as if it could succeed*: the kernel takes the bytes for written. After it, as after
  any error that leaves doubts, the next write first makes a new database of all entries, which are in memory.
- *A new database* is written aside, fsynced, and renamed to registry.new; then the old log is removed, and the new one
  renamed over registry.db, with the directory fsynced after each step. An old log beside a new database would be taken
  for its own. A start that finds registry.new finishes that.
- *A directory that is removed while it is in use*, or its files, is noticed by the next write, or `ensure_in_place`,
  and re-created with all entries. Where another registry is in its place, a backup was restored or a second writer was
  started: RegistryReplaced.
- *What `open` returns is on disk*: a writer that was killed leaves bytes that only the page cache has. They are flushed
  before anything relies on them (a file id in a record that is sent), or a power failure could take them back.
"""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, closing, suppress
from itertools import islice
from pathlib import Path
from typing import Self

from log_shipper.registry import ndjson, table
from log_shipper.registry.errors import (
    RegistryCorrupt,
    RegistryError,
    RegistryLocked,
    RegistryReplaced,
    code_of,
    disk_error,
)
from log_shipper.registry.files import LOCK, DiskFiles, Identity, Lock, translated
from log_shipper.registry.load import DATABASE, LOG, NEW, load
from log_shipper.registry.saves import Saves
from log_shipper.registry.state import FileState

__all__ = ["Store", "split"]

_logger = logging.getLogger(__name__)

UNFINISHED, INDEX = "registry.tmp", "registry.db-shm"
MAX_UNFLUSHED = 20_000  # entries written since the last flush
AT_ONCE = 10_000  # entries in one transaction

# Errors after which the database is unchanged: the disk took nothing, or another program had it locked.
_HARMLESS = {
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR_WRITE,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_BUSY_RECOVERY,
    sqlite3.SQLITE_BUSY_SNAPSHOT,
    sqlite3.SQLITE_LOCKED,
}


class Store:
    """The open registry. Used by one thread at a time. `states`: all entries, as written. `is_new`: nothing was ever
    written. `max_log_pages`: maximum log size, in pages of 4 KiB, before a new database replaces one with a
    long-running reader."""

    max_log_pages = 16_384

    def __init__(self, directory: Path, files: DiskFiles, lock: Lock, before_recreating: Callable[[], None]) -> None:
        self.directory = directory
        self.states: dict[str, FileState] = {}
        self.is_new = True
        self.saves = Saves()
        self._files = files
        self._lock = lock
        self._before_recreating = before_recreating
        self._connection: sqlite3.Connection
        self._identities: dict[str, Identity | None] = {}  # of the files in use
        self._is_doubtful = False  # after an error: a new database is made before the next write
        self._unflushed = 0  # entries

    @classmethod
    def open(cls, directory: Path, files: DiskFiles, before_recreating: Callable[[], None] = lambda: None) -> Self:
        """Lock the directory, and load the registry.

        `before_recreating` creates the parents of a directory that was removed. Raises RegistryLocked, RegistryCorrupt,
        RegistryForeignVersion, RegistryMisplaced, OSError.
        """
        with ExitStack() as undo:
            lock = files.lock(directory)
            undo.callback(lock.close)
            for name in (LOCK, DATABASE, LOG, INDEX):
                files.give_mode(directory / name)
            store = cls(directory, files, lock, before_recreating)
            try:
                store._begin()
            except sqlite3.Error as error:
                file = directory / DATABASE
                raise disk_error(error, file) or RegistryCorrupt(file, str(error)) from error
            undo.pop_all()
            return store

    def _begin(self) -> None:
        if self._files.identity(self.directory / NEW):
            self._put_in_place()
        database = self.directory / DATABASE
        if self._files.identity(database) is None:
            if self._files.identity(self.directory / LOG):
                raise RegistryCorrupt(database, f"the file is missing, but {LOG} exists")
            old = ndjson.read(self.directory, self._files)
            self.states = old or {}
            self._create(is_new=old is None)
        with ExitStack() as undo:
            self._connection = self._files.connect(database)
            undo.callback(lambda: self._connection.close())
            self.states, changes = load(self._connection, database)
            self.is_new = not changes
            self._configure()
            with suppress(OSError):  # a full disk does not keep the agent from starting, if the log was fsynced
                self._flush()
            if self._is_doubtful:
                self._replace_database()
            self._set_old_files_aside()
            undo.pop_all()

    def _configure(self) -> None:
        """Prepare the connection for writing, and remember which files it writes to."""
        # SQLite's own checkpoints do not report a failed fsync: `_flush` does.
        self._connection.execute("PRAGMA wal_autocheckpoint = 0")
        self._connection.execute("PRAGMA synchronous = NORMAL")
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("SELECT version FROM registry").fetchone()  # creates the log
        self._identities = {name: self._files.identity(self.directory / name) for name in (DATABASE, LOG)}

    def _set_old_files_aside(self) -> None:
        for name in ndjson.NAMES:
            old = self.directory / name
            if self._files.identity(old):
                self._files.rename(old, old.with_name(f"{name}.imported"))
                _logger.warning(
                    "registry file %s: its entries were imported into %s. The file is kept as %s.imported; remove "
                    "it once you no longer need to go back to an earlier release",
                    old,
                    DATABASE,
                    name,
                )

    def write(self, changed: Sequence[FileState], removed: Sequence[str] = ()) -> None:
        """Write all of it, or nothing; it is on disk when this returns. Raises OSError: then it may be repeated; and
        RegistryReplaced."""
        if not changed and not removed:
            return
        self.ensure_in_place()
        self._write(changed, removed)
        began = time.perf_counter()
        self._flush()
        self.saves.fsync.add(time.perf_counter() - began)
        self.ensure_in_place()  # a deleted file keeps nothing

    def write_recent(self, changed: Sequence[FileState], removed: Sequence[str] = ()) -> None:
        """Write the entries so that a kill does not lose them. A power failure may, until the next `write`. Raises
        OSError."""
        if not self._is_in_place():
            return  # the next `write` notices, and writes it too
        self._write(changed, removed)
        self._unflushed += len(changed) + len(removed)
        if self._unflushed > MAX_UNFLUSHED and not self._is_doubtful:
            self._flush()

    def _write(self, changed: Sequence[FileState], removed: Sequence[str]) -> None:
        try:
            table.write(self._connection, changed, removed)
        except sqlite3.Error as error:
            raise self._failed(error) from error
        self.states.update((state.id, state) for state in changed)
        for file_id in removed:
            self.states.pop(file_id, None)

    def _flush(self) -> None:
        """Flush all written entries to disk."""
        try:
            busy, pages, done = self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            is_whole = not busy and done == pages
        except sqlite3.Error as error:
            failure = self._failed(error)
            if self._is_doubtful:
                raise failure from error
            is_whole, pages = False, 0
        if not is_whole:
            try:
                self._files.fsync(self.directory / LOG)
            except OSError:
                self._is_doubtful = True
                raise
        self._unflushed = 0
        self._is_doubtful |= pages > self.max_log_pages

    def _failed(self, error: sqlite3.Error) -> OSError:
        self._is_doubtful |= code_of(error) not in _HARMLESS
        file = self.directory / DATABASE
        return disk_error(error, file) or OSError(0, f"{file}: {error}")

    def _is_in_place(self) -> bool:
        return self._lock.is_at(self.directory) and self._moved() is None

    def _moved(self) -> str | None:
        """Return the name of a file that is no longer the one in use."""
        for name, identity in self._identities.items():
            try:
                if self._files.identity(self.directory / name) != identity:
                    return name
            except OSError:
                continue  # it cannot be determined
        return None

    def ensure_in_place(self) -> None:
        """Check that the registry is at its path; if it was removed, re-create it with all entries.

        Raises OSError, after which the call may be repeated, RegistryReplaced, RegistryMisplaced.
        """
        if not self._lock.is_at(self.directory):
            self._recreate_directory()
        elif (name := self._moved()) is not None:
            if name == DATABASE and self._files.identity(self.directory / name):
                raise RegistryReplaced(self.directory, f"{DATABASE} is another file now")
            self._recreate()
        elif self._is_doubtful:
            self._replace_database()

    def _recreate_directory(self) -> None:
        with translated():
            self._before_recreating()
        try:
            lock = self._files.lock(self.directory)
        except RegistryLocked as error:
            other = "another process" if error.pid is None else f"process {error.pid}"
            raise RegistryReplaced(self.directory, f"{other} is writing to it") from error
        with ExitStack() as undo:
            undo.callback(lock.close)
            if self._files.identity(self.directory / DATABASE):
                raise RegistryReplaced(self.directory, f"{DATABASE} is another file now")
            self._recreate()
            undo.pop_all()
        self._lock.close()
        self._lock = lock

    def _recreate(self) -> None:
        self._replace_database()
        _logger.error(
            "registry %s was removed while in use; re-created with all %d entries, no position is lost. Stop the "
            "shipper before you move or remove its path.data",
            self.directory,
            len(self.states),
        )

    def _replace_database(self) -> None:
        """Replace the database by a new one with all entries. Raises OSError, after which the call may be repeated."""
        self._is_doubtful = True
        self._create()
        # Not before: SQLite would copy its log into the database, but does not if that is another file now.
        with suppress(sqlite3.Error):
            self._connection.close()
        try:
            self._connection = self._files.connect(self.directory / DATABASE)
            self._configure()
        except sqlite3.Error as error:
            raise self._failed(error) from error
        self._is_doubtful = False

    def _create(self, *, is_new: bool = False) -> None:
        """Write a new database with all entries, and replace the old one. Raises OSError."""
        path = self.directory / UNFINISHED
        for suffix in ("-wal", "-shm", "-journal"):
            self._files.unlink(path.with_name(f"{path.name}{suffix}"))
        self._files.create(path)
        try:
            with closing(self._files.connect(path)) as connection:
                _fill(connection, self.states.values(), is_new=is_new)
        except sqlite3.Error as error:
            with suppress(OSError):
                self._files.create(path)  # frees the space
            raise self._failed(error) from error
        self._files.fsync(path)  # before the rename: or the name may point to an empty file after a power failure
        self._files.rename(path, self.directory / NEW)
        self._files.fsync_dir(self.directory)
        self._put_in_place()

    def _put_in_place(self) -> None:
        for name in (LOG, INDEX):
            self._files.unlink(self.directory / name)
        self._identities.pop(LOG, None)
        self._files.fsync_dir(self.directory)  # or a power failure leaves the old log beside the new database
        self._files.rename(self.directory / NEW, self.directory / DATABASE)
        self._identities = {DATABASE: self._files.identity(self.directory / DATABASE)}
        self._files.fsync_dir(self.directory)

    def close(self) -> None:
        with suppress(OSError, RegistryError):
            if self._unflushed and not self._is_doubtful:
                self._flush()  # SQLite would do it by itself, without reporting a failure
        with suppress(OSError, RegistryError):
            if self._is_doubtful:
                self.ensure_in_place()
        with suppress(sqlite3.Error):
            self._connection.close()
        self._lock.close()


def _fill(connection: sqlite3.Connection, states: Iterable[FileState], *, is_new: bool) -> None:
    """Create the tables, and write all entries. Nothing is fsynced."""
    connection.execute("PRAGMA journal_mode = OFF")
    connection.execute("PRAGMA synchronous = OFF")
    connection.executescript(table.SCHEMA)
    rest = iter(states)
    while some := list(islice(rest, AT_ONCE)):
        table.write(connection, some)
    if not is_new:
        connection.execute("UPDATE registry SET changes = changes + 1")
    connection.execute("PRAGMA journal_mode = WAL")  # the mode in which it is opened from then on


def split(changes: dict[str, FileState | None]) -> tuple[list[FileState], list[str]]:
    """Return the states that changed, and the removed ids."""
    changed = [state for state in changes.values() if state is not None]
    return changed, [file_id for file_id, state in changes.items() if state is None]
