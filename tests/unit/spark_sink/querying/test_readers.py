"""The tables are open to programs that know nothing of Spark: the programs of docs/querying.md, as they stand there."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable, QueryBuilder
from pyspark.sql import SparkSession

from spark_sink.records.schema import LINES, names
from tests.unit.spark_sink.querying.tables import FIRST, SECOND, Tables, blocks

pytestmark = [pytest.mark.spark, pytest.mark.slow("a page of the documentation")]

PROGRAMS = blocks("python")
DELTALAKE, DUCKDB = "Without Spark: deltalake", "Without Spark: DuckDB"


def run(heading: str, tables: Tables) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(tables.here(PROGRAMS[heading]), heading, "exec"), names)
    return names


def test_every_program_of_the_page_is_run() -> None:
    assert PROGRAMS.keys() == {DELTALAKE, f"{DELTALAKE} 2", f"{DELTALAKE} 3", DUCKDB, f"{DUCKDB} 2"}


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


def test_a_variant_is_decoded_without_java(tables: Tables) -> None:
    assert run(f"{DELTALAKE} 3", tables)["records"] == [
        record for _, record in FIRST if record["message"] == "GET /cart 500"
    ]


def test_deltalake_reads_every_column(tables: Tables) -> None:
    table = DeltaTable(str(tables.path)).to_pyarrow_dataset().to_table()
    assert table.num_rows == len(FIRST + SECOND) + 1
    assert table.column_names == names(LINES)


def test_duckdb_counts_the_lines_of_each_minute(tables: Tables) -> None:
    assert run(DUCKDB, tables)["minutes"] == [("09:29", 1), ("09:30", 4), ("09:31", 4)]


def test_duckdb_reads_what_deltalake_selected(tables: Tables) -> None:
    assert run(f"{DUCKDB} 2", tables)["hosts"] == [("web-1", 9), ("web-2", 3)]


# What a table has -> what `to_pyarrow_dataset` names when it refuses it.
PROPERTIES = {
    "CLUSTER BY (ts)": None,
    "TBLPROPERTIES (delta.enableDeletionVectors = true)": "deletionVectors",
    "TBLPROPERTIES (delta.columnMapping.mode = 'name')": "columnMapping",
    "TBLPROPERTIES (delta.checkpointPolicy = 'v2')": "v2Checkpoint",
}


@pytest.mark.parametrize("properties", PROPERTIES)
def test_the_page_names_the_tables_that_deltalake_opens(properties: str, spark: SparkSession, tmp_path: Path) -> None:
    """When one that is refused begins to work, say so on the page."""
    table = f"delta.`{tmp_path}`"
    spark.sql(f"CREATE TABLE {table} (ts TIMESTAMP, doc VARIANT) USING DELTA {properties}")
    spark.sql(f"INSERT INTO {table} SELECT TIMESTAMP '2026-10-05 09:30:00', parse_json('1')")
    opened = DeltaTable(str(tmp_path))
    assert QueryBuilder().register("t", opened).execute("SELECT ts FROM t").read_all().num_rows == 1
    if (refused := PROPERTIES[properties]) is None:
        assert opened.to_pyarrow_dataset().to_table().num_rows == 1
    else:
        with pytest.raises(Exception, match=refused):  # its class is private to deltalake
            opened.to_pyarrow_dataset()
