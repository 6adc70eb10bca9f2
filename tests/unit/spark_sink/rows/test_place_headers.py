"""Records whose value is the message alone."""

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.unit.spark_sink.kafka_records import Headers
from tests.unit.spark_sink.rows.converting import conversion, kafka_records, reasons_of, rows_of

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
MISSING = "needed to recognise repeats of a text"
BAD: dict[str, tuple[bytes, Headers, str]] = {
    "no id": (b"a", headers("log.file.id"), f"missing header log.file.id, {MISSING}"),
    "empty id": (b"a", headers(log__file__id=b""), f"missing header log.file.id, {MISSING}"),
    "no offset": (b"a", headers("log.offset"), f"missing header log.offset, {MISSING}"),
    "no length": (b"a", headers("log.length"), f"missing header log.length, {MISSING}"),
    "no time": (b"a", headers("@timestamp"), f"missing header @timestamp, {MISSING}"),
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
        f"missing header log.file.id, {MISSING}",
    ),
    "no header of ours": (b"a", [("source", b"web")], "not JSON"),
}


@pytest.fixture(scope="module")
def lines() -> dict[str, dict[str, Any]]:
    given = kafka_records([value for value, _ in GOOD.values()], [headers for _, headers in GOOD.values()])
    return {list(GOOD)[offset]: row for offset, row in rows_of(conversion().convert(given)).items()}


def test_a_text_is_a_line_with_the_columns_of_its_headers(lines: dict[str, dict[str, Any]]) -> None:
    row = lines["text"]
    assert row["message"] == 'GET /cart 500 "é" \\'
    assert (row["file_id"], row["offset"], row["length"]) == ("9f3c", 1234, 87)
    assert (row["host"], row["path"], row["flags"], row["tags"]) == ("web-1", "/var/log/app.log", None, None)
    assert row["ts"] == datetime(2026, 11, 21, 9, 30, 0, 123000, UTC)
    assert (row["fields"], row["doc"]) == (None, None)


@pytest.mark.parametrize("name", GOOD)
def test_the_value_is_the_message_whatever_it_looks_like(name: str, lines: dict[str, dict[str, Any]]) -> None:
    assert lines[name]["message"] == GOOD[name][0].decode()
    assert (lines[name]["file_id"], lines[name]["offset"]) == ("9f3c", 1234)


def test_flags_are_a_list_and_what_no_header_has_is_null(lines: dict[str, dict[str, Any]]) -> None:
    assert lines["flags"]["flags"] == ["multiline", "truncated"]
    assert (lines["only a place"]["host"], lines["only a place"]["path"]) == (None, None)


def test_the_whole_document_is_the_record_that_would_have_been_sent_otherwise() -> None:
    converted = conversion(doc="all").convert(kafka_records([b"a"], [headers(log__flags=b"multiline")]))
    assert rows_of(converted)[0]["doc"] == (
        '{"@timestamp":"2026-11-21T09:30:00.123Z","message":"a","log":{"offset":1234,"length":87,'
        '"file":{"path":"/var/log/app.log","id":"9f3c"},"flags":["multiline"]},"host":{"name":"web-1"}}'
    )


@pytest.mark.parametrize("name", BAD)
def test_a_text_without_its_place_goes_to_the_dead_letter_with_its_headers(name: str) -> None:
    value, given, reason = BAD[name]
    converted = conversion().convert(kafka_records([value], [given]))
    (row,) = converted.bad.to_pylist()
    assert (row["reason"], row["value"], converted.parts) == (reason, value, [])
    assert [(header["key"], header["value"]) for header in row["headers"]] == list(given)


def test_a_text_that_lacks_what_the_table_is_chosen_by_is_bad() -> None:
    converted = conversion("/data/%{[fields.service]}").convert(kafka_records([b"a"], [headers()]))
    assert reasons_of(converted) == {0: "missing fields.service, needed by table.path to choose the table"}
