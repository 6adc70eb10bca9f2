"""Define the tables of the registry's database, and their rows.

For readers with `sqlite3 registry.db`:

    files      one row an entry: a file, a journal, a topic's partition ...; `state.py` says what the fields are
    registry   one row: the version of this format, how many rows `files` has and has had changes, and the sum of their
               checksums, kept by triggers

A row's `checksum` is the CRC-32 of its other values as text, NULL as "None", with a NUL between each two. SQLite itself
takes many a damaged byte for a value, and a page that lost rows for one with fewer: with these no damage goes unseen.

Text that is not UTF-8, as the name of a file may be, is a BLOB. An inode or device from 2**63 on is a negative number.
"""

from __future__ import annotations

import gc
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from zlib import crc32

from log_shipper.registry.errors import RegistryCorrupt, RegistryForeignVersion
from log_shipper.registry.state import NAMES, FileState, from_values

VERSION = 5

# A longer name for each field of FileState, for readers without the documentation; its first bytes are two.
_RENAMED = {
    "fingerprint": ("head_length", "head_hash"),
    "updated": ("updated_seconds",),
    "ttl": ("ttl_seconds",),
    "key": ("identity",),
    "compressed": ("compressed_size",),
    "proof": ("content_hash",),
    "birth": ("born_ns",),
    "modified": ("modified_ns",),
    "changed": ("changed_ns",),
}
COLUMNS = tuple(column for name in NAMES for column in _RENAMED.get(name, (name,)))
_NUMBERS = {"device", "inode", "head_length", "position", "size_seen", "compressed_size"}
_TYPES = {"updated_seconds": "REAL", "ttl_seconds": "REAL"}


def _type(column: str) -> str:
    number = column in _NUMBERS or column.endswith("_ns")
    return _TYPES.get(column, "INTEGER" if number else "TEXT")


_FILES = ", ".join(f"{column} {_type(column)}{' NOT NULL PRIMARY KEY' * (column == 'id')}" for column in COLUMNS)
SCHEMA = f"""
CREATE TABLE registry (version INTEGER, entries INTEGER, changes INTEGER, checksum INTEGER);
CREATE TABLE files ({_FILES}, checksum INTEGER) WITHOUT ROWID;
CREATE TRIGGER added AFTER INSERT ON files BEGIN
    UPDATE registry SET entries = entries + 1, changes = changes + 1, checksum = checksum + NEW.checksum; END;
CREATE TRIGGER changed AFTER UPDATE ON files BEGIN
    UPDATE registry SET changes = changes + 1, checksum = checksum + NEW.checksum - OLD.checksum; END;
CREATE TRIGGER removed AFTER DELETE ON files BEGIN
    UPDATE registry SET entries = entries - 1, changes = changes + 1, checksum = checksum - OLD.checksum; END;
INSERT INTO registry VALUES ({VERSION}, 0, 0, 0);
"""

# Each call of SQLite releases the interpreter's lock, and beside a busy thread takes as long to get it back as a
# hundred rows: so many rows are one statement.
_MANY = 128
_AS_TEXT = "\0".join(["%s"] * len(COLUMNS))
_CUTS = COLUMNS.index("cuts")
_SIGNED, _UNSIGNED = 1 << 63, 1 << 64


def _put(rows: int) -> str:
    row = f"({', '.join('?' * (len(COLUMNS) + 1))})"
    new = ", ".join(f"{column} = excluded.{column}" for column in (*COLUMNS[1:], "checksum"))
    return f"INSERT INTO files VALUES {', '.join([row] * rows)} ON CONFLICT (id) DO UPDATE SET {new}"


_PUT_ONE, _PUT_MANY = _put(1), _put(_MANY)


def row(state: FileState) -> tuple[Any, ...]:
    """Return the row of an entry."""
    values: tuple[Any, ...] = (
        state.id,
        state.path,
        state.device,
        state.inode,
        *state.fingerprint,
        state.tail_hash,
        state.position,
        state.size_seen,
        float(state.updated),
        float(state.ttl),
        ",".join(map(str, state.cuts)),
        state.ended,
        state.continues_in,
        state.input,
        state.key,
        state.compressed,
        state.proof,
        state.birth,
        min(max(state.modified, -_SIGNED), _SIGNED - 1),  # anyone may give a file a time after 2262
        state.changed,
        state.kind,
        state.cursor,
    )
    if state.inode >= _SIGNED or state.device >= _SIGNED:
        values = tuple(value - _UNSIGNED if type(value) is int and value >= _SIGNED else value for value in values)
    try:
        return (*values, _checksum(values))
    except UnicodeEncodeError:
        values = tuple(_stored(value) for value in values)
        return (*values, _checksum(values))


def _stored(value: Any) -> Any:
    if isinstance(value, str) and any("\udc80" <= character <= "\udcff" for character in value):
        return value.encode("utf-8", "surrogateescape")
    return value


def _checksum(values: tuple[Any, ...]) -> int:
    return crc32((_AS_TEXT % values).encode())


def state_of(values: tuple[Any, ...], shared: dict[Any, Any]) -> FileState:
    """Return the entry of a row without checksum. Raises TypeError or ValueError for an invalid row."""
    cuts = values[_CUTS]
    places = tuple(map(int, cuts.split(","))) if cuts else ()
    state = from_values((*values[:4], values[4:6], *values[6:_CUTS], places, *values[_CUTS + 1 :]), shared)
    texts: tuple[Any, ...] = (state.path, state.key)
    if bytes in map(type, texts) or state.inode < 0 or state.device < 0:
        return replace(
            state,
            path=_text(state.path),
            key=_text(state.key),
            inode=state.inode % _UNSIGNED,
            device=state.device % _UNSIGNED,
        )
    return state


def _text(value: Any) -> Any:
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value


def write(connection: sqlite3.Connection, changed: Sequence[FileState], removed: Sequence[str] = ()) -> None:
    """Write all changes, or nothing. Raises sqlite3.Error."""
    rows = [row(state) for state in changed]
    if len(rows) == 1 and not removed:
        connection.execute(_PUT_ONE, rows[0])
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        whole = len(rows) - len(rows) % _MANY
        for start in range(0, whole, _MANY):
            connection.execute(_PUT_MANY, [value for values in rows[start : start + _MANY] for value in values])
        for values in rows[whole:]:
            connection.execute(_PUT_ONE, values)
        for file_id in removed:
            connection.execute("DELETE FROM files WHERE id = ?", (file_id,))
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def load(connection: sqlite3.Connection, file: Path) -> tuple[dict[str, FileState], int]:
    """Return all entries, and the number of changes so far. Raises RegistryCorrupt, RegistryForeignVersion,
    sqlite3.Error."""
    connection.execute("BEGIN")
    try:
        summary = connection.execute("SELECT version, entries, changes, checksum FROM registry").fetchall()
        if len(summary) != 1:
            raise RegistryCorrupt(file, "the table registry must have exactly one row")
        version, entries, changes, checksum = summary[0]
        if not isinstance(version, int):
            raise RegistryCorrupt(file, f"unsupported version {version!r}")
        if version != VERSION:
            raise RegistryForeignVersion(file, version, VERSION)
        with _no_collector():
            states, total = _states(connection.execute(f"SELECT {', '.join(COLUMNS)}, checksum FROM files"), file)
    finally:
        connection.execute("ROLLBACK")
    if len(states) != entries or total != checksum:
        raise RegistryCorrupt(
            file, f"the table files does not match its checksum: {len(states)} entries read, {entries} written"
        )
    return states, changes


def _states(rows: Iterable[tuple[Any, ...]], file: Path) -> tuple[dict[str, FileState], int]:
    states, shared, total = dict[str, FileState](), dict[Any, Any](), 0
    for values in rows:
        checksum = values[-1]
        values = values[:-1]
        if crc32((_AS_TEXT % values).encode()) != checksum:
            raise RegistryCorrupt(file, f"entry {values[0]!r} does not match its checksum")
        total += checksum
        try:
            state = state_of(values, shared)
        except (TypeError, ValueError, AttributeError) as error:
            raise RegistryCorrupt(file, f"entry {values[0]!r} is invalid: {error}") from error
        states[state.id] = state
    return states, total


@contextmanager
def _no_collector() -> Iterator[None]:
    """Turn the garbage collector off: it would examine the entries again and again, a third of the time of a long
    load."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
