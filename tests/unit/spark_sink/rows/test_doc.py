"""What `doc` has: the members of a record that have no column."""

import json
import tracemalloc
from typing import Any

import pytest

from log_shipper.spark_sink.options.tables import DocMode
from log_shipper.spark_sink.rows.decoding import MAX_NAMES, FieldDecoder
from tests.unit.spark_sink.rows.converting import conversion, kafka_records, reasons_of, rows_of

TIME = '"@timestamp":"2026-11-21T09:30:00.123Z"'
AGENTS = (
    '{"@timestamp":"2026-11-21T09:30:00.123Z","message":"m","log":{"offset":0,"length":20,"file":{"path":"/app.log",'
    '"inode":"811","device_id":"2049","id":"9f3c"}},"tags":["a"],"fields":{"env":"prod"},"input":{"type":"filestream"},'
    '"host":{"name":"web-1"},"agent":{"type":"shipper"},"ecs":{"version":"8.17.0"}}'
)

RESTS = {
    "": None,
    '"message":"m","tags":[],"fields":{"a":1},"host":{"name":"h"},"log":{"offset":1,"file":{"id":"f"}}': None,
    '"message":null,"host":null,"log":{"file":null,"offset":null}': None,
    '"host":{"name":null},"log":{"file":{"path":null}}': None,
    '"agent":null': '{"agent":null}',
    '"agent":{}': '{"agent":{}}',
    '"host":{"name":"h","ip":["::1"]}': '{"host":{"ip":["::1"]}}',
    '"log":{"level":"info","offset":1,"file":{"id":"f","inode":"7"}}': '{"log":{"file":{"inode":"7"},"level":"info"}}',
    '"took":1.50,"size":123456789012345678901234567890,"far":1e999': (
        '{"took":1.50,"size":123456789012345678901234567890,"far":1e999}'
    ),
    '"a": { "b" : [ 1 , 2 ] }': '{"a":{"b":[1,2]}}',
    '"a":{"b":1,"b":2},"a.b":"\\u00e9\\ud83d"': '{"a":{"b":2},"a.b":"é?"}',
    '"Message":"x","@time\\u0073tamp":"2026-11-21T09:30:00Z"': '{"Message":"x"}',
}


def docs(*members: str, doc: DocMode = "rest") -> list[Any]:
    values = [("{" + ",".join(filter(None, (TIME, member))) + "}").encode() for member in members]
    rows = rows_of(conversion(doc=doc).convert(kafka_records(values)))
    return [rows[index]["doc"] for index in range(len(values))]


@pytest.mark.parametrize("members", RESTS)
def test_doc_has_the_members_without_a_column(members: str) -> None:
    assert docs(members) == [RESTS[members]]


@pytest.mark.parametrize("members", RESTS)
def test_doc_does_not_depend_on_the_records_before(members: str) -> None:
    last = docs(*RESTS, *RESTS, members)[-1]
    expected = RESTS[members]
    assert (last and json.loads(last)) == (expected and json.loads(expected))


def test_doc_has_the_names_of_its_own_record_whatever_an_earlier_run_had() -> None:
    converted = conversion()
    given = [f'{{{TIME},"{name}":"same"}}'.encode() for name in ("stream", "input", "other", "stream")]
    runs = [rows_of(converted.convert(kafka_records([value])))[0]["doc"] for value in given]
    assert runs == [f'{{"{name}":"same"}}' for name in ("stream", "input", "other", "stream")]


def test_a_decoder_learns_so_many_names_and_no_more() -> None:
    decoder = FieldDecoder()
    learned = [decoder.add_names({f"name {number}": 1}) for number in range(2 * MAX_NAMES)]
    assert not learned[-1]
    assert 0 < sum(learned) <= MAX_NAMES


def test_the_record_of_an_agent_keeps_what_has_no_column() -> None:
    row = rows_of(conversion().convert(kafka_records([AGENTS.encode()])))[0]
    assert row["doc"] == (
        '{"agent":{"type":"shipper"},"ecs":{"version":"8.17.0"},"input":{"type":"filestream"},'
        '"log":{"file":{"inode":"811","device_id":"2049"}}}'
    )


def test_doc_may_have_the_whole_record_or_nothing() -> None:
    assert docs('"a" : 1', doc="all") == [f'{{{TIME},"a":1}}']
    assert docs('"a":1', doc="none") == [None]


def test_more_names_than_are_learned_are_in_doc_all_the_same() -> None:
    count = 3 * MAX_NAMES
    members = [f'"name {number}":{number},"log":{{"inner {number}":{number}}}' for number in range(count)]
    expected = [{f"name {number}": number, "log": {f"inner {number}": number}} for number in range(count)]
    assert [json.loads(doc) for doc in docs(*members, *members)] == [*expected, *expected]


def test_names_that_only_json_allows_are_in_doc() -> None:
    names = ['say \\"a\\"', "back\\\\slash", "\\u0001", "", "x" * 1000, "ünïcode", "member_1", "overflow", "time"]
    members = [f'"{name}":1' for name in names]
    assert [json.loads(doc) for doc in docs(*members, *members)] == [{json.loads(f'"{n}"'): 1} for n in names + names]


@pytest.mark.parametrize(
    "member",
    ["[" * 600 + "]" * 600, '{"a":' * 501 + "1" + "}" * 501, "1" * 1001, "[0." + "1" * 1000 + "]", '"\\ud83d\x01"'],
    ids=["lists", "objects", "digits", "fraction", "control character"],
)
def test_what_readers_of_the_table_could_not_parse_is_no_json(member: str) -> None:
    value = f'{{{TIME},"agent":{member}}}'.encode()
    converted = conversion().convert(kafka_records([value, AGENTS.encode()]))
    assert (reasons_of(converted), list(rows_of(converted))) == ({0: "not JSON"}, [1])


def test_members_that_differ_in_every_record_take_bounded_memory() -> None:
    convert = conversion().convert

    def run(first: int) -> None:
        values = [
            f'{{{TIME},"trace":{{"id":"{number:0200}"}}}}'.encode()
            for number in range(first * 5000, first * 5000 + 5000)
        ]
        convert(kafka_records(values))

    for first in range(8):
        run(first)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for first in range(8, 24):
            run(first)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 16 * 2**20
