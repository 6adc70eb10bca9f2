"""A table is read as Delta means it, by deltalake alone."""

from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake

from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.storage.locations import Location
from log_shipper.spark_sink.storage.tables import NO_BATCH, NO_TABLE, Table, literal

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(Location(str(tmp_path / "lines")))


def append(table: Table, day: int, topic: str, batch: int | None = None) -> None:
    rows = pa.table(
        {
            "date": pa.array([date(2026, 11, day)]),
            "ts": pa.array([datetime(1, 1, 1, tzinfo=UTC)], pa.timestamp("us", "UTC")),
            "topic": pa.array([topic]),
            "offset": pa.array([day], pa.int64()),
            "headers": pa.array([[{"key": "k", "value": b"v"}]], HEADERS),
        }
    )
    named = [] if batch is None else [Transaction("query", batch)]
    write_deltalake(
        table.path,
        rows,
        mode="append",
        partition_by=["date"],
        commit_properties=CommitProperties(app_transactions=named),
    )


def test_answers_for_a_table_that_does_not_exist(table: Table) -> None:
    snapshot = table.snapshot()
    assert (snapshot.exists, snapshot.version, snapshot.is_empty) == (False, NO_TABLE, True)
    assert (snapshot.columns, snapshot.partition_columns) == ([], [])
    assert snapshot.last_batch("query") == NO_BATCH
    assert not snapshot.has_rows_of(["app"])
    assert snapshot.restored_since(-1) is None


def test_answers_of_one_version(table: Table) -> None:
    append(table, 1, "app", batch=7)
    before = table.snapshot()
    append(table, 2, "it's", batch=8)
    after = table.snapshot()
    assert (before.version, before.last_batch("query"), before.last_batch("another")) == (0, 7, NO_BATCH)
    assert (after.version, after.last_batch("query"), after.partition_columns) == (1, 8, ["date"])
    assert before.select("SELECT count(*) AS rows FROM stored")["rows"].to_pylist() == [1]
    assert [before.has_rows_of(["it's"]), after.has_rows_of(["none", "it's"]), after.has_rows_of([])] == [
        False,
        True,
        False,
    ]


def test_the_rows_have_the_types_of_the_table(table: Table) -> None:
    append(table, 1, "app")
    rows = table.snapshot().select(f"SELECT * FROM stored WHERE topic = {literal('app')}")
    assert rows.schema.field("topic").type == pa.string()
    assert rows.schema.field("headers").type == HEADERS
    assert rows.select(["date", "ts", "offset", "headers"]).to_pylist() == [
        {
            "date": date(2026, 11, 1),
            "ts": datetime(1, 1, 1, tzinfo=UTC),
            "offset": 1,
            "headers": [{"key": "k", "value": b"v"}],
        }
    ]


def test_rows_come_in_batches(table: Table) -> None:
    for day in (1, 2, 3):
        append(table, day, "app")
    batches = table.snapshot().stream('SELECT "offset" FROM stored WHERE "offset" > 1')
    assert sorted(offset for batch in batches for offset in batch.column("offset").to_pylist()) == [2, 3]


def test_an_emptied_table_exists_and_is_empty(table: Table) -> None:
    append(table, 1, "app")
    DeltaTable(table.path).delete()
    assert [table.exists(), table.snapshot().is_empty] == [True, True]
    assert not table.snapshot().has_rows_of(["app"])


def test_a_restore_is_found_behind_a_version(table: Table) -> None:
    append(table, 1, "app")
    append(table, 2, "app")
    DeltaTable(table.path).restore(0)
    snapshot = table.snapshot()
    assert [snapshot.restored_since(version) for version in (0, 1, 2)] == [2, 2, None]


def test_what_cannot_be_read_is_named(table: Table) -> None:
    append(table, 1, "app")
    snapshot = table.snapshot()
    with pytest.raises(SinkError, match=f"cannot read the table {table.path}: .*nope"):
        snapshot.select("SELECT nope FROM stored")
    for file in Path(table.path).glob("date=*/*.parquet"):
        file.unlink()
    with pytest.raises(SinkError, match=f"cannot read the table {table.path}"):
        list(snapshot.stream("SELECT topic FROM stored"))
