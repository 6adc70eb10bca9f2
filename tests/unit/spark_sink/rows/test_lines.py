"""What becomes of a record: every column, and every reason."""

import json
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.unit.spark_sink.rows.converting import conversion, kafka_records, reasons_of, rows_of

GOLDEN = Path(__file__).parents[3] / "golden"
RECORDS = [line for name in ("record.json", "records.ndjson") for line in (GOLDEN / name).read_bytes().splitlines()]
TIME = '"@timestamp":"2026-11-21T09:30:00.123Z"'

BAD: dict[str, tuple[bytes | None, str]] = {
    "null value": (None, "no value"),
    "nothing": (b"", "not JSON"),
    "text": (b"hello", "not JSON"),
    "cut short": (b"{" + TIME.encode(), "not JSON"),
    "with a tail": (b"{" + TIME.encode() + b"} tail", "not JSON"),
    "two objects": (b"{%b}{%b}" % (TIME.encode(), TIME.encode()), "not JSON"),
    "two objects and a comma": (b"{%b},{%b}" % (TIME.encode(), TIME.encode()), "not JSON"),
    "single quotes": (b"{'a':1}", "not JSON"),
    "nested too deep": (b'{"a":' + b"[" * 5000 + b"]" * 5000 + b"}", "not JSON"),
    "not UTF-8": (b"{" + TIME.encode() + b',"message":"caf\xe9"}', "not UTF-8"),
    "list": (b"[1]", "not an object"),
    "JSON null": (b"null", "not an object"),
    "number": (b"3", "not an object"),
    "no time": (b'{"message":"m"}', "no @timestamp"),
    "time is null": (b'{"@timestamp":null}', "no @timestamp"),
    "time is a number": (b'{"@timestamp":1795253400}', "wrong type: @timestamp is BIGINT, not a time as text"),
    "time is a word": (b'{"@timestamp":"yesterday"}', "@timestamp is not an ISO 8601 time: yesterday"),
    "time of day only": (b'{"@timestamp":"09:30:00"}', "@timestamp is not an ISO 8601 time: 09:30:00"),
    "no such day": (
        b'{"@timestamp":"2026-02-30T00:00:00Z"}',
        "@timestamp is not an ISO 8601 time: 2026-02-30T00:00:00Z",
    ),
}

WRONG = {
    '"message":5': "message is BIGINT, not text",
    '"message":{"a":1}': "message is OBJECT<a: BIGINT>, not text",
    '"host":5': "host is BIGINT, not an object",
    '"host":{"name":true}': "host.name is BOOLEAN, not text",
    '"log":"app"': "log is STRING, not an object",
    '"log":{"file":"app.log"}': "log.file is STRING, not an object",
    '"log":{"file":{"path":1}}': "log.file.path is BIGINT, not text",
    '"log":{"file":{"id":1}}': "log.file.id is BIGINT, not text",
    '"log":{"offset":"12"}': "log.offset is STRING, not a whole number",
    '"log":{"offset":1.5}': "log.offset is DECIMAL(2,1), not a whole number",
    '"log":{"offset":12345678901234567890}': "log.offset is DECIMAL(20,0), not a whole number",
    '"log":{"length":[]}': "log.length is ARRAY<VOID>, not a whole number",
    '"log":{"flags":"multiline"}': "log.flags is STRING, not a list of texts",
    '"tags":[1]': "tags is ARRAY<BIGINT>, not a list of texts",
    '"fields":["env"]': "fields is ARRAY<STRING>, not an object",
}
BAD |= {wrong: (f"{{{TIME},{wrong}}}".encode(), f"wrong type: {reason}") for wrong, reason in WRONG.items()}

GOOD: dict[str, bytes] = {
    **{f"golden {number}": record for number, record in enumerate(RECORDS)},
    "time only": f"{{{TIME}}}".encode(),
    "nulls": f'{{{TIME},"message":null,"host":null,"log":{{"file":null}},"tags":null,"fields":null}}'.encode(),
    "empty": f'{{{TIME},"message":"","tags":[],"fields":{{}},"log":{{"flags":[]}}}}'.encode(),
    "texts": f'{{{TIME},"host":"web-1","tags":"a"}}'.encode(),
    "other zone": b'{"@timestamp":"2026-11-22T00:30:00+02:00"}',
    "no zone": b'{"@timestamp":"2026-11-21T23:59:59"}',
    "key twice": f'{{{TIME},"message":"first","message":"last"}}'.encode(),
    "white space": f" \n{{ {TIME} }}\r\n".encode(),
    "unicode": f'{{{TIME},"message":"naïve \\u00e9 🙂 \\u0000"}}'.encode(),
    "unknown fields": f'{{{TIME},"kubernetes":{{"pod":"p-1","labels":{{"a.b":"c"}}}}}}'.encode(),
}

ALL = [*((name, value) for name, (value, _) in BAD.items()), *GOOD.items()]

Found = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def lines() -> Found:
    rows = rows_of(conversion(doc="all").convert(kafka_records([value for _, value in ALL])))
    return {ALL[offset][0]: row for offset, row in rows.items()}


@pytest.fixture(scope="module")
def reasons() -> dict[str, str]:
    bad = reasons_of(conversion().convert(kafka_records([value for _, value in ALL])))
    return {ALL[offset][0]: reason for offset, reason in bad.items()}


@pytest.mark.parametrize("name", GOOD)
def test_a_good_record_is_a_line_and_nothing_else(name: str, lines: Found, reasons: dict[str, str]) -> None:
    assert name in lines
    assert name not in reasons


@pytest.mark.parametrize("name", BAD)
def test_a_bad_record_has_its_reason(name: str, lines: Found, reasons: dict[str, str]) -> None:
    assert reasons[name] == BAD[name][1]
    assert name not in lines


def test_a_host_and_a_tag_that_are_texts_are_what_they_mean(lines: Found) -> None:
    row = lines["texts"]
    assert (row["host"], row["tags"]) == ("web-1", ["a"])


@pytest.mark.parametrize("number", range(len(RECORDS)))
def test_a_golden_record_fills_every_column(number: int, lines: Found) -> None:
    record = json.loads(RECORDS[number])
    row = lines[f"golden {number}"]
    moment = datetime.fromisoformat(record["@timestamp"]).astimezone(UTC)
    assert (row["ts"], row["date"]) == (moment, moment.date())
    assert (row["message"], row["host"]) == (record["message"], record["host"]["name"])
    assert (row["path"], row["file_id"]) == (record["log"]["file"]["path"], record["log"]["file"]["id"])
    assert (row["offset"], row["length"]) == (record["log"]["offset"], record["log"]["length"])
    assert (row["flags"], row["tags"]) == (record["log"].get("flags"), record.get("tags"))
    assert json.loads(row["fields"] or "null") == record.get("fields")
    assert row["doc"] == RECORDS[number].decode()


@pytest.mark.parametrize("name", ["time only", "nulls"])
def test_what_is_absent_or_null_is_null(name: str, lines: Found) -> None:
    typed = ("message", "host", "path", "file_id", "offset", "length", "flags", "tags", "fields")
    assert [lines[name][column] for column in typed] == [None] * len(typed)


def test_what_is_empty_is_not_null(lines: Found) -> None:
    row = lines["empty"]
    assert (row["message"], row["tags"], row["flags"], row["fields"]) == ("", [], [], "{}")


@pytest.mark.parametrize(
    ("name", "moment"),
    [
        ("time only", datetime(2026, 11, 21, 9, 30, 0, 123000, UTC)),
        ("other zone", datetime(2026, 11, 21, 22, 30, tzinfo=UTC)),
        ("no zone", datetime(2026, 11, 21, 23, 59, 59, tzinfo=UTC)),
    ],
)
def test_time_and_day_are_utc(name: str, moment: datetime, lines: Found) -> None:
    assert (lines[name]["ts"], lines[name]["date"]) == (moment, date(2026, 11, 21))


def test_of_a_repeated_key_the_last_counts(lines: Found) -> None:
    assert lines["key twice"]["message"] == "last"
    assert json.loads(lines["key twice"]["doc"])["message"] == "last"


@pytest.mark.parametrize("first", ['"offset":"x"', '"offset":1.5', '"file":5', '"file":{"id":5}'])
def test_of_a_repeated_key_the_last_counts_whatever_the_first_one_was(first: str) -> None:
    value = f'{{{TIME},"log":{{{first},"offset":7,"file":{{"id":"f"}}}}}}'.encode()
    row = rows_of(conversion().convert(kafka_records([value])))[0]
    assert (row["offset"], row["file_id"], row["doc"]) == (7, "f", None)


def test_a_value_that_is_overwritten_is_utf_8_all_the_same() -> None:
    value = b'{%b,"agent":"caf\xe9","agent":1}' % TIME.encode()
    assert reasons_of(conversion().convert(kafka_records([value]))) == {0: "not UTF-8"}


def test_a_record_of_more_than_16_mib_is_bad() -> None:
    value = f'{{{TIME},"message":"{"m" * 2**24}"}}'.encode()
    assert reasons_of(conversion().convert(kafka_records([value]))) == {0: "too large: a record has at most 16 MiB"}


def test_text_comes_through_as_it_is(lines: Found) -> None:
    assert lines["unicode"]["message"] == "naïve é 🙂 \0"
