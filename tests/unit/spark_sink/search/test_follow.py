"""`--follow`: the rows of new commits, each once, in the order in which they land."""

import json
from pathlib import Path

import pytest
from deltalake import DeltaTable

from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.records.schema import Column
from tests.unit.spark_sink.search.search_lab import COLUMNS, Table, line, lines, search


def test_what_is_there_comes_first_then_what_lands(table: Table) -> None:
    table.land(lines(*range(12)))
    printed = search(
        table,
        "line",
        "--follow",
        steps=[lambda: table.land(lines(20)), lambda: table.land([*lines(19), line("other")])],
    )
    assert printed.messages == [*(f"line {second}" for second in range(2, 12)), "line 20", "line 19"]
    assert printed.code == 0


def test_a_limit_is_how_many_come_first(table: Table) -> None:
    table.land(lines(*range(12)))
    step = [lambda: table.land(lines(12, 13))]
    assert search(table, "-f", "-n", "1", steps=step).messages == ["line 11", "line 12", "line 13"]
    assert search(table, "-f", "-n", "0").messages == []


def test_nothing_that_matches_is_1(table: Table) -> None:
    assert search(table, "none", "-f", steps=[lambda: table.land(lines(1))]).code == 1


def test_several_commits_and_files_between_two_looks_come_all(table: Table) -> None:
    def land() -> None:
        table.land(lines(2), lines(1))
        table.land(lines(0))

    assert search(table, "-f", steps=[land]).messages == ["line 1", "line 2", "line 0"]


def test_a_compaction_repeats_no_row(table: Table) -> None:
    table.land(lines(0))
    table.land(lines(1))

    def compact() -> None:
        table.land(lines(2))
        DeltaTable(str(table.path)).optimize.compact()
        table.land(lines(3))

    printed = search(table, "-f", steps=[compact, lambda: table.land(lines(4))])
    assert len(DeltaTable(str(table.path)).file_uris()) == 3  # it did compact
    assert printed.messages == [f"line {second}" for second in range(5)]


def test_rows_that_a_delete_or_a_restore_writes_again_are_not_new(table: Table) -> None:
    table.land(lines(0, 1, 2))

    def delete() -> None:
        DeltaTable(str(table.path)).delete("offset = 10")

    def restore() -> None:
        DeltaTable(str(table.path)).restore(1)

    def empty() -> None:
        DeltaTable(str(table.path)).delete()
        DeltaTable(str(table.path)).restore(2)

    steps = [delete, restore, empty, lambda: Table(table.path).land(lines(3))]
    assert search(table, "-f", "-n", "0", steps=steps).messages == ["line 3"]


def test_a_column_that_is_added_can_be_seen_from_then_on(table: Table) -> None:
    def land() -> None:
        wider = Table(table.path, (*COLUMNS, Column("pod", "STRING", "kubernetes.pod")))
        wider.land([line("new", 1, pod="shop-1")])

    (row,) = search(table, "-f", "--json", steps=[land]).rows
    assert row["pod"] == "shop-1"


def test_files_that_vacuum_deleted_before_they_were_read_are_reported(
    table: Table, capsys: pytest.CaptureFixture[str]
) -> None:
    def vacuum() -> None:
        table.land(lines(1))
        for file in table.path.rglob("*.parquet"):
            file.unlink()
        table.land(lines(2))

    assert search(table, "-f", steps=[vacuum]).messages == ["line 2"]
    assert "is missing (deleted by vacuum?)" in capsys.readouterr().err


def test_a_log_that_was_cleaned_meanwhile_is_a_gap_that_is_reported(
    table: Table, capsys: pytest.CaptureFixture[str]
) -> None:
    def clean() -> None:
        table.land(lines(1))
        table.land(lines(2))
        DeltaTable(str(table.path)).create_checkpoint()
        (table.path / "_delta_log" / f"{1:020}.json").unlink()

    steps = [clean, *[lambda: None] * 30, lambda: table.land(lines(3))]
    assert search(table, "-f", steps=steps).messages == ["line 3"]
    assert "versions 1 to 2 of" in capsys.readouterr().err


def test_a_table_that_is_re_created_ends_it(table: Table, tmp_path: Path) -> None:
    def replace() -> None:
        table.path.rename(tmp_path / "old")
        Table(table.path)

    with pytest.raises(SinkError, match="was re-created"):
        search(table, "-f", steps=[replace, *[lambda: None] * 30])


def test_context_has_the_lines_that_have_landed(table: Table) -> None:
    table.land(lines(0, 1))
    printed = search(table, "line 2", "-f", "-C", "2", steps=[lambda: table.land(lines(2, 3))])
    assert printed.messages == ["line 0", "line 1", "line 2", "line 3"]


def test_a_commit_of_another_writer_need_not_have_all_members() -> None:
    from log_shipper.spark_sink.search.follow import added

    add = {"path": "a", "size": 1, "partitionValues": {}, "dataChange": True}
    assert added([{"add": add}, {"txn": {}}, json.loads('{"commitInfo": {}}')]) == [add]
