from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from log_shipper.spark_sink.maintenance.sizes import Sizes, read_sizes, readable_bytes
from log_shipper.spark_sink.storage.spark_tables import Table
from tests.unit.spark_sink.maintenance.tables import append_files, make_lines

pytestmark = pytest.mark.spark


def look(table: Table, small: int = 2**20) -> Sizes:
    sizes = read_sizes(table, small)
    assert sizes is not None
    return sizes


def test_files_rows_and_dates_are_read_from_the_log_alone(spark: SparkSession, tmp_path: Path) -> None:
    table = make_lines(spark, tmp_path / "lines", {"2026-11-10": 3, "2026-11-11": 1})
    for file in Path(table.path).rglob("*.parquet"):
        file.write_bytes(b"")  # opened, this would fail
    sizes = look(table)
    assert [(day.date, day.files, day.rows) for day in sorted(sizes.by_date, key=lambda day: str(day.date))] == [
        (date(2026, 11, 10), 3, 6),
        (date(2026, 11, 11), 1, 2),
    ]
    assert (sizes.files, sizes.rows, sizes.dates) == (4, 8, (date(2026, 11, 10), date(2026, 11, 11)))
    assert (sizes.version, sizes.dated) == (1, True)
    assert abs(sizes.committed - datetime.now(UTC)) < timedelta(minutes=5)


def test_the_log_is_read_again_each_time(spark: SparkSession, tmp_path: Path) -> None:
    table = make_lines(spark, tmp_path / "lines", {"2026-11-10": 1})
    assert look(table).files == 1
    append_files(table, "2026-11-10", 2)
    assert look(table).files == 3


def test_small_files_are_those_below_the_size(spark: SparkSession, tmp_path: Path) -> None:
    table = make_lines(spark, tmp_path / "lines", {"2026-11-10": 3})
    assert (look(table).small, look(table, small=1).small) == (3, 0)


def test_only_files_of_one_directory_count_as_a_crowd(spark: SparkSession, tmp_path: Path) -> None:
    rows = spark.sql("SELECT DATE'2026-11-10' AS date, id % 3 AS host, id FROM range(6)").coalesce(1)
    rows.write.format("delta").partitionBy("date", "host").save(str(tmp_path / "view"))
    (part,) = look(Table(spark, str(tmp_path / "view"))).by_date
    assert (part.small, part.most_in_directory, part.rows) == (3, 1, 6)


def test_a_table_without_dates_is_one_part(spark: SparkSession, tmp_path: Path) -> None:
    sizes = look(make_lines(spark, tmp_path / "lines", {"2026-11-10": 1, "2026-11-11": 1}, dated=False))
    assert (sizes.dated, sizes.files, sizes.dates, len(sizes.by_date)) == (False, 2, (), 1)


def test_without_statistics_the_rows_are_not_known(spark: SparkSession, tmp_path: Path) -> None:
    table = make_lines(spark, tmp_path / "lines", {"2026-11-10": 1})
    spark.conf.set("spark.databricks.delta.stats.collect", "false")
    spark.sql(f"INSERT INTO {table.name} VALUES (DATE'2026-11-11', 'one')")
    spark.conf.unset("spark.databricks.delta.stats.collect")
    assert look(table).rows is None


def test_an_empty_table_has_nothing(spark: SparkSession, tmp_path: Path) -> None:
    sizes = look(make_lines(spark, tmp_path / "lines", {}))
    assert (sizes.files, sizes.rows, sizes.bytes, sizes.by_date) == (0, 0, 0, ())


def test_where_there_is_no_table_there_is_no_answer(spark: SparkSession, tmp_path: Path) -> None:
    assert read_sizes(Table(spark, str(tmp_path / "none")), 1) is None


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1536, "1.5 KiB"),
        (2**30, "1.0 GiB"),
        (3 * 2**40, "3.0 TiB"),
        (2**50, "1024.0 TiB"),
    ],
)
def test_bytes_are_written_for_people(count: int, text: str) -> None:
    assert readable_bytes(count) == text


def test_a_path_is_quoted_for_sql(spark: SparkSession) -> None:
    assert Table(spark, "/a`b").name == "delta.`/a``b`"
