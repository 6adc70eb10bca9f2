"""Records whose value is the message alone. All records of this module go through Spark together."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import Row, SparkSession

from spark_sink.records.transform import Transform
from tests.unit.spark_sink.conftest import sink_config
from tests.unit.spark_sink.kafka_records import Headers, records

pytestmark = pytest.mark.spark

PLACE: dict[str, bytes] = {
    "log.file.id": b"9f3c",
    "log.file.path": b"/var/log/app.log",
    "host.name": b"web-1",
    "log.offset": b"1234",
    "log.length": b"87",
    "@timestamp": b"2026-11-21T09:30:00.123Z",
}


def headers(without: str = "", **changes: bytes) -> Headers:
    changed = PLACE | {name.replace("__", "."): value for name, value in changes.items()}
    return [("source", b"web"), *((name, value) for name, value in changed.items() if name != without)]


GOOD: dict[str, tuple[bytes, Headers]] = {
    "text": (b'GET /cart 500 "\xc3\xa9" \\', headers()),
    "looks like JSON": (b'{"@timestamp":"2020-01-01T00:00:00Z","message":"inner","log":{"offset":1}}', headers()),
    "empty": (b"", headers()),
    "flags": (b"a", headers(log__flags=b"multiline,truncated")),
    "only a place": (b"a", [pair for pair in headers("host.name") if pair[0] != "log.file.path"]),
    "a name twice": (b"a", [*headers(), ("log.offset", b"99"), ("source", b"again")]),
}
MISSING = "without which a repeat of the text could not be recognised"
BAD: dict[str, tuple[bytes, Headers, str]] = {
    "no id": (b"a", headers("log.file.id"), f"no header log.file.id, {MISSING}"),
    "empty id": (b"a", headers(log__file__id=b""), f"no header log.file.id, {MISSING}"),
    "no offset": (b"a", headers("log.offset"), f"no header log.offset, {MISSING}"),
    "no length": (b"a", headers("log.length"), f"no header log.length, {MISSING}"),
    "no time": (b"a", headers("@timestamp"), f"no header @timestamp, {MISSING}"),
    "no number": (b"a", headers(log__offset=b"12.5"), "the header log.offset is not a whole number: 12.5"),
    "too large": (b"a", headers(log__length=b"9" * 20), f"the header log.length is not a whole number: {'9' * 20}"),
    "no such time": (
        b"a",
        [*headers("@timestamp"), ("@timestamp", b"12:30")],
        "the header @timestamp is not an ISO 8601 time: 12:30",
    ),
    "path not UTF-8": (b"a", headers(log__file__path=b"/caf\xe9"), "a header is not UTF-8"),
    "text not UTF-8": (b"caf\xe9", headers(), "not UTF-8"),
    "JSON with a place": (
        b'{"@timestamp":"2026-11-21T09:30:00Z"}',
        [("log.offset", b"5")],
        f"no header log.file.id, {MISSING}",
    ),
    "no header of ours": (b"a", [("source", b"web")], "not JSON"),
}
VALUES = [
    *((name, value) for name, (value, _) in GOOD.items()),
    *((name, value) for name, (value, _, _) in BAD.items()),
]
HEADERS = {name: given for name, (_, given) in GOOD.items()} | {name: given for name, (_, given, _) in BAD.items()}
NAMES = [name for name, _ in VALUES]
transform = Transform(sink_config(Path("/data")))


@pytest.fixture(scope="module")
def lines(spark: SparkSession) -> dict[str, Row]:
    rows = transform.good(transform.parse(records(spark, VALUES, headers=HEADERS)))
    shown = rows.selectExpr("*", "to_json(doc) AS doc_text").drop("doc", "fields")
    return {NAMES[row.kafka_offset]: row for row in shown.collect()}


@pytest.fixture(scope="module")
def dead(spark: SparkSession) -> dict[str, Row]:
    rows = transform.bad(transform.parse(records(spark, VALUES, headers=HEADERS)))
    return {bytes(row.key).decode(): row for row in rows.collect()}


def test_a_text_is_a_line_with_the_columns_of_its_headers(lines: dict[str, Row]) -> None:
    row = lines["text"]
    assert row.message == 'GET /cart 500 "é" \\'
    assert (row.file_id, row.offset, row.length) == ("9f3c", 1234, 87)
    assert (row.host, row.path, row.flags) == ("web-1", "/var/log/app.log", None)
    assert row.ts.astimezone(UTC) == datetime(2026, 11, 21, 9, 30, 0, 123000, UTC)
    assert row.date.isoformat() == "2026-11-21"
    assert '"offset":1234' in row.doc_text


@pytest.mark.parametrize("name", GOOD)
def test_the_value_is_the_message_whatever_it_looks_like(
    name: str, lines: dict[str, Row], dead: dict[str, Row]
) -> None:
    assert lines[name].message == GOOD[name][0].decode()
    assert (lines[name].file_id, lines[name].offset) == ("9f3c", 1234)
    assert name not in dead


def test_flags_are_a_list_and_what_no_header_has_is_null(lines: dict[str, Row]) -> None:
    assert lines["flags"].flags == ["multiline", "truncated"]
    assert (lines["only a place"].host, lines["only a place"].path, lines["only a place"].tags) == (None, None, None)


@pytest.mark.parametrize("name", BAD)
def test_a_text_without_its_place_goes_to_the_dead_letter_with_its_headers(
    name: str, lines: dict[str, Row], dead: dict[str, Row]
) -> None:
    value, given, reason = BAD[name]
    row = dead[name]
    assert (row.reason, bytes(row.value)) == (reason, value)
    assert [(header.key, bytes(header.value)) for header in row.headers] == list(given)
    assert name not in lines
