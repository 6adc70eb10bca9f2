"""What the page gets for its questions."""

import io
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyarrow import parquet

from log_shipper.runtime.monitor.exchange import RefusedRequest
from log_shipper.spark_sink.search.counts import MAX_GROUPS
from log_shipper.spark_sink.search.ui import answers
from log_shipper.spark_sink.search.ui.server import SearchPage
from log_shipper.spark_sink.search.ui.sources import source_of
from tests.unit.spark_sink.search.search_lab import NOON, Table, line, lines
from tests.unit.spark_sink.search.ui.conftest import Reader

SINCE, UNTIL = NOON.isoformat(), (NOON + timedelta(hours=1)).isoformat()


def test_rows_come_newest_first_with_what_was_searched(table: Table, reader: Reader) -> None:
    table.land(lines(1, 2), lines(3, host="web-2"))
    start, *rows, end = reader.stream("/rows", q="host:web-1 line", where="status IS NULL", since=SINCE)
    assert start["start"]["since"] == SINCE
    assert (
        start["start"]["sql"]
        == """(regexp_matches(message, '(?im)line') AND "host" = 'web-1') AND (\nstatus IS NULL\n)"""
    )
    assert [row["row"]["message"] for row in rows] == ["line 2", "line 1"]
    assert end["end"] == {"rows": 2, "complete": True, "files": 1, "seconds": end["end"]["seconds"]}


def test_an_answer_has_whether_it_was_cut(table: Table, reader: Reader) -> None:
    table.land(lines(1, 2, 3))
    assert reader.messages(limit=2) == ["line 3", "line 2"]
    assert [reader.answer("/rows", limit=limit)["end"]["complete"] for limit in (2, 3, 4)] == [False, True, True]


def test_large_rows_end_an_answer(table: Table, reader: Reader) -> None:
    half = "x" * (answers.MAX_BYTES // 2)
    table.land([line(half, second) for second in range(4)])
    assert {"rows": 2, "complete": False}.items() <= reader.answer("/rows")["end"].items()


def test_documents_are_parsed_and_nothing_of_a_line_is_lost(table: Table, reader: Reader) -> None:
    hostile = "\x1b[31m<b>\u202e=cmd()\n\0"
    table.land([line(hostile, 1, doc='{"id":12345678901234567890}', fields="not json", offset=2**60)])
    (row,) = [answer["row"] for answer in reader.stream("/rows") if "row" in answer]
    assert (row["message"], row["doc"], row["fields"], row["offset"]) == (
        hostile,
        {"id": 12345678901234567890},
        "not json",
        2**60,
    )


@pytest.mark.parametrize(
    ("parameters", "error"),
    [
        ({"where": "1 +"}, "the SQL condition '1 +' is not SQL: "),
        ({"where": "nothing = 1"}, "the SQL condition 'nothing = 1': "),
        ({"where": "read_text('/etc/passwd') = ''"}, "calls read_text, which is not allowed"),
        ({"limit": "0"}, "limit is '0': must be 1 to 5000"),
        ({"limit": "x"}, "limit is 'x': must be 1 to 5000"),
        ({"limit": "0000000012"}, "limit is '0000000012': must be 1 to 5000"),
    ],
)
def test_an_error_is_the_end_of_an_answer(parameters: dict[str, str], error: str, table: Table, reader: Reader) -> None:
    table.land(lines(1))
    assert error in reader.answer("/rows", **parameters)["error"]


@pytest.mark.parametrize(
    ("parameters", "error"),
    [
        ({"since": "soon"}, "'soon' is not a time"),
        ({"since": "1m", "until": "2m"}, "the time range is empty: it begins at "),
        ({"q": "a OR b"}, "OR is not supported"),
        ({"q": "x " * 26}, "the search has 26 words \\(maximum: 25\\)"),
        ({"where": "x" * 2001}, "the SQL condition is too long \\(maximum: 2000 characters\\)"),
        ({"q": "x" * 2001}, "the search is too long \\(maximum: 2000 characters\\)"),
        ({"table": "other"}, "there is no table 'other'; /tables lists them"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused(parameters: dict[str, str], error: str, reader: Reader) -> None:
    with pytest.raises(RefusedRequest, match=error) as refused:
        reader.ask("/rows", **parameters)
    assert refused.value.response.status == 400


def test_counts_by_time_and_value(table: Table, reader: Reader) -> None:
    table.land(lines(1, 61, 62), lines(62, host="web-2"), lines(63, host=None))
    drawn = reader.answer("/counts", since=SINCE, until=UNTIL, by="host", bars=100, top=2)["counts"]
    assert (drawn["start"], drawn["span"], drawn["bars"]) == (NOON.timestamp(), 60, 61)
    assert [(part["value"], part["rows"], part["bars"][:3]) for part in drawn["series"]] == [
        ("web-1", 3, [1, 2, 0]),
        (None, 1, [0, 1, 0]),
    ]
    others = drawn["others"]
    assert (others["values"], others["rows"], others["bars"][:3], drawn["total"]) == (1, 1, [0, 1, 0], 5)
    assert (drawn["exact"], drawn["read"]) == (True, 1)


def test_counts_without_ends_are_those_of_all_rows(table: Table, reader: Reader) -> None:
    table.land(lines(0, 10), lines(3600 * 24 * 400))
    drawn = reader.answer("/counts", bars=10)["counts"]
    assert drawn["bars"] <= 10
    assert (sum(drawn["series"][0]["bars"]), drawn["total"]) == (3, 3)
    assert drawn["series"][0]["bars"][0] == 2


def test_the_values_of_a_field_are_counted_without_time(table: Table, reader: Reader) -> None:
    table.land([line("x", 1, doc='{"log":{"level":"error"}}'), line("y", 2, doc='{"log.level":"error"}')], lines(3))
    drawn = reader.answer("/counts", by="log.level", top=12)["counts"]
    assert [(part["value"], part["rows"]) for part in drawn["series"]] == [("error", 2), (None, 1)]
    assert "no column" not in reader.answer("/counts", by="any").get("error", "")


def test_of_very_many_values_the_rarest_are_counted_together(table: Table, reader: Reader) -> None:
    table.land([line("x", 1, host=f"host-{number:05}") for number in range(MAX_GROUPS)], lines(2, 3, 4))
    table.land([line("x", 1, host="one more")])
    drawn = reader.answer("/counts", by="host", top=1)["counts"]
    assert drawn["series"] == [{"value": "web-1", "rows": 3, "bars": []}]
    assert drawn["others"] == {"rows": MAX_GROUPS + 1, "bars": [], "values": None}
    assert (drawn["exact"], drawn["total"]) == (False, MAX_GROUPS + 4)


def test_bars_end_now_and_have_all_rows(table: Table, reader: Reader) -> None:
    """Also those of which the log has no times, and those without one count for the total."""
    table.land(lines(1, 2), [line("x", host="b") | {"ts": None}])
    drawn = reader.answer("/counts", bars=10, since=SINCE)["counts"]
    assert drawn["total"] == 2
    assert drawn["start"] + drawn["span"] * drawn["bars"] > datetime.now(UTC).timestamp()
    drawn = reader.answer("/counts", bars=10)["counts"]
    assert (drawn["total"], sum(drawn["series"][0]["bars"])) == (3, 2)
    for answer in (reader.answer("/counts", bars=1), reader.answer("/counts", bars=10, until="2025-01-01")):
        assert answer["counts"]["bars"] >= 1
    without = pa.table({"ts": pa.array([NOON], pa.timestamp("us", "UTC")), "message": ["x"]})
    path = table.path.parent / "without"
    write_deltalake(str(path), without, configuration={"delta.dataSkippingNumIndexedCols": "0"})
    assert Reader(SearchPage([source_of([str(path)])])).answer("/counts", bars=5)["counts"]["total"] == 1


def test_what_lands_is_followed(table: Table, reader: Reader) -> None:
    table.land(lines(1))
    answer = reader.stream("/follow", q="-noise")
    assert next(answer) == {"start": {"sql": "(NOT coalesce(regexp_matches(message, '(?im)noise'), false))"}}
    table.land([line("noise", 2), line("new", 3)])
    assert next(answer)["row"]["message"] == "new"
    answer.close()


def test_the_lines_around_one_are_its_context(table: Table, reader: Reader) -> None:
    table.land(lines(1, 2, 3, 4), lines(2.5, file_id="other", path="/x"))
    place = {"ts": (NOON + timedelta(seconds=2)).isoformat(), "host": "web-1", "path": "/var/log/app.log"}
    around = reader.answer("/context", **place, file_id="9f3c", offset=20, lines=1)
    assert [[row["message"] for row in around[side]] for side in ("before", "after")] == [["line 1"], ["line 3"]]
    assert "the line has no time, file id or offset" in reader.answer("/context", **place, offset=20)["error"]
    for wrong in ("0001-01-01T00:00", "9999-12-31T23:59", "99999999d"):
        assert "the time of the line is" in reader.answer("/context", ts=wrong, file_id="9f3c", offset=20)["error"]


def test_the_context_of_a_line_is_of_all_tables_of_a_template(table: Table, tmp_path: Path) -> None:
    other = Table(tmp_path / "other")
    table.land(lines(1, 3, 5))
    other.land(lines(2, 4, 6))
    reader = Reader(SearchPage([source_of([str(table.path), str(other.path)])]))
    place = {"ts": (NOON + timedelta(seconds=3)).isoformat(), "host": "web-1", "path": "/var/log/app.log"}
    around = reader.answer("/context", **place, file_id="9f3c", offset=30, lines=2)
    assert [[row["message"] for row in around[side]] for side in ("before", "after")] == [
        ["line 1", "line 2"],
        ["line 4", "line 5"],
    ]


def downloaded(reader: Reader, kind: str) -> bytes:
    body = reader.ask("/download", q="line", format=kind).body
    assert not isinstance(body, bytes)
    return b"".join(body)


def test_the_result_is_downloaded_in_two_forms(table: Table, reader: Reader) -> None:
    table.land(lines(1, 2), lines(3), [line("other", 4)])
    rows = [json.loads(text) for text in downloaded(reader, "ndjson").splitlines()]
    assert sorted(row["message"] for row in rows) == ["line 1", "line 2", "line 3"]
    stored = parquet.read_table(pa.BufferReader(downloaded(reader, "parquet")))
    assert sorted(stored.column("message").to_pylist()) == ["line 1", "line 2", "line 3"]
    assert stored.schema.field("offset").type == pa.int64()
    with pytest.raises(RefusedRequest, match="format is 'csv': must be ndjson or parquet"):
        downloaded(reader, "csv")


def test_a_download_without_rows_is_a_file_without_rows(table: Table, reader: Reader) -> None:
    table.land([line("other", 1)])
    assert downloaded(reader, "ndjson") == b""
    assert parquet.read_table(io.BytesIO(downloaded(reader, "parquet"))).num_rows == 0


def test_a_download_that_cannot_go_on_breaks_off(table: Table, reader: Reader) -> None:
    """Its reader would take a part for all of it."""
    table.land(lines(1))
    (stored,) = table.path.rglob("*.parquet")
    stored.unlink()
    with pytest.raises(ConnectionAbortedError):
        downloaded(reader, "ndjson")
    assert "is missing" in reader.answer("/rows")["error"]
