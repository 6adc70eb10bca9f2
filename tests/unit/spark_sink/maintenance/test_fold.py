import json
from pathlib import Path

import pytest

from log_shipper.spark_sink.maintenance import fold
from log_shipper.spark_sink.maintenance.maintain import retried
from log_shipper.spark_sink.storage.rewrites import Conflict
from log_shipper.spark_sink.storage.tables import Table
from tests.unit.spark_sink.maintenance.tables import (
    append_marks,
    at,
    data_files,
    file_mark,
    make_marks,
    partition_mark,
    rows_of,
)

FORGET = at(14).timestamp()


def offsets(table: Table) -> dict[str, int]:
    rows = file_rows(table)
    assert len(rows) == len(dict(rows))
    return dict(rows)


def file_rows(table: Table) -> list[tuple[str, int]]:
    return sorted(rows_of(table, "SELECT file_id, \"offset\" FROM stored WHERE kind = 'file'"))


@pytest.fixture
def table(tmp_path: Path) -> Table:
    table = make_marks(tmp_path / "marks")
    append_marks(table.path, [file_mark("a", 1, 100, days_ago=3), partition_mark(0, 1, 10)])
    append_marks(table.path, [file_mark("a", 2, 200, days_ago=1), file_mark("b", 2, 5), partition_mark(0, 2, 20)])
    return table


def test_one_row_is_left_for_each_thing(table: Table) -> None:
    folding = fold.read(table, FORGET)
    assert (folding.rows, folding.kept_rows, folding.forgotten) == (5, 3, 0)
    folding.commit()
    assert offsets(table) == {"a": 200, "b": 5}
    partitions = rows_of(table, "SELECT topic, end_offset, landing, at FROM stored WHERE kind = 'partition'")
    assert partitions == [("logs", 20, 2, at(0))]
    dates = rows_of(table, "SELECT first_date, last_date, at, landing FROM stored WHERE file_id = 'a'")
    assert dates == [(at(3).date(), at(1).date(), at(1), 2)]


def test_an_append_that_came_meanwhile_stays_and_does_not_fail(table: Table) -> None:
    folding = fold.read(table, FORGET)
    append_marks(table.path, [file_mark("a", 3, 300), file_mark("c", 3, 1), partition_mark(0, 3, 30)])
    folding.commit()
    append_marks(table.path, [file_mark("b", 4, 6)])
    assert file_rows(table) == [
        ("a", 200),
        ("a", 300),
        ("b", 5),
        ("b", 6),
        ("c", 1),
    ]
    fold.read(table, FORGET).commit()
    assert offsets(table) == {"a": 300, "b": 6, "c": 1}


def test_an_append_with_the_same_number_stays_too(table: Table) -> None:
    folding = fold.read(table, FORGET)
    append_marks(table.path, [file_mark("late", 2, 7), file_mark("later", 1, 8)])
    folding.commit()
    assert offsets(table) == {"a": 200, "b": 5, "late": 7, "later": 8}


def test_files_without_a_row_for_long_are_forgotten_and_nothing_else(table: Table) -> None:
    append_marks(table.path, [file_mark("old", 3, 9, days_ago=14.1), file_mark("young", 3, 9, days_ago=13.9)])
    append_marks(table.path, [partition_mark(1, 3, 5, days_ago=400)])
    folding = fold.read(table, FORGET)
    assert folding.forgotten == 1
    folding.commit()
    assert set(offsets(table)) == {"a", "b", "young"}
    assert len(rows_of(table, "SELECT 1 FROM stored WHERE kind = 'partition'")) == 2


def test_a_file_of_which_something_came_lately_is_not_old(table: Table) -> None:
    append_marks(table.path, [file_mark("f", 3, 9, days_ago=30)])
    append_marks(table.path, [file_mark("f", 4, 10)])
    fold.read(table, FORGET).commit()
    assert offsets(table)["f"] == 10


def test_lines_of_last_year_that_landed_today_are_new(table: Table) -> None:
    old = file_mark("archive", 3, 9) | {"first_date": at(400).date(), "last_date": at(399).date()}
    append_marks(table.path, [old])
    fold.read(table, FORGET).commit()
    assert "archive" in offsets(table)


def test_of_two_folds_at_the_same_time_one_fails_and_nothing_is_lost(table: Table) -> None:
    first, second = fold.read(table, FORGET), fold.read(table, FORGET)
    first.commit()
    with pytest.raises(Conflict, match="another process removed or changed part-"):
        second.commit()
    assert offsets(table) == {"a": 200, "b": 5}


def test_a_fold_that_lost_is_done_again(table: Table) -> None:
    tries: list[int] = []

    def step() -> None:
        tries.append(1)
        folding = fold.read(table, FORGET)
        if len(tries) == 1:
            fold.read(table, FORGET).commit()
        folding.commit()

    retried(step)
    assert len(tries) == 2
    assert offsets(table) == {"a": 200, "b": 5}


def test_a_fold_that_always_loses_gives_up(table: Table) -> None:
    tries: list[int] = []

    def step() -> None:
        tries.append(1)
        folding = fold.read(table, FORGET)
        fold.read(table, FORGET).commit()
        folding.commit()

    with pytest.raises(Conflict):
        retried(step)
    assert len(tries) == 5


def test_what_is_folded_already_is_left_alone(table: Table) -> None:
    fold.read(table, FORGET).commit()
    assert fold.read(table, FORGET).idle


def test_an_empty_table_is_left_alone(tmp_path: Path) -> None:
    folding = fold.read(make_marks(tmp_path / "marks"), FORGET)
    assert (folding.rows, folding.idle) == (0, True)


def test_no_data_changed_as_far_as_delta_is_concerned(table: Table) -> None:
    fold.read(table, FORGET).commit()
    assert len(data_files(table)) == 3  # two that were appended, and the folded one: VACUUM takes the first two
    log = Path(table.path, "_delta_log", f"{table.version():020}.json").read_text()
    actions = [json.loads(line) for line in log.splitlines()]
    changes = [part["dataChange"] for action in actions for kind, part in action.items() if kind != "commitInfo"]
    assert changes == [False, False, False]
    assert actions[0]["commitInfo"]["isolationLevel"] == "SnapshotIsolation"
