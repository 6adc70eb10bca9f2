"""What becomes of records that other producers write: docs/guides/producers.md, line by line."""

import gzip
import json
import re
from pathlib import Path

import pytest

from tests.unit.spark_sink.rows.converting import conversion, kafka_records, reasons_of, rows_of

PAGE = Path(__file__).parents[4] / "docs" / "guides" / "producers.md"
TIME = "2026-11-21T09:30:00.123Z"
LANDS = "lands"

FILEBEAT = {
    "@timestamp": TIME,
    "@metadata": {"beat": "filebeat", "type": "_doc", "version": "9.5.0"},
    "log": {"offset": 0, "file": {"path": "/var/log/app.log", "inode": "811", "device_id": "2049"}},
    "message": "GET /",
    "input": {"type": "filestream"},
    "ecs": {"version": "8.0.0"},
    "host": {"name": "web-1"},
    "agent": {"type": "filebeat", "name": "web-1"},
}
LOGSTASH = {"@timestamp": TIME, "@version": "1", "message": "GET /", "event": {"original": "GET /"}}
OTLP = {"resourceLogs": [{"scopeLogs": [{"logRecords": [{"timeUnixNano": "1", "body": {"stringValue": "GET /"}}]}]}]}
# The bytes of a schema registry's client: 0, the number of the schema, and what Avro or Protobuf makes of the record.
REGISTRY = b"\x00\x00\x00\x00\x07"

RECORDS: dict[str, object] = {
    "Filebeat": FILEBEAT,
    "Logstash (codec json)": LOGSTASH,
    "Fluent Bit": {"@timestamp": 1795253400.123, "log": "GET /"},
    "Fluent Bit with `timestamp_format iso8601`": {"@timestamp": TIME, "log": "GET /"},
    "Vector (codec json)": {
        "timestamp": TIME,
        "message": "GET /",
        "host": "web-1",
        "file": "/a",
        "source_type": "file",
    },
    "OpenTelemetry, `otlp_json`": OTLP,
    "OpenTelemetry, `otlp_proto`": b"\x0a\x1d\x0a\x00\x12\x19\x09\x00\xd0\xa6\xe3\x1b\x4f\x8c\x18*\x07\x0a\x05GET /",
    "Avro with a schema registry": REGISTRY + b"\x0aGET /\x02",
    "Protobuf with a schema registry": REGISTRY + b"\x00\x0a\x05GET /",
    "Kafka Connect or Debezium, JSON with schema": {"schema": {"type": "struct"}, "payload": {"after": {"id": 1}}},
    "CSV, or a plain line": b"2026-11-21,web-1,GET /",
    "a line that is a number": b"404",
    "several JSON lines in a record": b'{"@timestamp":"2026-11-21T09:30:00Z"}\n{"@timestamp":"2026-11-21T09:30:01Z"}',
    "a JSON array": json.dumps([FILEBEAT]).encode(),
    "a value that the producer itself has compressed": gzip.compress(json.dumps(FILEBEAT).encode()),
    "no value (a tombstone)": None,
}


def outcome(record: object) -> str:
    value = json.dumps(record).encode() if isinstance(record, dict) else record
    assert value is None or isinstance(value, bytes)
    converted = conversion().convert(kafka_records([value]))
    (bad,) = converted.bad.to_pylist() or [None]
    if bad is None:
        assert len(rows_of(converted)) == 1
        return LANDS
    assert bad["value"] == value, "its bytes are kept"
    return reasons_of(converted)[0]


def documented() -> dict[str, str]:
    """Return the second column of the table, by the first one."""
    section = PAGE.read_text().partition("## Which records land")[2].partition("\n## ")[0]
    return {row[0]: row[1] for row in re.findall(r"^\| ([^|]+) \| `?([^|`]+)`?[^|]* \|", section, re.MULTILINE)}


@pytest.mark.parametrize("producer", RECORDS)
def test_each_becomes_what_is_on_the_page(producer: str) -> None:
    assert outcome(RECORDS[producer]) == documented()[producer]


def test_the_page_names_no_other_producer() -> None:
    assert documented().keys() - {"record", "---"} == RECORDS.keys()


def test_a_record_of_filebeat_has_no_file_id_so_it_lands_twice_when_it_is_sent_twice() -> None:
    value = json.dumps(FILEBEAT).encode()
    rows = rows_of(conversion().convert(kafka_records([value, value])))
    assert [(row["file_id"], row["offset"], row["message"]) for row in rows.values()] == [(None, 0, "GET /")] * 2


ADVISED: dict[str, dict[str, object]] = {
    "Fluent Bit": {"@timestamp": "2026-11-21T09:30:00.123456789Z", "message": "GET /", "host": "web-1"},
    "Vector": {
        "@timestamp": "2026-11-21T09:30:00.123456789Z",
        "message": "GET /",
        "host": "web-1",
        "log": {"file": {"path": "/a"}},
        "source_type": "file",
    },
    "OpenTelemetry": {"@timestamp": TIME, "message": "GET /", "host": "web-1", "otel": {"log.file.name": "a"}},
}


@pytest.mark.parametrize("producer", ADVISED)
def test_what_the_page_advises_lands_in_its_columns(producer: str) -> None:
    assert outcome(ADVISED[producer]) == LANDS
    (row,) = rows_of(conversion().convert(kafka_records([json.dumps(ADVISED[producer]).encode()]))).values()
    assert (row["host"], row["message"], row["ts"].second) == ("web-1", "GET /", 0)


def test_a_record_of_the_page_has_all_by_which_a_repeat_is_known() -> None:
    (example,) = re.findall(r'^(\{"@timestamp".*?\}\})$', PAGE.read_text(), re.MULTILINE | re.DOTALL)
    (row,) = rows_of(conversion().convert(kafka_records([example.encode()]))).values()
    assert (row["host"], row["offset"], row["length"]) == ("web-1", 17, 1)
    assert row["file_id"] == json.loads(example)["log"]["file"]["id"]
