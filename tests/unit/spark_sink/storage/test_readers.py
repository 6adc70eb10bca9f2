"""Tables that were written and committed without Java, as Spark, deltalake and DuckDB read them.

That a reader skips a file is shown by deleting the file: one that opens it fails.
"""

import json
import os
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from deltalake import DeltaTable, QueryBuilder
from pyspark.sql import SparkSession

from log_shipper.spark_sink.maintenance import optimize, vacuum
from log_shipper.spark_sink.storage.locations import Location
from log_shipper.spark_sink.storage.tables import Table as StoredTable
from log_shipper.spark_sink.storage.tables import TxnId
from tests.java import forget_logs, needs_delta
from tests.unit.spark_sink.storage.commit_lab import SCHEMA, Table, lines

pytestmark = [pytest.mark.spark, needs_delta]

Reader = Callable[[str], list[int]]
NEXT_DAY = date(2026, 11, 22)
LONG = "x" * 40
# The place of a line -> conditions that only its file can meet, each by another statistic.
PATHS = {
    1: ["host = 'web-1'", "offset < 3", "ts <= TIMESTAMP '2026-11-21 00:00:01.000456Z'", "host < 'web-2'"],
    5: [f"host = '{LONG}b'", f"host > '{LONG}'", "offset = 5", "ts = TIMESTAMP '2026-11-21 00:00:05.000456Z'"],
    9: ["date = DATE '2026-11-22'", "offset > 8", "ts > TIMESTAMP '2026-11-21 00:00:06Z'"],
    4: ["host IS NULL"],
}


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """Four lines in four files of three commits."""
    table = Table(tmp_path / "lines")
    table.log.append(table.write(lines(1)), TxnId("q", 0))
    table.log.append(table.write(lines(5, host=f"{LONG}b")), TxnId("q", 1))
    table.log.append(
        [*table.write(lines(9, day=NEXT_DAY, host="web-9")), *table.write(lines(4, host=None))], TxnId("q", 2)
    )
    return table


@pytest.fixture(params=["spark", "deltalake", "duckdb"])
def read(request: pytest.FixtureRequest, spark: SparkSession, table: Table) -> Reader:
    """Returns the offsets of the lines that meet a condition."""

    def by_spark(where: str) -> list[int]:
        rows = spark.sql(f"SELECT offset FROM delta.`{table.path}` WHERE {where} ORDER BY offset").collect()
        return [row.offset for row in rows]

    def by_deltalake(where: str) -> list[int]:
        query = f'SELECT "offset" FROM t WHERE {where.replace("offset", chr(34) + "offset" + chr(34))} ORDER BY 1'
        result = QueryBuilder().register("t", DeltaTable(str(table.path))).execute(query).read_all()
        return [int(value) for value in pa.table(result).column("offset").to_pylist()]

    def by_duckdb(where: str) -> list[int]:
        where = where.replace("TIMESTAMP '", "TIMESTAMPTZ '").replace("offset", '"offset"')
        with duckdb.connect() as database:
            database.register("t", DeltaTable(str(table.path)).to_pyarrow_dataset())
            return [row[0] for row in database.sql(f'SELECT "offset" FROM t WHERE {where} ORDER BY 1').fetchall()]

    return {"spark": by_spark, "deltalake": by_deltalake, "duckdb": by_duckdb}[request.param]


def file_of(table: Table, offset: int) -> Path:
    """Return the file of one line."""
    result = pa.table(DeltaTable(str(table.path)).get_add_actions(flatten=True)).to_pylist()
    (path,) = [str(action["path"]) for action in result if action["min.offset"] == offset]
    return table.path / path


@pytest.mark.parametrize("offset", PATHS)
def test_a_line_is_found_and_no_file_is_read_that_cannot_have_it(table: Table, read: Reader, offset: int) -> None:
    for other in PATHS.keys() - {offset}:
        file_of(table, other).unlink()
    assert {condition: read(condition) for condition in PATHS[offset]} == {
        condition: [offset] for condition in PATHS[offset]
    }


def test_a_file_that_may_have_the_line_is_read(table: Table, read: Reader) -> None:
    """The counterpart: without it, a reader that finds nothing anywhere would pass."""
    file_of(table, 5).unlink()
    with pytest.raises(Exception, match=r"(?i)no such file|not found|does not exist|failed to open"):
        read("offset > 4")


def test_every_value_is_as_it_was_written(table: Table, spark: SparkSession) -> None:
    odd: list[dict[str, Any]] = [
        {"ts": datetime(1, 1, 1, tzinfo=UTC), "date": date(1, 1, 1), "message": "", "host": "\U0010ffff" * 40},
        {"ts": datetime(1969, 12, 31, 23, 59, 59, 999999, UTC), "date": None, "message": "\x00\n'\"", "host": "ä" * 40},
        {"date": NEXT_DAY, "offset": 2**63 - 1, "tags": []},
    ]
    rows = pa.Table.from_pylist(odd, schema=SCHEMA)
    table.log.append(table.write(rows), TxnId("q", 3))
    opened = DeltaTable(str(table.path)).to_pyarrow_table()
    assert {row["host"] for row in opened.to_pylist()} >= {row.get("host") for row in odd}
    result = spark.sql(
        f"SELECT unix_micros(ts) AS ts, CAST(date AS STRING) AS date, message, host, offset, tags "
        f"FROM delta.`{table.path}` WHERE offset IS NULL OR offset > 100 ORDER BY ts NULLS LAST"
    ).collect()
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    assert [tuple(row) for row in result] == [
        (
            row["ts"] and (row["ts"] - epoch) // timedelta(microseconds=1),
            row["date"] and row["date"].isoformat(),
            row["message"],
            row["host"],
            row["offset"],
            row["tags"],
        )
        for row in rows.to_pylist()
    ]


def test_batches_are_known_to_delta_too(table: Table, spark: SparkSession) -> None:
    """A write of Spark's under a name that is taken is skipped."""
    rows = spark.read.format("delta").load(str(table.path)).where("offset = 9").collect()
    row = spark.createDataFrame(rows, spark.read.format("delta").load(str(table.path)).schema)
    write = row.write.format("delta").mode("append").option("txnAppId", "q")
    table.log.refresh()
    table.log.read_table().create_checkpoint()
    for version in range(3):
        table.log_file(version).unlink()
    forget_logs(spark)
    write.option("txnVersion", 2).save(str(table.path))
    assert table.offsets() == [1, 4, 5, 9]
    write.option("txnVersion", 3).save(str(table.path))
    assert table.offsets() == [1, 4, 5, 9, 9]
    assert table.log.refresh() == 4
    assert table.log.last_batch("q") == 3


def test_the_statistics_have_the_form_that_spark_gives_them(table: Table, spark: SparkSession) -> None:
    spark.sql(f"INSERT INTO delta.`{table.path}` SELECT * FROM delta.`{table.path}` WHERE offset = 9")
    (ours,) = [json.loads(add["stats"]) for add in adds(table, 3) if "2026-11-22" in str(add["path"])]
    (sparks,) = [json.loads(add["stats"]) for add in adds(table, 4)]
    assert ours.pop("maxValues") == {**sparks.pop("maxValues"), "ts": "2026-11-22T00:00:09.001Z"}  # Spark rounds down
    assert ours == sparks


def adds(table: Table, version: int) -> list[dict[str, str]]:
    entries = [json.loads(line) for line in table.log_file(version).read_text().splitlines()]
    return [entry["add"] for entry in entries if "add" in entry]


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM {} WHERE date = DATE '2026-11-22'",
        "UPDATE {} SET message = 'x' WHERE offset = 9",
        "ALTER TABLE {} ADD COLUMNS (more STRING)",
    ],
)
def test_batches_follow_what_delta_changes(table: Table, spark: SparkSession, statement: str) -> None:
    before = table.log.refresh()
    spark.sql(statement.format(f"delta.`{table.path}`"))
    assert table.land(3, 20) > before + 1
    assert set(table.offsets()) >= {1, 4, 5, 20}


def compact(path: Path, day: date | None = None) -> tuple[int, int]:
    """Replace files, and return how many were replaced by how many."""
    compacted = optimize.compact(StoredTable(Location(str(path))), day, optimize.TARGET)
    return compacted.files_before, compacted.files_after


def test_maintenance_compacts_what_was_landed(table: Table) -> None:
    assert compact(table.path, date(2026, 11, 21)) == (3, 1)
    assert table.land(3, 20) == 5
    assert table.offsets() == [1, 4, 5, 9, 20]


def test_a_compacted_file_is_read_as_those_before(table: Table, read: Reader) -> None:
    conditions = [condition for conditions in PATHS.values() for condition in conditions]
    before = {condition: read(condition) for condition in conditions}
    assert compact(table.path, date(2026, 11, 21)) == (3, 1)
    file_of(table, 9).unlink()  # of the other date
    assert {condition: read(condition) for condition in conditions if before[condition] != [9]} == {
        condition: offsets for condition, offsets in before.items() if offsets != [9]
    }


def test_a_view_of_any_types_is_compacted_to_the_same_rows(spark: SparkSession, tmp_path: Path) -> None:
    """Also with times in Spark's own form, as earlier builds wrote them."""
    setting = "spark.sql.parquet.outputTimestampType"
    before_test = spark.conf.get(setting)
    spark.conf.set(setting, "INT96")
    try:
        spark.sql(
            f"CREATE TABLE delta.`{tmp_path}` USING DELTA PARTITIONED BY (host) AS SELECT id, "
            "TIMESTAMP'0001-01-01 00:00:00Z' AS ts, TIMESTAMP_NTZ'2026-01-01 00:00:00' AS local, "
            "CAST(1.5 AS DECIMAL(38, 10)) AS number, map('a', id) AS m, CAST(id AS TINYINT) AS t, "
            "named_struct('x', id, 'y', array('q')) AS s, array(named_struct('k', 'v')) AS a, "
            "CAST('x' AS BINARY) AS b, parse_json('{\"k\": 1}') AS v, IF(id % 2 = 0, 'a b', 'c/d%') AS host "
            "FROM range(3)"
        )
    finally:
        spark.conf.set(setting, before_test or "TIMESTAMP_MICROS")
    columns = ("* EXCEPT (v, ts)", "to_json(v)", "unix_micros(ts)")
    spark.sql(f"INSERT INTO delta.`{tmp_path}` SELECT * FROM delta.`{tmp_path}`")
    before = [repr(row) for row in spark.read.format("delta").load(str(tmp_path)).selectExpr(*columns).collect()]
    assert compact(tmp_path) == (4, 2)
    after = spark.read.format("delta").load(str(tmp_path)).selectExpr(*columns)
    assert sorted(repr(row) for row in after.collect()) == sorted(before)


def test_times_of_views_are_read_by_deltalake_as_spark_wrote_them(spark: SparkSession, tmp_path: Path) -> None:
    spark.sql(f"CREATE TABLE delta.`{tmp_path}` USING DELTA AS SELECT TIMESTAMP'0001-01-01 00:00:00Z' AS ts")
    rows = StoredTable(Location(str(tmp_path))).snapshot().select("SELECT ts FROM stored")
    assert rows.column("ts").to_pylist() == [datetime(1, 1, 1, tzinfo=UTC)]


def test_rows_that_spark_has_deleted_stay_deleted_after_compaction_and_vacuum(
    spark: SparkSession, tmp_path: Path
) -> None:
    name = f"delta.`{tmp_path}`"
    spark.sql(f"CREATE TABLE {name} (id BIGINT) USING DELTA TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    for first in (0, 10, 20):
        spark.sql(f"INSERT INTO {name} SELECT id FROM range({first}, {first + 3})")
    spark.sql(f"DELETE FROM {name} WHERE id = 11")
    assert compact(tmp_path) == (2, 1)
    for file in tmp_path.glob("*.*"):
        os.utime(file, (0, 0))
    snapshot = StoredTable(Location(str(tmp_path))).snapshot()
    vacuum.delete(snapshot.table.location, vacuum.unneeded(snapshot, False, 3600.0))
    forget_logs(spark)
    assert [row.id for row in spark.sql(f"SELECT id FROM {name} ORDER BY id").collect()] == [
        0,
        1,
        2,
        10,
        12,
        20,
        21,
        22,
    ]


def test_times_long_ago_are_read_by_spark_3_too(tmp_path: Path, spark: SparkSession) -> None:
    """Its default is to refuse them where a file does not name the calendar."""
    setting = "spark.sql.parquet.datetimeRebaseModeInRead"
    table, before = Table(tmp_path), spark.conf.get(setting)
    days = [date(1, 1, 1), date(1582, 10, 10), date(1899, 12, 31)]
    for _ in range(2):
        table.log.append(table.write(*(lines(1, day=day) for day in days)), None)
    assert [compact(tmp_path, day) for day in days] == [(2, 1)] * 3
    spark.conf.set(setting, "EXCEPTION")
    try:
        rows = spark.read.format("delta").load(str(tmp_path)).selectExpr("CAST(ts AS STRING)", "date").collect()
    finally:
        spark.conf.set(setting, before or "EXCEPTION")
    assert sorted({row.ts for row in rows}) == [f"{day.isoformat()} 00:00:01.000456" for day in days]
    assert sorted(row.date for row in rows) == sorted(days * 2)
