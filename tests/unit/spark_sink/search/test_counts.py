"""How many rows match, and what is read for that."""

from collections import Counter
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyarrow import parquet

from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.search.counts import MAX_GROUPS, OTHERS, Count, Counting, Counts, bounded
from log_shipper.spark_sink.search.query import Query
from log_shipper.spark_sink.search.tables import open_table
from log_shipper.spark_sink.storage.locations import Location
from tests.unit.spark_sink.search.search_lab import JUDGE, NOON, Table, line, lines

MINUTE = timedelta(minutes=1)
HOUR = Query(since=NOON, until=NOON + timedelta(hours=1))


def counted(table: Table | Path, counting: Counting, size: int | None = None) -> tuple[Counts, int]:
    """Return the counts, and of how many files rows were read. `size`: of the files, as the log has it."""
    path = table.path if isinstance(table, Table) else table
    opened, total = open_table(Location(str(path))), Counter[tuple[int | None, str | None]]()
    files = opened.files(counting.query)
    count = Count(counting, opened.schema, JUDGE)
    for part in count.answers(files if size is None else (replace(file, size=size) for file in files)):
        total.update(part)
    return dict(total), len(count.scan.files_read)


def test_rows_are_counted_by_spans_of_time(table: Table) -> None:
    table.land(lines(0, 59.999999), lines(60, 61, 179))
    table.land(lines(59, 60), lines(-1, 3600, 3601))
    counts, _ = counted(table, Counting(HOUR, MINUTE))
    assert counts == {(0, None): 3, (1, None): 3, (2, None): 1, (60, None): 1}


def test_a_file_within_a_span_is_not_read(table: Table) -> None:
    table.land(lines(1, 2), lines(61, 62), lines(59, 60))
    assert counted(table, Counting(HOUR, MINUTE)) == ({(0, None): 3, (1, None): 3}, 1)
    assert counted(table, Counting(HOUR)) == ({(0, None): 6}, 0)


def test_a_row_group_within_a_span_is_not_read(table: Table) -> None:
    table.land(lines(1, 2, 59, 60, 61, 62))
    (stored,) = table.path.rglob("*.parquet")
    parquet.write_table(parquet.read_table(stored, partitioning=None), stored, row_group_size=2)
    damaged = bytearray(stored.read_bytes())
    first = parquet.ParquetFile(stored).metadata.row_group(0)
    end = max(first.column(index).data_page_offset for index in range(first.num_columns))
    damaged[4:end] = bytes(end - 4)
    stored.write_bytes(damaged)
    assert counted(table, Counting(HOUR, MINUTE), size=2**30)[0] == {(0, None): 3, (1, None): 3}


def test_a_file_is_read_where_not_all_of_its_rows_need_match(table: Table) -> None:
    table.land(lines(1, 2, 3))
    for query in (
        Query(text="line 2", since=NOON),
        Query(hosts=("web-*",), paths=("app.log",), since=NOON, until=NOON + timedelta(seconds=1)),
        Query(where='"offset" = 20', since=NOON),
        Query(since=NOON + timedelta(seconds=3)),
        Query(until=NOON + timedelta(seconds=1)),
    ):
        assert counted(table, Counting(query)) == ({(0, None): 1}, 1)


def test_rows_without_a_time_are_in_no_span(tmp_path: Path) -> None:
    table = Table(tmp_path / "logs", partition="")
    table.land([line("one", 1), {**line("none"), "ts": None}])
    assert counted(table, Counting(HOUR, MINUTE))[0] == {(0, None): 1}
    assert counted(table, Counting(Query()))[0] == {(0, None): 2}


def test_rows_are_counted_by_a_value(table: Table) -> None:
    table.land([line("a", 1, host="web-1", status=200), line("b", 2, host=None), line("c", 61, doc='{"level":"warn"}')])
    assert counted(table, Counting(HOUR, MINUTE, "host"))[0] == {(0, "web-1"): 1, (0, None): 1, (1, "web-1"): 1}
    assert counted(table, Counting(Query(), value="status"))[0] == {(0, "200"): 1, (0, None): 2}
    assert counted(table, Counting(Query(text="c"), value="doc ->> '$.level'"))[0] == {(0, "warn"): 1}


@pytest.mark.parametrize("value", ["hostt", "host)::VARCHAR, (SELECT 1", "(SELECT 1)", "'"])
def test_a_value_is_one_expression_of_the_columns(value: str, table: Table) -> None:
    with pytest.raises(SinkError, match=r"^the value "):
        counted(table, Counting(Query(), value=value))


def test_a_column_of_text_is_counted_by_its_codes_as_an_expression_is(table: Table) -> None:
    rows = [line("x", second, host=host) for second, host in enumerate(("a", "b", None, "a", "c", "b", None, "a"))]
    table.land(rows[:5], rows[3:])
    table.land(lines(-1, 3601, host="early or late"), lines(61, 3600))
    for query in (HOUR, Query(), Query(since=NOON + timedelta(seconds=3)), Query(until=NOON + timedelta(seconds=4))):
        span = MINUTE if query.since else None
        by_codes = counted(table, Counting(query, span, "host", "host"))[0]
        assert by_codes == counted(table, Counting(query, span, "lower(host)"))[0]
        assert sum(by_codes.values()) > 3
        by_time = Counter[tuple[int | None, str | None]]()
        for (number, _), count in by_codes.items():
            by_time[number, None] += count
        assert by_time == counted(table, Counting(query, span))[0]
    assert counted(table, Counting(HOUR, MINUTE, "status"))[0] == {(0, None): 10, (1, None): 1, (60, None): 1}


def test_files_of_before_a_column_and_those_of_a_partition_are_counted_by_it(table: Table) -> None:
    table.land(lines(1, 2))
    newer = pa.table(
        {"ts": [NOON], "date": [NOON.date()], "message": ["x"], "env": ["prod"], "host": [None]},
        schema=pa.schema(
            {"ts": pa.timestamp("us", "UTC"), "date": pa.date32(), "message": pa.string(), "env": pa.string()}
            | {"host": pa.string()}
        ),
    )
    write_deltalake(str(table.path), newer, mode="append", schema_mode="merge", partition_by=["date"])
    assert counted(table, Counting(HOUR, None, "env", "env"))[0] == {(0, "prod"): 1, (0, None): 2}
    by_host = table.path.parent / "by_host"
    write_deltalake(str(by_host), pa.table({"ts": [NOON], "message": ["x"], "host": ["a"]}), partition_by=["host"])
    assert counted(by_host, Counting(HOUR, None, "host", "host"))[0] == {(0, "a"): 1}


def test_rows_without_a_time_are_counted_where_no_time_is_asked_for(table: Table) -> None:
    table.land([*lines(1), line("x", host="b") | {"ts": None}])
    for value in ("host", "lower(host)"):
        column = value if value == "host" else ""
        assert counted(table, Counting(Query(), MINUTE, value, column, first=0))[0][None, "b"] == 1
        assert counted(table, Counting(HOUR, MINUTE, value, column))[0] == {(0, "web-1"): 1}


def test_of_very_many_values_the_rarest_are_added_up() -> None:
    counts = Counter[tuple[int | None, str | None]]({(number % 2, f"{number}"): 1 for number in range(MAX_GROUPS)})
    counts.update({(0, "often"): 5, (1, "often"): 7})
    kept = bounded(counts)
    assert (kept[0, "often"], kept[1, "often"], sum(kept.values())) == (5, 7, counts.total())
    assert kept[0, OTHERS] + kept[1, OTHERS] == 2
