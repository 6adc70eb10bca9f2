from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from deltalake.transaction import AddAction
from pyarrow import parquet

from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.maintenance import retention
from log_shipper.spark_sink.maintenance.known import KnownTable
from log_shipper.spark_sink.maintenance.maintain import retried
from log_shipper.spark_sink.maintenance.sizes import Sizes, read_sizes
from log_shipper.spark_sink.storage.locations import Location
from log_shipper.spark_sink.storage.rewrites import Conflict
from log_shipper.spark_sink.storage.tables import Table
from tests.unit.spark_sink.maintenance.tables import NOW, append_files, data_files, demand_feature, make_lines, rows_of

DAY = 86400.0


def look(table: Table) -> Sizes:
    sizes = read_sizes(table, 2**20)
    assert sizes is not None
    return sizes


def plan(known: KnownTable) -> retention.ExpiredRows | None:
    return retention.plan(known, known.table.snapshot(), look(known.table), NOW)


def delete(table: Table, expired: retention.ExpiredRows) -> int:
    return retention.delete(table.snapshot(), expired)


def count(table: Table, expired: retention.ExpiredRows) -> int:
    return retention.count(table.snapshot(), expired)


def test_whole_dates_go_and_their_files_stay_for_vacuum(tmp_path: Path) -> None:
    table = make_lines(tmp_path / "lines", {"2026-11-10": 2, "2026-11-14": 1, "2026-11-15": 1})
    known, files = KnownTable("lines", table, keep=7 * DAY), data_files(table)
    old = plan(known)
    assert old is not None
    assert (old.rows, old.files, count(table, old)) == (4, 2, 4)
    assert delete(table, old) == 4
    assert look(table).dates == (date(2026, 11, 14), date(2026, 11, 15))
    assert data_files(table) == files
    assert plan(known) is None


def test_bad_records_go_by_when_they_were_written(tmp_path: Path) -> None:
    table = Table(Location(str(tmp_path / "bad")))
    append_bad(table, "2026-11-13T23:59:59Z", "2026-11-14T00:00:00Z")
    old = plan(KnownTable("dead letter", table, keep=7 * DAY))
    assert old is not None
    assert count(table, old) == 1
    assert delete(table, old) == 1
    assert rows_of(table, "SELECT at FROM stored") == [datetime(2026, 11, 14, tzinfo=UTC)]


def append_bad(table: Table, *times: str) -> None:
    written = pa.array(map(datetime.fromisoformat, times), pa.timestamp("us", "UTC"))
    long_ago = pa.array([datetime(2020, 1, 1, tzinfo=UTC)] * len(times), pa.timestamp("us", "UTC"))
    write_deltalake(table.path, pa.table({"at": written, "kafka_ts": long_ago}), mode="append")


def test_bad_records_that_are_added_while_old_ones_are_deleted_are_no_conflict(tmp_path: Path) -> None:
    table = Table(Location(str(tmp_path / "bad")))
    append_bad(table, "2026-11-13T00:00:00Z", "2026-11-15T00:00:00Z")
    old = plan(KnownTable("dead letter", table, keep=7 * DAY))
    opened = table.snapshot()
    append_bad(table, "2026-11-21T00:00:00Z")
    assert old is not None
    assert retention.delete(opened, old) == 1
    assert len(rows_of(table, "SELECT 1 FROM stored")) == 2


def test_old_rows_that_are_added_while_others_are_deleted_are_a_conflict_that_is_retried(tmp_path: Path) -> None:
    table = make_lines(tmp_path / "lines", {"2026-11-10": 1, "2026-11-15": 1})
    old = plan(KnownTable("lines", table, keep=7 * DAY))
    assert old is not None
    opened, deleted = [table.snapshot()], []
    append_files(table, "2026-11-10", 2)
    append_files(table, "2026-11-15", 1)
    retried(lambda: deleted.append(retention.delete(opened.pop() if opened else table.snapshot(), old)))
    assert (opened, deleted, look(table).dates) == ([], [6], (date(2026, 11, 15),))


@pytest.mark.parametrize("partition_by", [[], ["date"]])
def test_dates_that_are_texts_are_compared_as_dates(tmp_path: Path, partition_by: list[str]) -> None:
    table = Table(Location(str(tmp_path / "view")))
    rows = pa.table({"date": ["2026-11-10", "2026-11-15"], "n": [1, 2]})
    write_deltalake(table.path, rows, partition_by=partition_by)
    old = plan(KnownTable("view", table, keep=7 * DAY, name="v"))
    assert old is not None
    assert (count(table, old), delete(table, old)) == (1, 1)
    assert rows_of(table, "SELECT date FROM stored") == ["2026-11-15"]


def test_a_table_feature_that_prevents_it_is_named(tmp_path: Path) -> None:
    table = make_lines(tmp_path / "view", {"2026-11-10": 1})
    old = plan(KnownTable("view", table, keep=7 * DAY, name="v"))
    demand_feature(table, "rowTracking")
    assert old is not None
    with pytest.raises(SinkError, match=r"cannot delete old rows of .*RowTracking") as caught:
        delete(table, old)
    assert not isinstance(caught.value, Conflict)


def test_where_a_removal_would_not_count_nothing_is_deleted(tmp_path: Path) -> None:
    """The library deltalake would write another path than Delta's Java has added: a rewritten file would be there
    beside it."""
    table = Table(Location(str(tmp_path / "view")))
    rows = pa.table({"date": ["2026-11-10", "2026-11-15"], "host": ["x", "x"]})
    write_deltalake(table.path, rows, partition_by=["host"])
    log = tmp_path / "view" / "_delta_log" / f"{0:020}.json"
    log.write_text(log.read_text().replace("host=x/", "host=ä/"))
    (tmp_path / "view" / "host=x").rename(tmp_path / "view" / "host=ä")
    old = plan(KnownTable("view", table, keep=7 * DAY, name="v"))
    assert old is not None
    with pytest.raises(
        SinkError, match=r"a form that deltalake does not support\. Run in Spark: DELETE FROM delta\.`.*` WHERE date < "
    ):
        delete(table, old)
    assert table.version() == 0


def test_where_rows_have_no_date_it_is_reported(tmp_path: Path) -> None:
    table = Table(Location(str(tmp_path / "view")))
    write_deltalake(table.path, pa.table({"n": [1]}))
    with pytest.raises(retention.NoDate):
        plan(KnownTable("view", table, keep=DAY, name="v"))


@pytest.mark.parametrize("known", [{"keep": None}, {"keep": DAY, "rewritten": True}])
def test_without_a_limit_and_where_each_batch_rewrites_all_nothing_is_deleted(
    tmp_path: Path, known: dict[str, object]
) -> None:
    table = make_lines(tmp_path / "view", {"2026-11-01": 1})
    assert plan(KnownTable("view", table, **known)) is None  # type: ignore[arg-type]


def test_times_in_sparks_own_form_are_kept_where_nanoseconds_do_not_reach(tmp_path: Path) -> None:
    """INT96: views that earlier builds had Delta's Java write have such files. Nanoseconds end in 1677 and 2262."""
    times = [datetime(year, 2, 3, 4, 5, 6, 789, UTC) for year in (1500, 2026, 2500)]
    dates = [date(2026, 11, 15), date(2026, 11, 1), date(2026, 11, 15)]
    rows = pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC")), "date": pa.array(dates, pa.date32())})
    write_deltalake(tmp_path, rows.slice(0, 0))
    file = tmp_path / "of_java.parquet"
    parquet.write_table(rows, file, use_deprecated_int96_timestamps=True)
    empty, table = DeltaTable(tmp_path), Table(Location(str(tmp_path)))
    added = AddAction(file.name, file.stat().st_size, {}, 0, True, '{"numRecords": 3}')
    empty.create_write_transaction([added], "append", empty.schema(), [])
    old = plan(KnownTable("view", table, keep=7 * DAY))
    assert old is not None
    assert delete(table, old) == 1
    assert rows_of(table, "SELECT ts FROM stored ORDER BY ts") == [times[0], times[2]]
