import pyarrow as pa
import pytest

from log_shipper.spark_sink.landing.bad_records import MAX_CAUSES, OTHERS, BadRecords, by_cause, cause, merge, merged
from log_shipper.spark_sink.rows.schema import BAD_SCHEMA


def rows(*reasons: str) -> pa.Table:
    return pa.Table.from_pylist(
        [
            {"reason": reason, "topic": "logs", "partition": 1, "kafka_offset": 7 + index, "value": b"secret"}
            for index, reason in enumerate(reasons)
        ],
        BAD_SCHEMA,
    )


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("not JSON", "not JSON"),
        ("no @timestamp", "no @timestamp"),
        ("@timestamp is not an ISO 8601 time: yesterday: at noon", "@timestamp is not an ISO 8601 time"),
        ("the header log.offset is not a whole number: x", "the header log.offset is not a whole number"),
        ("wrong type: message is OBJECT<password: STRING>, not text", "wrong type: message is not text"),
        ("wrong type: a is OBJECT<b, not c: STRING>, not text", "wrong type: a is not text"),
    ],
)
def test_a_cause_has_no_value_of_the_record(reason: str, expected: str) -> None:
    assert cause(reason) == expected


def test_bad_records_are_counted_by_cause_with_the_place_of_the_last_one() -> None:
    assert by_cause(rows("not JSON", "no value", "not JSON")) == {
        "not JSON": BadRecords(2, "logs", 1, 9),
        "no value": BadRecords(1, "logs", 1, 8),
    }


def test_what_comes_later_has_the_newer_place() -> None:
    first, second = by_cause(rows("not JSON")), by_cause(rows("no value", "not JSON"))
    assert merged((first, second))["not JSON"] == BadRecords(2, "logs", 1, 8)


def test_very_many_causes_are_counted_together() -> None:
    known = {f"cause {number}": BadRecords(1, "logs", 0, number) for number in range(MAX_CAUSES)}
    merge(known, {"new": BadRecords(3, "logs", 0, 8), "newer": BadRecords(4, "logs", 0, 9)})
    assert len(known) == MAX_CAUSES + 1
    assert known[OTHERS] == BadRecords(7, "logs", 0, 9)
