"""The parser ndjson: how a line becomes a text and members."""

import json
import logging
from typing import Any

import orjson
import pytest

from log_shipper.runtime.logs.throttle import INTERVAL
from log_shipper.shipper.event import Batch, Doc, Messages
from log_shipper.shipper.formats.json_fields import DEEPEST
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.output.encode import Encoder
from log_shipper.shipper.parsers.ndjson import NdjsonConfig
from tests.builders import messages, nothing, parsed, source
from tests.fakes import ManualClock
from tests.given_runs import GivenRuns

FILE = {"path": "/var/log/app.log", "inode": "811", "device_id": "2049", "id": "f1"}
STATIC: Doc = {"tags": ["a", "b"], "fields": {"env": "prod", "deep": {"n": 1}}}
NOT_JSON = "unexpected character, expected a JSON value: line 1 column 1 (char 0)"

Given = Messages | list[str]


def decode(given: Given, *, keep_null: bool = False, **options: Any) -> Messages:
    shared = source(static=STATIC).constants.members
    reader = parsed(GivenRuns(given), NdjsonConfig(**options), shared=shared, keep_null=keep_null)
    run = reader.next()
    assert run is not None
    return run


def one(line: str, **options: Any) -> tuple[str, Doc]:
    run = decode([line], **options)
    return run.texts[0], run.docs[0] if run.docs else {}


def error(message: str) -> Doc:
    return {"error": {"message": message, "type": "json"}}


def with_file(**more: Any) -> Doc:
    return {"log": {"file": FILE | more}}


@pytest.mark.parametrize(
    ("line", "text", "doc"),
    [
        ('{"a": 1, "b": [true, {"c": "d"}]}', "", {"a": 1, "b": [True, {"c": "d"}]}),
        (' {"a":1}\t', "", {"a": 1}),
        ('{"message": "hello", "a": 1}', "hello", {"a": 1}),
        ('{"message": "hello"}', "hello", {}),
        ('{"message": "", "a": 1}', "", {"message": "", "a": 1}),
        ('{"message": {"text": "no message"}}', "", {"json": {"message": {"text": "no message"}}}),
        ('{"message": 5, "json": {"a": 1}}', "", {"json": {"a": 1, "message": 5}}),
        ('{"a": "no message here"}', "", {"a": "no message here"}),
        ('{"a.b": 1}', "", {"a.b": 1}),
        ('{"a": 1, "a": 2}', "", {"a": 2}),
        ('{"a": "\\u0000\\ud83d\\ude00"}', "", {"a": "\0\U0001f600"}),
        ('{"a": 18446744073709551615, "b": -9223372036854775808}', "", {"a": 2**64 - 1, "b": -(2**63)}),
        ('{"a": 18446744073709551616}', "", {"a": 2.0**64}),
        ('{"type": 5, "error": "x"}', "", {"type": 5, "error": "x"}),
        ('{"a": "cut \\ud83d", "\\udead": 1}', "", {"a": "cut \ufffd", "\ufffd": 1}),
        ('\ufeff{"message": "hello"}', "hello", {}),
        ("", "", {}),
        # What is not an object stays the text that it is.
        ("no json", "no json", {}),
        ("[1]", "[1]", {}),
        ('"text"', '"text"', {}),
        ("null", "null", {}),
        ('{"a": 1} {"b": 2}', '{"a": 1} {"b": 2}', {}),
        ('{"a": NaN}', '{"a": NaN}', {}),
        ('{"a": 1e999}', '{"a": 1e999}', {}),
        ('{"a": 1', '{"a": 1', {}),
        ('{"a": "\x00"}', '{"a": "\x00"}', {}),
        ('{"a": NaN, "b": "\\ud83d"}', '{"a": NaN, "b": "\\ud83d"}', {}),
        # An object without members is all that there is of its event.
        ("{}", "{}", {}),
        ('{"a": null}', '{"a": null}', {}),
    ],
)
def test_a_json_object_becomes_members_and_everything_else_stays_a_text(line: str, text: str, doc: Doc) -> None:
    assert one(line) == (text, doc)


@pytest.mark.parametrize(
    ("line", "doc"),
    [
        ('{"@timestamp": "2026-01-01T00:00:00Z", "@metadata": {"x": 1}, "a": 1}', {"a": 1}),
        ('{"host": {"name": "theirs", "ip": "1.2.3.4"}}', {"host": {"name": "web-1", "ip": "1.2.3.4"}}),
        ('{"host": "theirs", "agent": {"name": "theirs"}, "a": 1}', {"a": 1, "json": {"host": "theirs"}}),
        ('{"fields": "theirs", "a": 1}', {"a": 1, "json": {"fields": "theirs"}}),
        ('{"fields": {"deep": {"m": 2, "n": 3}}}', {"fields": {"env": "prod", "deep": {"n": 1, "m": 2}}}),
        ('{"tags": ["c", "a"]}', {"tags": ["c", "a", "b"]}),
        ('{"tags": "c", "a": 1}', {"a": 1, "json": {"tags": "c"}}),
        ('{"host": {"name": 5}, "log": {"file": {"path": [1]}}}', {"json": {"host.name": 5, "log.file.path": [1]}}),
        ('{"tags": ["c", 1]}', {"json": {"tags": ["c", 1]}}),
        ('{"log": {"level": "info", "logger": "x"}}', {"log": {"level": "info", "logger": "x"}}),
        ('{"log": {"file": {"path": "/theirs", "name": "x"}}}', with_file(name="x")),
        ('{"log": "text"}', {"json": {"log": "text"}}),
        ('{"log": ["text"], "json": {"a": 1}}', {"json": {"a": 1, "log": ["text"]}}),
        ('{"log": "text", "json": 1}', {"json": 1, "json.log": "text"}),
        ('{"log": "text", "json": {"log": 1}}', {"json": {"log": 1}, "json.log": "text"}),
        (
            '{"log": {"offset": 5, "length": "x", "flags": ["y"], "level": "info", "file": {"id": "theirs"}}}',
            {
                "log": {"level": "info"},
                "json": {"log": {"offset": 5, "length": "x", "flags": ["y"], "file": {"id": "theirs"}}},
            },
        ),
        ('{"log": {"file": "theirs"}}', {"json": {"log": {"file": "theirs"}}}),
    ],
)
def test_what_the_event_has_is_kept_and_added_to(line: str, doc: Doc) -> None:
    assert one(line)[1] == doc


@pytest.mark.parametrize(
    ("line", "doc"),
    [
        ('{"host": {"name": "theirs"}}', {"host": {"name": "theirs"}}),
        ('{"host": "theirs"}', {"json": {"host": "theirs"}}),
        ('{"host": ["theirs"], "json": "text"}', {"json": "text", "json.host": ["theirs"]}),
        # They may choose the topic.
        ('{"fields": {"env": "theirs", "more": 1}}', {"fields": {"env": "prod", "deep": {"n": 1}, "more": 1}}),
        ('{"fields": {"deep": {"m": 2}}}', {"fields": {"env": "prod", "deep": {"n": 1, "m": 2}}}),
        ('{"tags": ["c"]}', {"tags": ["c", "a", "b"]}),
        (
            '{"log": {"file": {"path": "/theirs", "id": "x"}}}',
            with_file(path="/theirs") | {"json": {"log": {"file": {"id": "x"}}}},
        ),
        ('{"log": "text"}', {"json": {"log": "text"}}),
        ('{"@timestamp": "2026-01-01T01:00:00.5+01:00"}', {"@timestamp": "2026-01-01T00:00:00.500Z"}),
        ('{"@timestamp": "2026-01-01T01:00:00.123456+0100"}', {"@timestamp": "2026-01-01T00:00:00.123Z"}),
        ('{"@timestamp": "2026-01-01T00:00:00Z"}', {"@timestamp": "2026-01-01T00:00:00.000Z"}),
        (
            '{"@timestamp": "yesterday", "a": 1}',
            {"a": 1, "json": {"@timestamp": "yesterday"}}
            | error("@timestamp not overwritten (parse error on yesterday)"),
        ),
        (
            '{"@timestamp": "2026-02-31T00:00:00Z"}',
            {"json": {"@timestamp": "2026-02-31T00:00:00Z"}}
            | error("@timestamp not overwritten (parse error on 2026-02-31T00:00:00Z)"),
        ),
        (
            '{"@timestamp": 1767225600}',
            {"json": {"@timestamp": 1767225600}} | error("@timestamp not overwritten (not string)"),
        ),
        ('{"@metadata": {"pipeline": "p"}}', {"@metadata": {"pipeline": "p"}}),
        ('{"@metadata": "p"}', {"json": {"@metadata": "p"}} | error("failed to update @metadata")),
        ('{"type": "access"}', {"type": "access"}),
        ('{"type": 5}', {"json": {"type": 5}} | error("type not overwritten (not string)")),
        ('{"type": ""}', {"json": {"type": ""}} | error("type not overwritten (invalid value [])")),
        ('{"type": "_doc"}', {"json": {"type": "_doc"}} | error("type not overwritten (invalid value [_doc])")),
        (
            '{"type": 5, "@metadata": 6, "error": {"message": "boom", "code": 7}}',
            {
                "json": {"@metadata": 6, "type": 5},
                "error": {
                    "message": "boom; failed to update @metadata; type not overwritten (not string)",
                    "code": 7,
                    "type": "json",
                },
            },
        ),
    ],
)
def test_with_overwrite_keys_the_json_wins(line: str, doc: Doc) -> None:
    assert one(line, overwrite_keys=True, add_error_key=True)[1] == doc


@pytest.mark.parametrize(
    ("line", "text", "doc"),
    [
        ("x", "x", error(f"Error decoding JSON: {NOT_JSON}")),
        ("[1]", "[1]", error("Error decoding JSON: it is not an object")),
        ("", "", {}),
        ('{"msg": "hello", "a": 1}', "hello", {"msg": "hello", "a": 1}),
        ('{"msg": "hello", "message": "other"}', "hello", {"msg": "hello"}),
        ('{"message": "other"}', "other", error("Key 'msg' not found")),
        ('{"msg": 5}', "", {"msg": 5} | error("Value of key 'msg' is not a string")),
        ('{"msg": "", "a": 1}', "", {"msg": "", "a": 1}),
        ('{"a": 1, "error": "boom"}', "", {"a": 1} | error("boom; Key 'msg' not found")),
    ],
)
def test_the_error_is_added_to_the_event_where_that_is_wanted(line: str, text: str, doc: Doc) -> None:
    assert one(line, message_key="msg", add_error_key=True) == (text, doc)
    without = {name: value for name, value in doc.items() if name != "error"}
    if "boom" not in line:
        assert one(line, message_key="msg") == (text, without)


def test_a_log_that_is_the_message_is_not_kept_twice() -> None:
    line = '{"log": "hello", "stream": "stdout"}'
    assert one(line, message_key="log") == ("hello", {"stream": "stdout"})


@pytest.mark.parametrize(
    ("target", "line", "text", "doc"),
    [
        ("json", '{"msg": "hello", "message": "x"}', "hello", {"json": {"msg": "hello", "message": "x"}}),
        ("json", '{"@timestamp": 1, "log": "x"}', "", {"json": {"@timestamp": 1, "log": "x"}}),
        ("k8s.audit", '{"a": 1}', "", {"k8s": {"audit": {"a": 1}}}),
        ("host", '{"name": "theirs", "ip": 1}', "", {"host": {"name": "theirs", "ip": 1}}),
        ("fields.deep", '{"m": 2}', "", {"fields": {"env": "prod", "deep": {"n": 1, "m": 2}}}),
        ("log", '{"offset": 1, "level": "x"}', "", {"log": {"level": "x"}, "json": {"log": {"offset": 1}}}),
        ("log.offset", '{"a": 1}', "", {"json": {"log": {"offset": {"a": 1}}}}),
        ("json", "no json", "no json", {}),
        ("json", "{}", "", {"json": {}}),
    ],
)
def test_a_target_takes_the_members(target: str, line: str, text: str, doc: Doc) -> None:
    assert one(line, target=target, message_key="msg") == (text, doc)


def test_with_a_target_an_error_is_where_errors_are_searched() -> None:
    assert one("x", target="json", add_error_key=True)[1] == error(f"Error decoding JSON: {NOT_JSON}")


@pytest.mark.parametrize(
    ("line", "doc"),
    [
        ('{"a.b": 1, "a.c": 2, "d": {"e.f": 3}}', {"a": {"b": 1, "c": 2}, "d": {"e": {"f": 3}}}),
        ('{"log.level": "x", "log.offset": 3}', {"log": {"level": "x"}, "json": {"log": {"offset": 3}}}),
        ('{"host.ip": 1}', {"host": {"name": "web-1", "ip": 1}}),
        ('{"a": 1, "a.b": 2}', {"a": 1, "a.b": 2} | error("cannot expand 'a.b': 'a' is not an object")),
        ('{"a.b": 1, "a": 2}', {"a.b": 1, "a": 2} | error("cannot expand 'a': another value is already there")),
    ],
)
def test_dotted_names_become_objects_where_that_is_wanted(line: str, doc: Doc) -> None:
    assert one(line, expand_keys=True, add_error_key=True)[1] == doc


@pytest.mark.parametrize(
    ("line", "doc"),
    [
        ('{"id": "x", "a": 1}', {"a": 1, "@metadata": {"_id": "x"}}),
        ('{"@metadata": {"_id": "theirs"}, "id": "x"}', {"@metadata": {"_id": "x"}}),
        ('{"id": 5}', {"id": 5}),
        ('{"a": 1}', {"a": 1}),
    ],
)
def test_an_id_goes_to_the_metadata(line: str, doc: Doc) -> None:
    assert one(line, document_id="id")[1] == doc


@pytest.mark.parametrize("line", ['{"a": {"id": "x", "b": 1}}', '{"a.id": "x", "a": {"b": 1}}'])
def test_an_id_is_found_by_its_path(line: str) -> None:
    assert one(line, document_id="a.id")[1] == {"a": {"b": 1}, "@metadata": {"_id": "x"}}


@pytest.mark.parametrize(
    ("line", "doc"),
    [
        ('{"a": null, "b": {"c": null, "d": [null, {"e": null}]}}', {"b": {"d": [None, {}]}}),
        ('{"message": null, "a": 1}', {"a": 1}),
        ('{"host": null, "a": "null"}', {"a": "null"}),
    ],
)
def test_members_that_are_null_stay_only_with_keep_null(line: str, doc: Doc) -> None:
    kept = json.loads(line)
    kept.pop("host", None)
    assert one(line)[1] == doc
    assert one(line, keep_null=True)[1] == kept


def test_what_an_earlier_parser_found_is_there_too() -> None:
    lines = ['{"stream": "theirs", "a": {"c": 2}, "log": {"level": "x"}}', '{"message": "x", "a": {"c": 2}}', "no json"]
    run = messages(lines)
    run.docs = [{"stream": "stdout", "a": {"b": 1}, "log": {"syslog": 1}}, {"a": {"b": 1}}, {"stream": "stderr"}]
    assert decode(run).docs == [
        {"stream": "stdout", "a": {"b": 1, "c": 2}, "log": {"syslog": 1, "level": "x"}},
        {"a": {"b": 1, "c": 2}},
        {"stream": "stderr"},
    ]


def test_no_document_is_made_for_lines_that_have_none() -> None:
    assert decode(["a", "", "b"]).docs is None


def test_a_message_that_ends_by_time_is_decoded_too() -> None:
    reader = parsed(GivenRuns(ending=messages(['{"a": 1}'])), NdjsonConfig())
    assert reader.next() is None
    ended = reader.finish()
    assert ended is not None
    assert ended.docs == [{"a": 1}]
    assert reader.finish() is None


def test_what_the_file_shares_is_never_changed_by_what_is_added_in_one_event() -> None:
    shared = source(static=STATIC).constants.members
    before = orjson.dumps(shared)
    line = '{"fields": {"deep": {"m": 2}}, "tags": ["x"], "host": {"ip": 1}, "log": {"file": {"name": 1}}}'
    reader = parsed(GivenRuns([line]), NdjsonConfig(overwrite_keys=True), shared=shared)
    run = reader.next()
    assert run is not None
    assert run.docs is not None
    run.docs[0]["fields"]["deep"]["n"] = 2
    run.docs[0]["log"]["file"]["path"] = 2
    assert orjson.dumps(shared) == before


@pytest.mark.parametrize(
    ("line", "count"),
    [('{"@timestamp": 1}', 1), ('{"type": 5, "@metadata": 1}', 1), ("x", 1), ('{"host": 1}', 0), ("{}", 0)],
)
def test_events_with_a_wrong_object_are_counted(line: str, count: int) -> None:
    metrics = Metrics()
    config = NdjsonConfig(overwrite_keys=True)
    reader = parsed(GivenRuns([line, '{"a": 1}']), config, metrics=metrics)
    reader.next()
    assert metrics.processor_failures == count


def test_members_of_fields_under_root_are_kept() -> None:
    shared = source(static={"env": "prod"}).constants.members
    given = GivenRuns(['{"env": "theirs", "host": {"name": "theirs"}}'])
    reader = parsed(given, NdjsonConfig(overwrite_keys=True), shared=shared)
    run = reader.next()
    assert run is not None
    assert run.docs == [{"host": {"name": "theirs"}}]


def test_a_file_of_another_format_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        decode(['{"a": 1}', "x", "y", ""])
    (warning,) = caplog.messages
    assert warning.startswith(f"/var/log/app.log: the line at offset 9 is not a JSON object ({NOT_JSON})")
    assert "others" not in warning


def test_lines_that_are_not_json_are_logged_once_a_minute_with_their_number(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = ManualClock()
    runs = [messages(["x", "y"]), messages(["z"]), messages(['{"a": 1}', "later", "last"])]
    reader = parsed(GivenRuns(*runs), NdjsonConfig(), clock)
    reader.next()
    clock.advance(INTERVAL - 1)
    reader.next()
    assert len(caplog.messages) == 1
    clock.advance(1)
    reader.next()
    _, again = caplog.messages
    assert "the line at offset 9 is not a JSON object" in again
    assert "as were 2 others since the last warning" in again


def test_a_file_of_another_format_is_not_logged_where_that_is_not_wanted(caplog: pytest.LogCaptureFixture) -> None:
    decode(["x"], ignore_decoding_error=True)
    decode(["", '{"a": 1}'])
    assert caplog.messages == []


def nested(levels: int, inside: str = "1") -> str:
    return '{"a":' * levels + inside + "}" * levels


HOSTILE = [
    nested(DEEPEST),
    nested(DEEPEST + 1),
    nested(1024),
    nested(10_000),
    nested(10_000, '"\\ud800"'),
    "[" * 100_000,
    '{"a":' + "[" * 10_000 + "]" * 10_000 + "}",
    '{"' + "a." * 10_000 + 'a": 1}',
    '{"' + "." * 300 + '": 1, "": 2, "..": 3}',
    '{"a": "\\ud800", "b": ' + "1" * 5000 + "}",
    '{"a": ' + "1" * 30 + "}",
    '{"host": {"name": {"name": []}}, "ecs": [], "input": null, "agent": {"": 1}}',
    '{"log": {"file": {"id": [], "": 1}, "offset": {}, "": {}}, "json": {"log": 1}}',
    '{"log.offset": 1, "log": {"file.id": 1}, "@timestamp.x": 1, "message.x": 2, "message": "\\u007f"}',
    '{"@timestamp": "9999-12-31T23:59:59-23:00", "@metadata": [], "type": null, "error": []}',
    '{"tags": null, "fields": 5, "": "", "\\u0000": "\\u0000"}',
    "\ufeff\ufeff",
    '{"a":1}' + "\0" * 100,
    "\U0001f600",
]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"overwrite_keys": True, "expand_keys": True, "message_key": "a", "document_id": "a.b"},
        {"target": "json.a", "expand_keys": True, "message_key": "a"},
    ],
    ids=["plain", "overwrite and expand", "target"],
)
@pytest.mark.parametrize("keep_null", [True, False])
def test_a_hostile_line_still_makes_one_record(options: Doc, keep_null: bool, subtests: pytest.Subtests) -> None:
    for line in HOSTILE:
        with subtests.test(line[:50]):
            run = decode(['{"z": 1}', line], add_error_key=True, keep_null=keep_null, **options)
            records = Encoder(2**31).encode(Batch(source(static=STATIC), run, 0.0, nothing))
            _, record = (json.loads(line, object_pairs_hook=without_twins) for line in records)
            assert (record["log"]["offset"], record["log"]["length"]) == (run.offsets[1], run.lengths[1])
            assert record["log"]["file"]["id"] == "f1"
            assert record["@timestamp"].endswith("Z")


def without_twins(pairs: list[tuple[str, object]]) -> dict[str, object]:
    assert len(dict(pairs)) == len(pairs)
    return dict(pairs)
