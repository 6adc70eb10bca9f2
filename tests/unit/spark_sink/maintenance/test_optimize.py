from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyarrow import parquet

from log_shipper.spark_sink.maintenance.optimize import (
    TARGET,
    compact,
    groups_of,
    is_closed,
    plan,
    small_size,
    without_large,
)
from log_shipper.spark_sink.maintenance.sizes import DateFiles, Sizes, read_sizes
from log_shipper.spark_sink.options.maintenance import OptimizeConfig
from log_shipper.spark_sink.storage.data_files import FileLayout
from log_shipper.spark_sink.storage.rewrites import StoredFile, stored_files
from tests.unit.spark_sink.maintenance.tables import LINES, NOW, commit, make_lines, messages

DAY = 86400.0


def part(day: str | None, crowd: int) -> DateFiles:
    of_day = date.fromisoformat(day) if day else None
    return DateFiles(of_day, files=crowd + 1, small=crowd, max_small_in_directory=crowd, bytes=1000, rows=None)


def table_of(*parts: DateFiles, dated: bool = True) -> Sizes:
    return Sizes(7, NOW, dated, parts)


@pytest.mark.parametrize(
    ("day", "after", "now", "closed"),
    [
        ("2026-11-20", 0, "2026-11-21T00:00", True),
        ("2026-11-20", 0, "2026-11-20T23:59", False),
        ("2026-11-20", DAY, "2026-11-21T23:59", False),
        ("2026-11-20", DAY, "2026-11-22T00:00", True),
        ("2026-11-20", DAY / 2, "2026-11-21T12:00", True),
    ],
)
def test_a_date_is_closed_some_time_after_it_ended_in_utc(day: str, after: float, now: str, closed: bool) -> None:
    moment = datetime.fromisoformat(now).replace(tzinfo=UTC)
    assert is_closed(date.fromisoformat(day), after, moment) is closed


@pytest.mark.parametrize(
    ("sizes", "planned"),
    [
        (table_of(part("2026-11-10", 2)), ["2026-11-10"]),
        (table_of(part("2026-11-10", 1)), []),
        (table_of(part("2026-11-21", 999)), []),  # today
        (table_of(part("2026-11-21", 1000)), ["2026-11-21"]),
        (table_of(part("2026-11-20", 500)), []),  # ended, and not yet for a day
        (table_of(part("2027-01-01", 500)), []),  # a clock that is ahead
        (table_of(part("2026-11-12", 9), part("2026-11-10", 9)), ["2026-11-10", "2026-11-12"]),
        (table_of(part(None, 5000)), []),  # rows without a date, in a table that has dates
        (table_of(part(None, 500), dated=False), [None]),
        (table_of(part(None, 1), dated=False), []),
        (table_of(), []),
    ],
)
def test_dates_with_enough_small_files_are_compacted_and_open_ones_from_many_on(
    sizes: Sizes, planned: list[str | None]
) -> None:
    days = [day.date and day.date.isoformat() for day in plan(sizes, OptimizeConfig(), NOW)]
    assert days == planned


def test_small_is_below_half_the_size_that_compacted_files_shall_have() -> None:
    assert small_size(OptimizeConfig(target_size=1000)) == 500
    assert small_size(OptimizeConfig()) == 512 * 1024**2


def test_compacting_one_date_leaves_the_others_and_all_rows_as_they_are(tmp_path: Path) -> None:
    table = make_lines(tmp_path / "lines", {"2026-11-10": 3, "2026-11-11": 3})
    before = messages(table)
    compacted = compact(table, date(2026, 11, 10), TARGET)
    assert (compacted.files_before, compacted.files_after) == (3, 1)
    assert compacted.bytes_before > compacted.bytes_after > 0
    sizes = read_sizes(table, 2**20)
    assert sizes is not None
    assert {day.date: day.files for day in sizes.by_date} == {date(2026, 11, 10): 1, date(2026, 11, 11): 3}
    assert messages(table) == before
    files = [parquet.read_metadata(file) for file in (tmp_path / "lines" / "date=2026-11-10").glob("*.parquet")]
    assert {file.row_group(0).column(0).compression for file in files} == {"ZSTD"}


def test_rows_stay_in_the_order_in_which_they_landed(tmp_path: Path) -> None:
    table, layout = make_lines(tmp_path / "lines", {}), FileLayout(LINES, "date", ("date", "message"))
    for number in range(9):
        rows = [{"date": date(2026, 11, 10), "message": f"{number}{letter}"} for letter in "ab"]
        commit(DeltaTable(table.path), layout, [rows])
    assert compact(table, None, TARGET).files_after == 1
    (file,) = stored_files(table.snapshot())
    written = parquet.read_table(tmp_path / "lines" / file.path).column("message").to_pylist()
    assert written == messages(table)


def stored(path: str, size: int, is_replaceable: bool = True) -> StoredFile:
    return StoredFile(path, size, {}, is_replaceable)


@pytest.mark.parametrize(
    ("files", "groups"),
    [
        ([], []),
        ([stored("a", 40), stored("b", 40), stored("c", 40), stored("d", 10)], [["a", "b"], ["c", "d"]]),
        ([stored("a", 50), stored("b", 50), stored("c", 1)], [["a", "b"], ["c"]]),
        ([stored("x/a", 40), stored("y/b", 40), stored("x/c", 40)], [["x/a", "x/c"], ["y/b"]]),
        ([stored("a", 10), stored("b", 10, is_replaceable=False), stored("c", 10)], [["a", "c"]]),
    ],
)
def test_files_of_a_directory_are_compacted_together_up_to_the_target_size(
    files: list[StoredFile], groups: list[list[str]]
) -> None:
    assert [[file.path for file in group] for group in groups_of(files, 100)] == groups


def test_the_rows_of_a_file_that_stays_alone_are_not_copied(tmp_path: Path) -> None:
    table = make_lines(tmp_path / "lines", {"2026-11-10": 1, "2026-11-11": 1})
    assert compact(table, None, TARGET).files_before == 0
    assert table.version() == 1


def test_a_table_without_dates_is_compacted_as_a_whole(tmp_path: Path) -> None:
    table = make_lines(tmp_path / "lines", {"2026-11-10": 2, "2026-11-11": 2}, dated=False)
    compacted = compact(table, None, TARGET)
    assert (compacted.files_before, compacted.files_after) == (4, 1)


@pytest.mark.parametrize(
    ("files", "kept"),
    [
        ([], ""),
        ([stored("a", 40)], ""),
        ([stored("a", 40), stored("b", 40)], "ab"),
        ([stored("a", 3), stored("b", 1), stored("c", 1)], "bc"),
        ([stored("a", 2), stored("b", 1), stored("c", 1)], "abc"),
        ([stored("a", 9), stored("b", 9), stored("c", 1)], "abc"),
        ([stored("x/a", 3), stored("y/b", 2), stored("y/c", 2), stored("x/d", 2)], "bc"),
    ],
)
def test_a_file_is_copied_only_together_with_as_many_bytes_of_smaller_ones(files: list[StoredFile], kept: str) -> None:
    assert "".join(file.path[-1] for file in without_large(files)) == kept
