"""What becomes of a record. All records of this module go through Spark together: a job costs far more than a row."""

import json
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from pyspark.sql import Observation, Row, SparkSession
from pyspark.sql import functions as F

from spark_sink.records.schema import BAD_RECORDS, LINES, names
from spark_sink.records.transform import Transform
from tests.unit.spark_sink.conftest import sink_config
from tests.unit.spark_sink.kafka_records import NOW, records

pytestmark = pytest.mark.spark

GOLDEN = Path(__file__).parents[3] / "golden"
RECORDS = [line for name in ("record.json", "records.ndjson") for line in (GOLDEN / name).read_bytes().splitlines()]
transform = Transform(sink_config(Path("/data")))
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
    '"host":"web-1"': "host is STRING, not an object",
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
    "other zone": b'{"@timestamp":"2026-11-22T00:30:00+02:00"}',
    "no zone": b'{"@timestamp":"2026-11-21T23:59:59"}',
    "key twice": f'{{{TIME},"message":"first","message":"last"}}'.encode(),
    "white space": f" \n{{ {TIME} }}\r\n".encode(),
    "unicode": f'{{{TIME},"message":"naïve \\u00e9 🙂 \\u0000"}}'.encode(),
    "unknown fields": f'{{{TIME},"kubernetes":{{"pod":"p-1","labels":{{"a.b":"c"}}}}}}'.encode(),
}

ALL = [*((name, value) for name, (value, _) in BAD.items()), *GOOD.items()]
Found = dict[str, Row]


@pytest.fixture(scope="module")
def lines(spark: SparkSession) -> Found:
    # As a batch does it: all columns of all records are made before the bad ones are left out.
    parsed = transform.parse(records(spark, ALL)).observe(Observation("all"), F.count("reason"))
    rows = transform.good(parsed)
    assert rows.columns == names(LINES)
    docs = rows.selectExpr("*", "to_json(doc) AS doc_text", "to_json(fields) AS fields_text").drop("doc", "fields")
    return {ALL[row.kafka_offset][0]: row for row in docs.collect()}


@pytest.fixture(scope="module")
def dead(spark: SparkSession) -> Found:
    rows = transform.bad(transform.parse(records(spark, ALL)))
    assert rows.columns == names(BAD_RECORDS)
    return {bytes(row.key).decode(): row for row in rows.collect()}


@pytest.mark.parametrize("name", GOOD)
def test_a_good_record_is_a_line_and_nothing_else(name: str, lines: Found, dead: Found) -> None:
    assert name in lines
    assert name not in dead


@pytest.mark.parametrize("name", BAD)
def test_a_bad_record_goes_to_the_dead_letter_with_its_reason(name: str, lines: Found, dead: Found) -> None:
    assert dead[name].reason == BAD[name][1]
    assert name not in lines


def test_a_bad_record_keeps_its_bytes_and_its_place(dead: Found) -> None:
    for index, (name, value) in enumerate(ALL[: len(BAD)]):
        row = dead[name]
        assert (row.value if row.value is None else bytes(row.value)) == value
        assert (row.topic, row.partition, row.kafka_offset, row.kafka_ts) == ("logs", index % 3, index, NOW)


@pytest.mark.parametrize("number", range(len(RECORDS)))
def test_a_golden_record_fills_every_column(number: int, lines: Found) -> None:
    record = json.loads(RECORDS[number])
    row = lines[f"golden {number}"]
    moment = datetime.fromisoformat(record["@timestamp"]).astimezone(UTC)
    assert row.ts == moment.replace(tzinfo=None)
    assert row.date == moment.date()
    assert (row.message, row.host) == (record["message"], record["host"]["name"])
    assert (row.path, row.file_id) == (record["log"]["file"]["path"], record["log"]["file"]["id"])
    assert (row.offset, row.length) == (record["log"]["offset"], record["log"]["length"])
    assert (row.flags, row.tags) == (record["log"].get("flags"), record.get("tags"))
    assert json.loads(row.fields_text or "null") == record.get("fields")
    assert json.loads(row.doc_text) == record


def test_a_line_keeps_its_place_in_kafka(lines: Found) -> None:
    index = len(BAD)
    row = lines["golden 0"]
    assert (row.topic, row.partition, row.kafka_offset, row.kafka_ts) == ("logs", index % 3, index, NOW)


@pytest.mark.parametrize("name", ["time only", "nulls"])
def test_what_is_absent_or_null_is_null(name: str, lines: Found) -> None:
    row = lines[name].asDict()
    typed = ("message", "host", "path", "file_id", "offset", "length", "flags", "tags", "fields_text")
    assert [row[column] for column in typed] == [None] * len(typed)


def test_what_is_empty_is_not_null(lines: Found) -> None:
    row = lines["empty"]
    assert (row.message, row.tags, row.flags, row.fields_text) == ("", [], [], "{}")


@pytest.mark.parametrize(
    ("name", "moment"),
    [
        ("time only", datetime(2026, 11, 21, 9, 30, 0, 123000)),
        ("other zone", datetime(2026, 11, 21, 22, 30)),
        ("no zone", datetime(2026, 11, 21, 23, 59, 59)),
    ],
)
def test_time_and_day_are_utc(name: str, moment: datetime, lines: Found) -> None:
    assert (lines[name].ts, lines[name].date) == (moment, date(2026, 11, 21))


def test_of_a_repeated_key_the_last_counts(lines: Found) -> None:
    assert lines["key twice"].message == "last"
    assert json.loads(lines["key twice"].doc_text)["message"] == "last"


def test_text_comes_through_as_it_is(lines: Found) -> None:
    assert lines["unicode"].message == "naïve é 🙂 \0"


def test_fields_without_a_column_stay_in_the_document(lines: Found) -> None:
    assert json.loads(lines["unknown fields"].doc_text)["kubernetes"] == {"pod": "p-1", "labels": {"a.b": "c"}}


def test_the_document_is_queried_by_path(spark: SparkSession) -> None:
    parsed = transform.good(transform.parse(records(spark, [("doc", GOOD["unknown fields"])])))
    pods = parsed.selectExpr("variant_get(doc, '$.kubernetes.pod', 'string') AS pod").collect()
    assert [row.pod for row in pods] == ["p-1"]


def test_the_value_is_parsed_once_for_all_columns_and_once_for_the_bad_ones(spark: SparkSession) -> None:
    parsed = transform.parse(records(spark, ALL))
    for rows in (parsed, transform.bad(parsed)):
        plan: str = rows._jdf.queryExecution().optimizedPlan().toString()
        assert plan.count("from_json") == 1
