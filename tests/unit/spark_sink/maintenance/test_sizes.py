from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
from deltalake.transaction import AddAction

from log_shipper.spark_sink.maintenance.sizes import Sizes, read_sizes
from log_shipper.spark_sink.storage.locations import Location
from log_shipper.spark_sink.storage.tables import Table
from tests.unit.spark_sink.maintenance.tables import append_files, make_lines


def look(table: Table, small: int = 2**20) -> Sizes:
    sizes = read_sizes(table, small)
    assert sizes is not None
    return sizes


def test_files_rows_and_dates_are_read_from_the_log_alone(tmp_path: Path) -> None:
    table = make_lines(tmp_path / "lines", {"2026-11-10": 3, "2026-11-11": 1})
    for file in Path(table.path).rglob("*.parquet"):
        file.write_bytes(b"")  # opened, this would fail
    sizes = look(table)
    assert [(day.date, day.files, day.rows) for day in sorted(sizes.by_date, key=lambda day: str(day.date))] == [
        (date(2026, 11, 10), 3, 6),
        (date(2026, 11, 11), 1, 2),
    ]
    assert (sizes.files, sizes.rows, sizes.dates) == (4, 8, (date(2026, 11, 10), date(2026, 11, 11)))
    assert (sizes.version, sizes.dated) == (1, True)
    assert sizes.committed is not None
    assert abs(sizes.committed - datetime.now(UTC)) < timedelta(minutes=5)


def test_the_log_is_read_again_each_time(tmp_path: Path) -> None:
    table = make_lines(tmp_path / "lines", {"2026-11-10": 1})
    assert look(table).files == 1
    append_files(table, "2026-11-10", 2)
    assert look(table).files == 3


def test_small_files_are_those_below_the_size(tmp_path: Path) -> None:
    table = make_lines(tmp_path / "lines", {"2026-11-10": 3})
    assert (look(table).small, look(table, small=1).small) == (3, 0)


def test_only_files_of_one_directory_count_as_a_crowd(tmp_path: Path) -> None:
    rows = pa.table({"date": [date(2026, 11, 10)] * 6, "host": [0, 1, 2] * 2, "id": range(6)})
    write_deltalake(tmp_path / "view", rows, partition_by=["date", "host"])
    (part,) = look(Table(Location(str(tmp_path / "view")))).by_date
    assert (part.small, part.max_small_in_directory, part.rows) == (3, 1, 6)


def test_a_table_without_dates_is_one_part(tmp_path: Path) -> None:
    sizes = look(make_lines(tmp_path / "lines", {"2026-11-10": 1, "2026-11-11": 1}, dated=False))
    assert (sizes.dated, sizes.files, sizes.dates, len(sizes.by_date)) == (False, 2, (), 1)


def test_without_statistics_the_rows_are_not_known(tmp_path: Path) -> None:
    table = make_lines(tmp_path / "lines", {"2026-11-10": 1})
    append_without_statistics(table)
    assert (look(table).rows, look(table).files) == (None, 2)
    assert {day.date: day.rows for day in look(table).by_date} == {date(2026, 11, 10): 2, date(2026, 11, 11): None}


def append_without_statistics(table: Table) -> None:
    opened = DeltaTable(table.path)
    added = AddAction("one.parquet", 100, {"date": "2026-11-11"}, 0, True, "{}")
    opened.create_write_transaction([added], "append", opened.schema(), ["date"])


def test_dates_that_are_texts_are_dates_too(tmp_path: Path) -> None:
    write_deltalake(tmp_path / "view", pa.table({"date": ["2026-11-10", "once"], "n": [1, 2]}), partition_by=["date"])
    sizes = look(Table(Location(str(tmp_path / "view"))))
    assert {day.date: day.rows for day in sizes.by_date} == {date(2026, 11, 10): 1, None: 1}


def test_an_empty_table_has_nothing(tmp_path: Path) -> None:
    sizes = look(make_lines(tmp_path / "lines", {}))
    assert (sizes.files, sizes.rows, sizes.bytes, sizes.by_date) == (0, 0, 0, ())


def test_where_there_is_no_table_there_is_no_answer(tmp_path: Path) -> None:
    assert read_sizes(Table(Location(str(tmp_path / "none"))), 1) is None
