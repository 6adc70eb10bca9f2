"""Other programs read the tables without Spark: the programs of docs/guides/readers.md."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from deltalake import DeltaTable, QueryBuilder
from pyspark.sql import SparkSession

from log_shipper.spark_sink.records.schema import LINES, names
from tests.java import needs_delta
from tests.unit.spark_sink.querying.tables import FIRST, SECOND, Tables, blocks

pytestmark = [pytest.mark.spark, needs_delta, pytest.mark.slow("a page of the documentation")]

PROGRAMS = blocks("python")
DELTALAKE, DUCKDB, POLARS = "Without Spark: deltalake", "Without Spark: DuckDB", "Without Spark: Polars"
FAILED = (datetime(2026, 10, 5, 9, 30, 2), "shop-1", "GET /cart 500")


def run(heading: str, tables: Tables) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(tables.here(PROGRAMS[heading]), heading, "exec"), names)
    return names


def test_every_program_of_the_page_is_run() -> None:
    assert PROGRAMS.keys() == {DELTALAKE, f"{DELTALAKE} 2", f"{DELTALAKE} 3", DUCKDB, f"{DUCKDB} 2", POLARS}


def test_deltalake_reads_columns_of_one_host_and_day(tables: Tables) -> None:
    errors = run(DELTALAKE, tables)["errors"]
    assert sorted(errors.column("message").to_pylist()) == sorted(
        record["message"] for _, record in FIRST + SECOND if record["host"]["name"] == "web-1"
    )
    first = min(errors.column("ts").to_pylist())
    assert first == datetime(2026, 10, 5, 9, 29, 59, tzinfo=UTC)


def test_deltalake_answers_sql(tables: Tables) -> None:
    hosts = run(f"{DELTALAKE} 2", tables)["hosts"]
    assert [column.to_pylist() for column in hosts.columns] == [["web-1", "web-2", "web-3"], [9, 3, 1]]


def test_the_json_of_a_row_is_plain_text(tables: Tables) -> None:
    assert run(f"{DELTALAKE} 3", tables)["records"] == [
        {name: record[name] for name in ("http", "kubernetes")}
        for _, record in FIRST
        if record["message"] == "GET /cart 500"
    ]


@pytest.mark.parametrize("name", ["logs", "logs_dead_letter", "logs_marks"])
def test_a_table_needs_no_table_feature(name: str, tables: Tables) -> None:
    protocol = DeltaTable(str(tables.path.with_name(name))).protocol()
    assert (protocol.min_reader_version, protocol.min_writer_version) == (1, 2)
    assert (protocol.reader_features, protocol.writer_features) == (None, None)


def test_all_programs_read_the_same_rows(spark: SparkSession, tables: Tables) -> None:
    import duckdb  # a module that keeps it makes it report leaks when Python ends

    path, columns = str(tables.path), names(LINES)
    dataset, by_spark = DeltaTable(path).to_pyarrow_dataset(), spark.read.format("delta").load(path)
    assert (dataset.schema.names, by_spark.columns) == (columns, columns)
    comparable = [name for name in columns if name not in ("ts", "kafka_ts")]  # times come in forms of their own
    with duckdb.connect() as database:
        by_duckdb = database.from_arrow(dataset).select(*comparable).fetchall()
    by_deltalake = [tuple(row.values()) for row in dataset.to_table(columns=comparable).to_pylist()]
    assert len(by_deltalake) == len(FIRST + SECOND) + 1
    assert sorted(by_deltalake, key=str) == sorted(by_duckdb, key=str)
    assert sorted(by_deltalake, key=str) == sorted(map(tuple, by_spark.select(comparable).collect()), key=str)
    assert sorted(by_deltalake, key=str) == sorted(pl.scan_delta(path).select(comparable).collect().rows(), key=str)


def test_duckdb_counts_the_lines_of_each_minute(tables: Tables) -> None:
    assert run(DUCKDB, tables)["minutes"] == [("09:29", 1), ("09:30", 4), ("09:31", 4)]


def test_duckdb_reads_what_deltalake_selected(tables: Tables) -> None:
    assert run(f"{DUCKDB} 2", tables)["failed"] == [FAILED]


def test_polars_reads_a_field_of_the_json(tables: Tables) -> None:
    ((time, *others),) = run(POLARS, tables)["pods"].rows()
    assert (time.replace(tzinfo=None), *others) == FAILED


# What a table has -> what `to_pyarrow_dataset` names when it refuses it.
PROPERTIES = {
    "TBLPROPERTIES (delta.enableDeletionVectors = true)": "deletionVectors",
    "TBLPROPERTIES (delta.checkpointPolicy = 'v2')": "v2Checkpoint",
}


@pytest.mark.parametrize("properties", PROPERTIES)
def test_the_page_names_the_tables_that_deltalake_opens(properties: str, spark: SparkSession, tmp_path: Path) -> None:
    """When one that is refused begins to work, say so on the page."""
    table = f"delta.`{tmp_path}`"
    spark.sql(f"CREATE TABLE {table} (ts TIMESTAMP, doc STRING) USING DELTA {properties}")
    spark.sql(f"INSERT INTO {table} SELECT TIMESTAMP '2026-10-05 09:30:00', '{{}}'")
    opened = DeltaTable(str(tmp_path))
    assert QueryBuilder().register("t", opened).execute("SELECT ts FROM t").read_all().num_rows == 1
    with pytest.raises(Exception, match=PROPERTIES[properties]):  # its class is private to deltalake
        opened.to_pyarrow_dataset()
