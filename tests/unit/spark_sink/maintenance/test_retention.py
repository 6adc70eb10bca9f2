from datetime import date
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from log_shipper.spark_sink.maintenance import retention
from log_shipper.spark_sink.maintenance.known import KnownTable
from log_shipper.spark_sink.maintenance.maintain import retried
from log_shipper.spark_sink.maintenance.sizes import Sizes, read_sizes
from log_shipper.spark_sink.storage.spark_tables import Table
from tests.unit.spark_sink.maintenance.tables import NOW, append_files, data_files, make_lines

pytestmark = pytest.mark.spark

DAY = 86400.0


def look(table: Table) -> Sizes:
    sizes = read_sizes(table, 2**20)
    assert sizes is not None
    return sizes


def test_whole_dates_go_and_their_files_stay_for_vacuum(spark: SparkSession, tmp_path: Path) -> None:
    table = make_lines(spark, tmp_path / "lines", {"2026-11-10": 2, "2026-11-14": 1, "2026-11-15": 1})
    known, files = KnownTable("lines", table, keep=7 * DAY), data_files(table)
    old = retention.plan(known, look(table), NOW)
    assert old is not None
    assert (old.rows, old.files, retention.count(table, old)) == (4, 2, 4)
    assert retention.delete(table, old) == 4
    assert look(table).dates == (date(2026, 11, 14), date(2026, 11, 15))
    assert data_files(table) == files
    assert retention.plan(known, look(table), NOW) is None


def test_bad_records_go_by_when_they_were_written(spark: SparkSession, tmp_path: Path) -> None:
    table = Table(spark, str(tmp_path / "bad"))
    times = "array(TIMESTAMP'2026-11-13 23:59:59Z', TIMESTAMP'2026-11-14 00:00:00Z')"
    rows = spark.sql(f"SELECT at, TIMESTAMP'2020-01-01' AS kafka_ts FROM explode({times}) AS t(at)")
    rows.write.format("delta").save(table.path)
    old = retention.plan(KnownTable("dead letter", table, keep=7 * DAY), look(table), NOW)
    assert old is not None
    assert retention.count(table, old) == 1
    assert retention.delete(table, old) == 1
    assert table.read().count() == 1


def append_bad(table: Table, *times: str) -> None:
    rows = ", ".join(f"(TIMESTAMP'{written}', TIMESTAMP'2020-01-01 00:00:00Z')" for written in times)
    table.spark.sql(f"SELECT * FROM VALUES {rows} AS t(at, kafka_ts)").coalesce(1).write.format("delta").mode(
        "append"
    ).save(table.path)


def test_bad_records_that_are_added_while_old_ones_are_deleted_are_no_conflict(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = Table(spark, str(tmp_path / "bad"))
    append_bad(table, "2026-11-13 00:00:00Z", "2026-11-15 00:00:00Z")
    old = retention.plan(KnownTable("dead letter", table, keep=7 * DAY), look(table), NOW)
    opened = DeltaTable(table.path)
    append_bad(table, "2026-11-21 00:00:00Z")
    assert old is not None
    assert retention.delete_from(opened, old) == 1
    assert table.read().count() == 2


def test_old_rows_that_are_added_while_others_are_deleted_are_a_conflict_that_is_retried(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = make_lines(spark, tmp_path / "lines", {"2026-11-10": 1, "2026-11-15": 1})
    old = retention.plan(KnownTable("lines", table, keep=7 * DAY), look(table), NOW)
    assert old is not None
    opened, deleted = [DeltaTable(table.path)], []
    append_files(table, "2026-11-10", 2)
    append_files(table, "2026-11-15", 1)
    retried(lambda: deleted.append(retention.delete_from(opened.pop() if opened else DeltaTable(table.path), old)))
    assert (opened, deleted, look(table).dates) == ([], [6], (date(2026, 11, 15),))


def test_a_view_with_a_type_that_only_spark_knows_loses_its_old_rows_too(spark: SparkSession, tmp_path: Path) -> None:
    table = Table(spark, str(tmp_path / "view"))
    rows = "SELECT explode(array(DATE'2026-11-10', DATE'2026-11-15')) AS date, parse_json('1') AS n"
    spark.sql(rows).write.format("delta").save(table.path)
    old = retention.plan(KnownTable("view", table, keep=7 * DAY, name="v"), look(table), NOW)
    assert old is not None
    assert retention.delete(table, old) == 1
    assert [row["date"] for row in table.read().select("date").collect()] == [date(2026, 11, 15)]


def test_where_rows_have_no_date_it_is_reported(spark: SparkSession, tmp_path: Path) -> None:
    table = Table(spark, str(tmp_path / "view"))
    spark.sql("SELECT 1 AS n").write.format("delta").save(table.path)
    with pytest.raises(retention.NoDate):
        retention.plan(KnownTable("view", table, keep=DAY, name="v"), look(table), NOW)


@pytest.mark.parametrize("known", [{"keep": None}, {"keep": DAY, "rewritten": True}])
def test_without_a_limit_and_where_each_batch_rewrites_all_nothing_is_deleted(
    spark: SparkSession, tmp_path: Path, known: dict[str, object]
) -> None:
    table = Table(spark, str(tmp_path / "none"))
    sizes = Sizes(0, NOW, True, ())
    assert retention.plan(KnownTable("view", table, **known), sizes, NOW) is None  # type: ignore[arg-type]
