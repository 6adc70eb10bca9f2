"""The fast verdict against the slow one: whatever the record, both say the same."""

import itertools
import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_sink.records.reasons import explained
from spark_sink.records.schema import FIELDS
from spark_sink.records.transform import REASON, Transform
from tests.unit.spark_sink.conftest import sink_config
from tests.unit.spark_sink.kafka_records import records

pytestmark = pytest.mark.spark

TIME = '"@timestamp":"2026-11-21T09:30:00.123Z"'
INTEGERS = ["0", "5", "-5", "9223372036854775807", "9223372036854775808"]
REALS = ["5.0", "1e3", "-0.5", "1e999", "-1e999", "1e39"]
TEXTS = ['""', '"x"', '"5"', '"-1"', '"{"', '"{}"', '"[1]"', '"t"', '"\\u0035"', '"\\ud83d"']
WORDS = ['"true"', '"false"', '"null"', '"NaN"', '"\\"Infinity\\""']
TIMES = ['"2026-11-21T09:30:00Z"', '"12:30"']
NOT_JSON = ["NaN", "+1", "01", "'x'", "1.", "tru"]
SCALARS = ["null", "true", "false", *INTEGERS, *REALS, *TEXTS, *WORDS, *TIMES, *NOT_JSON]
NESTED = ["[]", "{}", "[1]", '["a"]', '["a",null]', '["a",1]', '["a",["b"]]', '["5"]', "[null]", '{"a":1}', '[{"a":1}]']
CLOSING = ["{}", ",{}", "}", "]", "]]", "]}", "],", "],[{}", "],[[{}"]
CLOSING_AND_MEMBERS = ['],"x":[{}', ']],"x":[[{}', '],"b":[[{}]],"a":[{}']
TAILS = ["", " ", "\n", "\x00", "\ufeff", "x", ",", '"', "//", "/**/", "#", *CLOSING, *CLOSING_AND_MEMBERS]


def nested(path: str, value: str) -> str:
    for step in reversed(path.split(".")):
        value = "{" + json.dumps(step) + ":" + value + "}"
    return value


def all_values() -> list[bytes]:
    paths = [*(field.path for field in FIELDS), "host", "log", "log.file", "other"]
    members = [nested(path, value)[1:-1] for path in paths for value in (*SCALARS, *NESTED)]
    whole = ["{" + TIME + "}" + tail for tail in TAILS] + [tail + "{" + TIME + "}" for tail in TAILS]
    twice = [f'{{{TIME},"message":{a},"message":{b}}}' for a, b in itertools.product(("5", '"a"', "null"), repeat=2)]
    texts = [*whole, *twice, *SCALARS, *NESTED, *("{" + TIME + "," + member + "}" for member in members)]
    texts += ["{" + member + "}" for member in members]
    odd = [
        b"{" + TIME.encode() + b',"message":"' + bad + b'"}' for bad in (b"\xe9", b"\xed\xa0\x80", b"\xc0\xaf", b"\t")
    ]
    return [*(text.encode() for text in texts), *odd]


def test_fast_and_slow_agree_on_every_record(spark: SparkSession) -> None:
    values = all_values()
    parsed = Transform(sink_config(Path("/data"))).parse(records(spark, [("", value) for value in values]))
    # Kept: all columns of all records are made, also of those that are bad.
    judged = explained(parsed.persist(), "slow").select("kafka_offset", REASON, "slow")
    verdicts = {row.kafka_offset: (row.reason, row.slow) for row in judged.collect()}
    # The slow way alone takes a tail that closes its bracket. It is never asked about good records.
    differ = {values[index]: both for index, both in verdicts.items() if (both[0] is None) != (both[1] is None)}
    assert {value: both for value, both in differ.items() if not value.startswith(b"{" + TIME.encode() + b"}]")} == {}
    assert all(both[0] == "not JSON" for both in differ.values())
    assert sum(both[0] is None for both in verdicts.values()) > 100
    assert sum(both[0] is not None for both in verdicts.values()) > 500


@pytest.mark.parametrize("tail", [tail for tail in TAILS if tail.strip()])
def test_a_record_with_a_tail_is_bad_whatever_bracket_it_closes(tail: str, tails: dict[str, bool]) -> None:
    assert tails[tail] is False


@pytest.fixture(scope="module")
def tails(spark: SparkSession) -> dict[str, bool]:
    """True if a record with the tail is good."""
    values = [(tail, ("{" + TIME + "}" + tail).encode()) for tail in TAILS]
    parsed = Transform(sink_config(Path("/data"))).parse(records(spark, values))
    return {TAILS[row.kafka_offset]: row.reason is None for row in parsed.select("kafka_offset", REASON).collect()}
