import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from log_shipper.spark_sink.errors import Refused, SinkError
from log_shipper.spark_sink.maintenance.optimize import compact
from log_shipper.spark_sink.maintenance.vacuum import (
    CHECK,
    LISTING,
    LogTooShort,
    candidates,
    clock_ahead,
    kept_for,
    vacuum,
)
from log_shipper.spark_sink.storage.layout import assignments, retention_properties
from log_shipper.spark_sink.storage.locations import Location
from log_shipper.spark_sink.storage.spark_tables import Table
from tests.unit.spark_sink.maintenance.tables import age, append_files, data_files, forget_logs, make_lines, messages

pytestmark = pytest.mark.spark

DAY = 86400.0
WEEK = 7 * DAY


@pytest.fixture
def table(spark: SparkSession, tmp_path: Path) -> Table:
    """Four small files that were joined eight days ago, and a file that no version ever named."""
    table = make_lines(spark, tmp_path / "lines", {"2026-11-10": 4})
    compact(table, None)
    Path(table.path, "date=2026-11-10", "killed.parquet").write_bytes(b"half")
    age(table, 8)
    return table


def cut_log(table: Table) -> None:
    """As Delta does it itself to commits older than its log is kept: a checkpoint stands for them."""
    table.log.checkpoint()
    for version in range(2):
        Path(table.path, "_delta_log", f"{version:020}.json").unlink()
    forget_logs(table)


def test_lite_deletes_what_the_log_took_out_and_full_what_no_version_names(table: Table) -> None:
    before, rows = data_files(table), messages(table)
    assert (candidates(table, True, WEEK), candidates(table, False, WEEK)) == (4, 5)
    assert data_files(table) == before
    deleted = vacuum(table, True, WEEK)
    assert deleted.files == 4
    assert (deleted.bytes or 0) > 0
    assert any(name.endswith("killed.parquet") for name in data_files(table))
    assert vacuum(table, False, WEEK).files == 1
    assert (len(data_files(table)), messages(table)) == (1, rows)


def test_what_is_younger_stays(table: Table) -> None:
    append_files(table, "2026-11-10", 2)
    Path(table.path, "date=2026-11-10", "batch-under-way.parquet").write_bytes(b"not committed yet")
    compact(table, None)
    assert vacuum(table, False, 2 * 3600.0).files == 5
    assert len([name for name in data_files(table) if "batch-under-way" in name]) == 1
    assert len(data_files(table)) == 1 + 1 + 2 + 1  # joined now, not committed, appended, joined before


def test_lite_reports_it_when_its_log_is_too_short(table: Table) -> None:
    cut_log(table)
    with pytest.raises(LogTooShort):
        candidates(table, True, WEEK)
    with pytest.raises(LogTooShort):
        vacuum(table, True, WEEK)


def test_after_a_full_one_lite_works_again_though_the_log_was_cut(table: Table) -> None:
    cut_log(table)
    vacuum(table, False, WEEK)
    append_files(table, "2026-11-10", 1)
    compact(table, None)
    age(table, 8)
    assert vacuum(table, True, WEEK).files == 2


def test_files_are_kept_since_the_first_batch_that_may_still_commit_them() -> None:
    now = time.time()
    assert kept_for(WEEK, now, 0.0) == WEEK
    assert kept_for(WEEK, now - DAY, 0.0) == WEEK
    assert kept_for(WEEK, now - 9 * DAY, 0.0) == pytest.approx(9 * DAY, abs=60)
    assert kept_for(WEEK, now, 2 * DAY) == 9 * DAY


def test_the_clock_of_this_host_is_compared_with_that_of_the_file_system(tmp_path: Path) -> None:
    place = Location(str(tmp_path))
    assert clock_ahead(place) == 0.0
    assert clock_ahead(place, lambda: time.time() + 2 * DAY) == pytest.approx(2 * DAY, abs=60)
    assert clock_ahead(place, lambda: time.time() - 2 * DAY) == 0.0  # files look younger than they are
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(SinkError, match=r"cannot compare the clocks: no file can be written to .*missing"):
        clock_ahead(Location(str(tmp_path / "missing")))


def test_less_than_an_hour_is_refused(table: Table) -> None:
    with pytest.raises(Refused, match=r"maintenance.vacuum.retain is 60 s"):
        vacuum(table, False, 60.0)


def test_the_sessions_settings_are_as_they_were_afterwards(table: Table) -> None:
    before = [table.spark.conf.get(name, None) for name in (CHECK, LISTING)]
    candidates(table, True, 3 * DAY)
    assert [table.spark.conf.get(name, None) for name in (CHECK, LISTING)] == before


def test_what_a_table_itself_keeps_is_read_from_its_properties(table: Table) -> None:
    assert (table.log.removed_files_kept(), table.log.log_kept()) == (WEEK, 30 * DAY)
    table.spark.sql(f"ALTER TABLE {table.name} SET TBLPROPERTIES ({assignments(retention_properties(8 * DAY))})")
    assert (table.log.removed_files_kept(), table.log.log_kept()) == (8 * DAY, 11 * DAY)


def test_a_shorter_time_than_the_tables_own_is_what_was_asked_for(table: Table) -> None:
    table.spark.sql(f"ALTER TABLE {table.name} SET TBLPROPERTIES ({assignments(retention_properties(30 * DAY))})")
    assert vacuum(table, True, WEEK).files == 4
