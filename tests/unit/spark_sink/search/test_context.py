"""The lines around a hit."""

from datetime import timedelta

from log_shipper.spark_sink.search.context import Neighbours
from log_shipper.spark_sink.search.tables import open_table
from log_shipper.spark_sink.storage.locations import Location
from tests.unit.spark_sink.search.search_lab import JUDGE, NOON, Row, Table, line, lines, search


def test_context_comes_from_other_data_files_in_the_order_of_the_file(table: Table) -> None:
    table.land(lines(0, 1, 2), lines(3, 4))
    table.land(lines(5, 6, 7))
    printed = search(table, "line 4", "--context", "2")
    assert printed.lines == [
        f"2026-11-21T12:00:0{second}.000Z web-1 /var/log/app.log{':' if second == 4 else '-'} line {second}"
        for second in (2, 3, 4, 5, 6)
    ]


def test_context_is_of_the_same_file_of_the_same_host(table: Table) -> None:
    others = [line("other host", 1, host="web-2"), line("other file", 1, file_id="77bb")]
    table.land([*lines(0, 1, 2), *others])
    assert search(table, "line 1", "-C", "1").messages == ["line 0", "line 1", "line 2"]


def test_groups_are_separated_and_the_newest_comes_first(table: Table) -> None:
    table.land([line("hit" if second in (2, 8) else f"{second}", second) for second in range(10)])
    assert search(table, "hit", "-C", "1").messages == ["7", "hit", "9", "--", "1", "hit", "3"]


def test_hits_that_are_near_are_one_group_and_no_line_comes_twice(table: Table) -> None:
    table.land([line("hit" if second in (3, 5, 7) else f"{second}", second) for second in range(11)])
    printed = search(table, "hit", "-C", "2")
    assert printed.messages == ["1", "2", "hit", "4", "hit", "6", "hit", "8", "9"]
    assert [" hit" in text and "log:" in text for text in printed.lines].count(True) == 3


def test_json_marks_the_lines_of_context(table: Table) -> None:
    table.land(lines(0, 1, 2))
    assert [row["match"] for row in search(table, "line 1", "-C", "1", "--json").rows] == [False, True, False]
    assert "match" not in search(table, "line 1", "--json").rows[0]


def test_lines_that_were_dropped_leave_a_gap(table: Table) -> None:
    table.land(lines(0, 3), lines(6))
    table.land(lines(9))
    assert search(table, "line 6", "-C", "1").messages == ["line 3", "line 6", "line 9"]


def test_a_line_without_a_place_has_no_context(table: Table) -> None:
    table.land([line("alone", 1, file_id=None, offset=None, host=None), *lines(0, 2)])
    assert search(table, "alone", "-C", "3").messages == ["alone"]


def test_context_crosses_midnight(table: Table) -> None:
    midnight = NOON + timedelta(hours=12)
    table.land([line("before", ts=midnight - timedelta(seconds=1), number=0), line("after", ts=midnight, number=1)])
    assert search(table, "after", "-C", "1").messages == ["before", "after"]


def test_a_limit_counts_hits_and_no_context(table: Table) -> None:
    table.land([line("hit" if second % 4 == 0 else f"{second}", second) for second in range(12)])
    assert search(table, "hit", "-C", "1", "-n", "2").messages == ["7", "hit", "9", "--", "3", "hit", "5"]


def test_the_files_read_for_context_are_few(table: Table) -> None:
    """The neighbours follow one another without a gap, so no other file is opened."""
    from log_shipper.spark_sink.search.context import Side

    side = Side(line("hit", 2), 2, is_before=True)
    assert not side.is_complete(0)
    side.add_rows(lines(1, 0, 5))
    assert [row["message"] for row in side.lines] == ["line 1", "line 0"]
    assert side.is_complete(0)
    with_gap = Side(line("hit", 3), 1, is_before=True)
    with_gap.add_rows(lines(1))
    assert not with_gap.is_complete(2_000_000)
    assert with_gap.is_complete(2_000_001)


def test_context_continues_in_the_files_of_before_and_after_a_rotation(table: Table) -> None:
    """Each rotated file keeps its id, and the path that it had when it was read."""
    first = [line(f"old {number}", number, number=number, file_id="1") for number in range(3)]
    second = [line(f"now {number}", 10 + number, number=number, file_id="2") for number in range(3)]
    third = [line(f"new {number}", 20 + number, number=number, file_id="3") for number in range(3)]
    others = [line("other path", 11, file_id="4", path="/var/log/b.log"), line("other host", 9, host="b", file_id="5")]
    table.land(first, [*second, *others])
    table.land(third)
    opened = open_table(Location(str(table.path)))

    def context(row: Row, count: int) -> tuple[list[str], list[str]]:
        before, after = Neighbours(JUDGE, count).across_rotation(row, [opened])
        return [row["message"] for row in before], [row["message"] for row in after]

    assert context(second[1], 4) == (["old 0", "old 1", "old 2", "now 0"], ["now 2", "new 0", "new 1", "new 2"])
    assert context(second[1], 1) == (["now 0"], ["now 2"])
    assert context(first[0], 2) == ([], ["old 1", "old 2"])
    assert context(third[2], 9) == (
        [f"{name} {number}" for name in ("old", "now", "new") for number in range(3)][:-1],
        [],
    )
