"""What `spark-sink search` prints of small tables."""

from log_shipper.spark_sink.search.reading import BATCH
from tests.unit.spark_sink.search.search_lab import Table, line, lines, search


def test_a_hit_has_time_host_path_and_message(table: Table) -> None:
    table.land([line("GET /cart 500", 1.5)])
    assert search(table, "cart").text == "2026-11-21T12:00:01.500Z web-1 /var/log/app.log: GET /cart 500\n"


def test_the_newest_come_first_also_where_files_overlap_in_time(table: Table) -> None:
    table.land(lines(1, 5, 9), lines(2, 4, 6))
    table.land(lines(3, 7), lines(0, 8))
    assert search(table).messages == [f"line {second}" for second in range(9, -1, -1)]


def test_lines_of_one_time_come_last_line_first(table: Table) -> None:
    table.land([line("a", 1, number=1), line("b", 1, number=2)], [line("c", 1, number=3)])
    assert search(table).messages == ["c", "b", "a"]


def test_it_ends_at_the_limit(table: Table) -> None:
    table.land(lines(*range(0, 120, 2)), lines(*range(1, 120, 2)))
    assert len(search(table).lines) == 100
    assert search(table, "-n", "2").messages == ["line 119", "line 118"]
    assert len(search(table, "-n", "0").lines) == 120


def test_the_exit_code_is_that_of_grep(table: Table) -> None:
    table.land(lines(1))
    assert (search(table, "line").code, search(table, "none").code) == (0, 1)


def test_a_hit_far_within_a_file_has_its_own_columns(table: Table) -> None:
    rows = [line("other", 0)] * BATCH
    table.land([*rows, line("hit", 1, path="/a", status=1), *rows, line("hit", 2, path="/b", status=2)])
    hits = search(table, "hit", "--json").rows
    assert [(row["path"], row["status"]) for row in hits] == [("/b", 2), ("/a", 1)]


def test_an_empty_table_has_no_hits(table: Table) -> None:
    assert (search(table).code, search(table).text) == (1, "")
