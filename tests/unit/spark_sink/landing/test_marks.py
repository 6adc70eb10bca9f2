"""What a process of the sink knows after it has read the marks. The unit tests of the fold are beside `maintain`."""

import os
from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.landing import marks
from log_shipper.spark_sink.landing.marks import MARKS, Mark
from log_shipper.spark_sink.storage.creation import prepare
from log_shipper.spark_sink.storage.layout import Layout
from log_shipper.spark_sink.storage.locations import Location
from log_shipper.spark_sink.storage.tables import Table
from tests.unit.spark_sink.maintenance.tables import append_marks, at, file_mark, partition_mark

HOUR = 1 / 24


@pytest.fixture
def path(tmp_path: Path) -> str:
    path = str(tmp_path / "marks")
    prepare(Location(path), Layout(MARKS, "marks"))
    return path


def table_at(path: str) -> Table:
    return Table(Location(path))


def table_mark(landing: int, version: int) -> dict[str, object]:
    return {"kind": "table", "landing": landing, "at": at(0), "table": "lines", "version": version}


def topic_mark(landing: int, topic_id: str) -> dict[str, object]:
    return {"kind": "topic", "landing": landing, "at": at(0), "topic": "logs", "topic_id": topic_id}


def test_of_a_file_the_highest_offset_the_whole_span_of_dates_and_the_last_landing_count(path: str) -> None:
    append_marks(path, [file_mark("a", 2, 100, days_ago=2)])
    append_marks(path, [file_mark("a", 3, 50, days_ago=5), file_mark("b", 3, 7) | {"host": None}])
    assert marks.load(table_at(path).snapshot(), 0.0).files == {
        "lines": {
            ("web-1", "a"): Mark(100, date(2026, 11, 16), date(2026, 11, 19), at(2).timestamp()),
            (None, "b"): Mark(7, date(2026, 11, 21), date(2026, 11, 21), at(0).timestamp()),
        }
    }


def test_of_all_else_the_last_append_counts_wherever_it_is_and_however_low(path: str) -> None:
    append_marks(path, [partition_mark(0, 2, 40), table_mark(2, 9), topic_mark(2, "new"), partition_mark(1, 2, 1)])
    append_marks(path, [partition_mark(0, 1, 60), table_mark(1, 12), topic_mark(1, "old")])
    known = marks.load(table_at(path).snapshot(), 0.0)
    assert (known.ends, known.versions, known.topics) == (
        {("logs", 0): 40, ("logs", 1): 1},
        {"lines": 9},
        {"logs": "new"},
    )
    assert (known.appends, known.turn, known.next_turn) == (2, 0, 3)


def test_quiet_files_are_left_out_and_their_appends_count(path: str) -> None:
    append_marks(
        path, [file_mark("a", 1, 1, days_ago=3), file_mark("b", 5, 1, days_ago=1 + HOUR), file_mark("c", 2, 1)]
    )
    known = marks.load(table_at(path).snapshot(), at(1).timestamp())
    assert (list(known.of_table("lines")), known.appends) == ([("web-1", "c")], 5)


def test_without_a_table_nothing_is_known(tmp_path: Path) -> None:
    assert marks.load(table_at(str(tmp_path / "none")).snapshot(), 0.0) == marks.Marks()


def test_a_file_that_is_missing_or_damaged_is_named(path: str) -> None:
    append_marks(path, [file_mark("a", 1, 1)])
    (file,) = Path(path).glob("*.parquet")
    file.write_bytes(b"garbage" * 9)
    with pytest.raises(SinkError, match=f"cannot read the table {path}: .*{file.name}"):
        marks.load(table_at(path).snapshot(), 0.0)
    os.unlink(file)
    with pytest.raises(SinkError, match=file.name):
        marks.load(table_at(path).snapshot(), 0.0)


def test_a_table_that_has_no_marks_is_refused(tmp_path: Path) -> None:
    path = str(tmp_path / "others")
    write_deltalake(path, pa.table({"message": ["a"]}))
    with pytest.raises(SinkError, match=f"cannot read the table {path}: Schema error: No field named kind"):
        marks.load(table_at(path).snapshot(), 0.0)


def test_they_are_the_same_however_many_appends_they_are_spread_over(path: str) -> None:
    rows = [
        [
            file_mark("a", landing, 100 - landing, days_ago=landing),
            file_mark(f"of {landing}", landing, landing),
            partition_mark(landing % 3, landing, 10 - landing),
            table_mark(landing, 7 - landing),
        ]
        for landing in range(1, 8)
    ]
    for few in rows:
        append_marks(path, few)
    known = marks.load(table_at(path).snapshot(), 0.0)
    assert known.ends == {("logs", 0): 4, ("logs", 1): 3, ("logs", 2): 5}
    assert (known.versions, known.appends, known.count) == ({"lines": 0}, 7, 8)
    append_marks(path, [row for few in reversed(rows) for row in few])
    assert marks.load(table_at(path).snapshot(), 0.0) == known
