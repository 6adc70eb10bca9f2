"""decode_json_fields: fields that hold JSON become what it says."""

import json
import time
from typing import Any

import pytest

from log_shipper.shipper.event import Doc
from log_shipper.shipper.metrics import Metrics
from tests.processing import batch_of, chain_of, processed, records


def decoded(text: str, *options: str, **members: Any) -> Doc:
    lines = "".join(f"\n    {option}" for option in options)
    (record,) = processed(f"- decode_json_fields:\n    fields: [a]{lines}", {"message": "x", "a": text, **members})
    assert record.pop("message") == "x"
    return record


NESTED = json.dumps({"b": json.dumps({"c": json.dumps({"d": 1}), "l": "[1]"}), "t": "{no", "n": " {} "})


@pytest.mark.parametrize(
    ("text", "options", "value"),
    [
        ('{"b":{"c":[1,2.5,null,true,"x"]}}', [], {"b": {"c": [1, 2.5, None, True, "x"]}}),
        ("[1]", [], [1]),
        ('"x"', [], "x"),
        ("7", [], 7),
        (NESTED, ["max_depth: 1"], json.loads(NESTED)),
        (NESTED, ["max_depth: 2"], {"b": {"c": '{"d": 1}', "l": "[1]"}, "t": "{no", "n": {}}),
        (NESTED, ["max_depth: 3"], {"b": {"c": {"d": 1}, "l": [1]}, "t": "{no", "n": {}}),
        (NESTED, ["max_depth: 4"], {"b": {"c": {"d": 1}, "l": "[1]"}, "t": "{no", "n": {}}),
        (NESTED, ["max_depth: 4", "process_array: true"], {"b": {"c": {"d": 1}, "l": [1]}, "t": "{no", "n": {}}),
        ('["{\\"x\\":1}"]', ["max_depth: 2", "process_array: true"], [{"x": 1}]),
        ('["{\\"x\\":1}"]', ["max_depth: 1"], ['{"x":1}']),
    ],
)
def test_the_value_replaces_the_text(text: str, options: list[str], value: Any) -> None:
    assert decoded(text, *options) == {"a": value}


def test_the_value_can_go_elsewhere() -> None:
    assert decoded('{"b":1}', "target: x.y") == {"a": '{"b":1}', "x": {"y": {"b": 1}}}


@pytest.mark.parametrize(
    ("text", "options", "before", "after"),
    [
        ('{"b":1,"c":{"d":2}}', [], {}, {"b": 1, "c": {"d": 2}}),
        ('{"b":1,"c":{"d":2,"e":3}}', [], {"b": 0, "c": {"d": 0}}, {"b": 0, "c": {"d": 0, "e": 3}}),
        ('{"b":1,"c":{"d":2}}', ["overwrite_keys: true"], {"b": 0, "c": {"x": 0}}, {"b": 1, "c": {"x": 0, "d": 2}}),
        ('{"b.c":1,"b":{"d":2}}', ["expand_keys: true"], {}, {"b": {"c": 1, "d": 2}}),
        ('{"b.c":1}', [], {}, {"b.c": 1}),
        ('{"fields":{"env":"dev","n":1}}', [], {}, {"fields": {"env": "prod", "n": 1}}),
        ('{"fields":{"env":"dev","n":1}}', ["overwrite_keys: true"], {}, {"fields": {"env": "dev", "n": 1}}),
        ('{"tags":["b"],"message":"y"}', [], {}, {}),
    ],
)
def test_an_empty_target_merges_with_the_event(text: str, options: list[str], before: Doc, after: Doc) -> None:
    lines = "".join(f"\n    {option}" for option in ['target: ""', *options])
    chain = f"- decode_json_fields:\n    fields: [a]{lines}"
    static = {"tags": ["t"], "fields": {"env": "prod"}}
    (record,) = processed(chain, {"message": "x", "a": text, **before}, static=static)
    assert record == {"message": "x", "a": text, **static, **before, **after}


def merged(text: str) -> Doc:
    batch = batch_of([{"message": text}], time=1.0)
    chain_of('- decode_json_fields: {fields: [message], target: "", overwrite_keys: true, add_error_key: true}')(batch)
    return records(batch)[0]


def test_the_json_can_bring_message_and_time_and_members_of_log() -> None:
    record = merged(
        '{"message":"y","@timestamp":"2026-11-21T09:30:00+01:00","log":{"level":"info","offset":99},"type":"t"}'
    )
    assert record["message"] == "y"
    assert record["@timestamp"] == "2026-11-21T08:30:00.000Z"
    assert record["log"]["level"] == "info"
    assert record["log"]["offset"] == 0
    assert record["log"]["file"]["path"] == "/var/log/app.log"
    assert record["type"] == "t"
    assert "error" not in record


@pytest.mark.parametrize("text", ['{"@timestamp":7,"b":1}', '{"@timestamp":"soon","b":1}', '{"type":"_x","b":1}'])
def test_invalid_members_of_the_root_are_reported_and_the_others_are_written(text: str) -> None:
    record = merged(text)
    assert record["b"] == 1
    assert record["json"] == {name: value for name, value in json.loads(text).items() if name != "b"}
    assert record["@timestamp"] == "1970-01-01T00:00:01.000Z"
    assert record["error"]["type"] == "decode_json_fields"
    assert record["log"]["file"]["path"] == "/var/log/app.log"


@pytest.mark.parametrize("name", ["host", "tags", "fields", "log"])
def test_a_member_of_another_type_than_in_a_record_is_set_aside(name: str) -> None:
    record = merged(json.dumps({name: "text"}))
    assert record["json"] == {name: "text"}
    assert record.get("error") is None
    assert record["log"]["file"]["path"] == "/var/log/app.log"


@pytest.mark.parametrize(
    ("options", "text", "words"),
    [
        ([], '{"b":', "parsing input as JSON: field a: "),
        ([], "text", "parsing input as JSON: field a: "),
        ([], '{"b":1}{"c":2}', "parsing input as JSON: field a: "),
        (["max_depth: 2"], "[1]", "it is an array"),
        (['target: ""'], "[1]", "is not an object"),
        (['target: ""', "expand_keys: true"], '{"b":1,"b.c":2}', "cannot expand"),
        (["target: message.x"], "{}", "message"),
    ],
)
def test_an_error_is_counted_and_reported_on_request(options: list[str], text: str, words: str) -> None:
    assert decoded(text, *options) == {"a": text}
    record = decoded(text, *options, "add_error_key: true")
    error = record.pop("error")
    assert words in error["message"]
    assert (error["field"], error["data"]) == ("a", text)
    assert record == {"a": text}
    metrics = Metrics()
    chain_of("- decode_json_fields: {fields: [message]}", metrics)(batch_of([{"message": "x"}, {"message": "{}"}]))
    assert metrics.processor_failures == 1


def test_the_data_of_an_error_is_bounded() -> None:
    (record,) = processed("- decode_json_fields: {fields: [a], add_error_key: true}", {"a": "x" * 5000})
    assert record["error"]["data"] == "x" * 1000


def test_what_is_there_and_no_text_or_not_there_is_left() -> None:
    (record,) = processed("- decode_json_fields: {fields: [a, none], add_error_key: true}", {"message": "x", "a": 7})
    assert record == {"message": "x", "a": 7}


def test_one_field_that_is_no_json_does_not_keep_back_the_others() -> None:
    (record,) = processed("- decode_json_fields: {fields: [a, b], add_error_key: true}", {"a": "{", "b": "{}"})
    assert record["b"] == {}
    assert "field a" in record["error"]["message"]


@pytest.mark.parametrize(
    ("text", "left", "metadata"),
    [
        ('{"id":"7","b":1}', {"b": 1}, {"_id": "7"}),
        ('{"id":7}', {"id": 7}, None),
        ("[1]", [1], None),
    ],
)
def test_the_id_of_the_document_is_moved(text: str, left: Any, metadata: dict[str, str] | None) -> None:
    record = decoded(text, "document_id: id")
    assert record["a"] == left
    assert record.get("@metadata") == metadata


@pytest.mark.parametrize(
    "text",
    [
        "[" * 10_000 + "]" * 10_000,
        '{"a":' * 10_000 + "1" + "}" * 10_000,
        "[" * 300 + "]" * 300,
        '{"a":' * 2_000_000,
        '"' + "\\u" * 1_000_000,
        "1" * 1_000_000,
    ],
)
def test_hostile_texts_stay_what_they_are(text: str) -> None:
    begun = time.process_time()
    record = decoded(text, "add_error_key: true")
    assert time.process_time() - begun < 5
    assert record["a"] == text or text.isdigit()


@pytest.mark.parametrize("bracket", ["[", "\\u005b"])
def test_json_in_json_cannot_get_deeper_than_an_event_can_be(bracket: str) -> None:
    options = ("max_depth: 2", "process_array: true", "add_error_key: true")
    texts = ['{"x":' + json.dumps("[" * n + "]" * n).replace("[", bracket) + "}" for n in (199, 200)]
    assert isinstance(decoded(texts[0], *options)["a"]["x"], list)
    record = decoded(texts[1], *options)
    assert record["a"] == texts[1]
    assert "deeper than 200" in record["error"]["message"]
