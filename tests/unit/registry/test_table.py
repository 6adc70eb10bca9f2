from __future__ import annotations

import gc
import os
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from log_shipper.registry import table
from log_shipper.registry.errors import RegistryCorrupt, RegistryForeignVersion
from log_shipper.registry.state import FileState
from tests.unit.registry.entries import FULL

A = FileState("a", "/logs/a", 1, 2, position=10)


FILE = Path("registry.db")


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.executescript(table.SCHEMA)
    yield connection
    connection.close()


@pytest.mark.parametrize(
    "state",
    [
        FULL,
        A,
        replace(FULL, path="/logs/é", key=os.fsdecode(b"path:/\xff")),
        replace(A, inode=2**64 - 1, device=2**63),
        replace(A, inode=2**63 - 1, ttl=3600, updated=1763717400),
        replace(FULL, path="/a\x1f\"'\u2028\U0001f600"),
    ],
)
def test_every_field_of_an_entry_survives_whatever_its_values(state: FileState, connection: sqlite3.Connection) -> None:
    table.write(connection, [state])
    assert table.load(connection, FILE)[0] == {state.id: state}


@pytest.mark.parametrize(("modified", "written"), [(2**63, 2**63 - 1), (2**70, 2**63 - 1), (-(2**64), -(2**63))])
def test_a_time_that_sqlite_cannot_hold_becomes_the_nearest(
    modified: int, written: int, connection: sqlite3.Connection
) -> None:
    """A file may have any time, of the year 2300 for example."""
    state = replace(A, inode=2**64 - 1, modified=modified)
    table.write(connection, [state])
    assert table.load(connection, FILE)[0] == {state.id: replace(state, modified=written)}


@pytest.mark.parametrize("count", [1, 127, 128, 129, 1000])
def test_any_number_of_entries_is_written_changed_and_removed(count: int, connection: sqlite3.Connection) -> None:
    table.write(connection, [replace(A, id=str(number), position=number) for number in range(count)])
    table.write(connection, [replace(A, id=str(number), position=7) for number in range(count)], ["0", "unknown"])
    states, changes = table.load(connection, FILE)
    assert states == {str(number): replace(A, id=str(number), position=7) for number in range(1, count)}
    assert changes == 2 * count + 1


def test_a_group_is_written_whole_or_not_at_all(connection: sqlite3.Connection) -> None:
    table.write(connection, [A])
    with pytest.raises(OverflowError):
        table.write(connection, [replace(A, position=11), replace(A, id="b", position=2**63)], ["a"])
    assert table.load(connection, FILE)[0] == {"a": A}


def test_who_reads_the_database_finds_names_that_explain_themselves(connection: sqlite3.Connection) -> None:
    table.write(connection, [FULL, A])
    rows = connection.execute("SELECT path, position, size_seen, ended, head_length, identity FROM files ORDER BY id")
    assert rows.fetchall() == [
        (b'/logs/\xff "quoted"\n\xc3\xa9.log', 2**53 + 1, 2**53 + 7, "truncated", 1024, "path:/logs/a"),
        ("/logs/a", 10, 0, None, 0, ""),
    ]
    assert connection.execute("SELECT version, entries FROM registry").fetchall() == [(table.VERSION, 2)]


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE files SET position = 11 WHERE id = 'a'",
        "UPDATE files SET ended = NULL WHERE id = '9f3c'",
        "UPDATE files SET checksum = checksum + 1 WHERE id = 'a'",
        "UPDATE files SET id = 'x' WHERE id = 'a'",
        "UPDATE files SET position = '10.5' WHERE id = 'a'",
        "UPDATE registry SET entries = 3",
        "UPDATE registry SET checksum = checksum + 1",
        "UPDATE registry SET version = NULL",
        "DELETE FROM registry",
        "INSERT INTO registry SELECT * FROM registry",
        "DROP TRIGGER removed; DELETE FROM files WHERE id = 'a'",
        "DROP TRIGGER removed; DELETE FROM files",
    ],
)
def test_what_is_not_what_was_written_is_damage(damage: str, connection: sqlite3.Connection) -> None:
    table.write(connection, [FULL, A])
    connection.executescript(damage)
    with pytest.raises(RegistryCorrupt):
        table.load(connection, FILE)
    assert not connection.in_transaction


def test_a_row_that_is_no_entry_is_damage_also_with_the_right_checksum(connection: sqlite3.Connection) -> None:
    table.write(connection, [replace(A, kind="was")])
    *values, _ = connection.execute("SELECT * FROM files").fetchone()
    values[table.COLUMNS.index("cuts")] = "1,x"
    row = (*values, table._checksum(tuple(values)))
    connection.execute(f"INSERT OR REPLACE INTO files VALUES ({', '.join('?' * len(row))})", row)
    connection.execute("UPDATE registry SET entries = 1, checksum = (SELECT sum(checksum) FROM files)")
    with pytest.raises(RegistryCorrupt, match="entry 'a' is invalid"):
        table.load(connection, FILE)


def test_another_version_is_distinguished_from_damage(connection: sqlite3.Connection) -> None:
    connection.execute("UPDATE registry SET version = 6")
    with pytest.raises(RegistryForeignVersion) as caught:
        table.load(connection, FILE)
    assert caught.value.version == 6


def test_the_garbage_collector_rests_while_entries_are_loaded_and_only_then(connection: sqlite3.Connection) -> None:
    table.write(connection, [replace(A, id=str(number)) for number in range(5000)])
    phases: list[str] = []

    def count(phase: str, info: dict[str, int]) -> None:
        phases.append(phase)

    gc.callbacks.append(count)
    try:
        assert len(table.load(connection, FILE)[0]) == 5000
    finally:
        gc.callbacks.remove(count)
    assert len(phases) < 4  # some 7 collections otherwise, each of all entries in the end
    assert gc.isenabled()
