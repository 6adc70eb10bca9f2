"""dissect: texts taken apart at the literal texts of a tokenizer."""

import json
import time

import pytest

from log_shipper.shipper.event import Doc
from log_shipper.shipper.metrics import Metrics
from tests.processing import batch_of, chain_of, processed, records

BELOW_ROOT = 'target_prefix: ""'


def dissected(tokenizer: str, text: str, *options: str) -> Doc:
    """Return the members that the event gets, and its error message."""
    lines = "".join(f"\n    {option}" for option in (BELOW_ROOT, *options))
    (record,) = processed(f"- dissect:\n    tokenizer: {json.dumps(tokenizer)}{lines}", {"message": text})
    assert record.pop("message") == text
    return record


@pytest.mark.parametrize(
    ("tokenizer", "text", "found"),
    [
        ("%{key}", "foobar", {"key": "foobar"}),
        ("%{a} %{b}", "one two three", {"a": "one", "b": "two three"}),
        ("/var/%{key}/log", "/var/app/log", {"key": "app"}),
        ('level=%{level} msg="%{text}"', 'level=info msg="up" and more', {"level": "info", "text": "up"}),
        ("%{a},%{b},%{c}", "1,,3", {"a": "1", "b": "", "c": "3"}),
        ("%{a} %{b}", "one ", {"a": "one", "b": ""}),
        ("{%{a}}{%{b}} %{rest}", "{c}{d} any", {"a": "c", "b": "d", "rest": "any"}),
        ("%{a.b.c} %{a.d}", "1 2", {"a": {"b": {"c": "1"}, "d": "2"}}),
        ("%{a} - %{b}", "1 -- - 2\n3", {"a": "1 --", "b": "2\n3"}),
        ("%{a}^%{b}]%{c}-%{d}", "1^2]3-4", {"a": "1", "b": "2", "c": "3", "d": "4"}),
        ("%{a}ü%{b}", "äüö", {"a": "ä", "b": "ö"}),
        ("%{a} %{a}", "1 2", {"a": "2"}),
        ("%{a}%{b}", "12", {"a": "", "b": "12"}),
        # skipped
        ("%{} %{key}", "hello world", {"key": "world"}),
        ("%{?name} %{key}", "hello world", {"key": "world"}),
        ("%{->} %{key}", "hello    world", {"key": "world"}),
        # appended
        ("%{key}-%{+key}-%{+key}", "1-2-3", {"key": "1-2-3"}),
        ("%{+key}, %{+key}", "1, 2", {"key": "1, 2"}),
        ("%{+key/3} %{+key/1} %{+key/2}", "1 2 3", {"key": "2 3 1"}),
        ("%{+key/2} %{x}", "1 2", {"key": "1", "x": "2"}),
        # named by the text
        ("%{?key} %{&key}", "hello world", {"hello": "world"}),
        ("%{*key}=%{&key} %{*other}=%{&other}", "a=1 b=2", {"a": "1", "b": "2"}),
        ("%{key} %{&key}", "hello world", {"key": "hello", "hello": "world"}),
        ("%{?key} %{&key|integer}", "a.b 7", {"a": {"b": 7}}),
        # padded
        ("%{id} %{function->} %{server}", "1 View     m-1", {"id": "1", "function": "View", "server": "m-1"}),
        ("%{id} %{server->} ", "1 m-1    ", {"id": "1", "server": "m-1"}),
        ("%{a->}-- %{b}", "1-- 2", {"a": "1", "b": "2"}),
        # of a fixed length
        ("%{a#3}%{b#2}", "12345", {"a": "123", "b": "45"}),
        ("%{a#3} %{b}", "123 45", {"a": "123", "b": "45"}),
        ("%{a#2}%{b}", "ä€12", {"a": "ä€", "b": "12"}),
        # of a type
        ("%{a|integer} %{b|long} %{c|double}", "12 3000000000 1.5", {"a": 12, "b": 3000000000, "c": 1.5}),
        ("%{a|float} %{b|boolean} %{c|ip}", "0.1 true ::1", {"a": 0.1, "b": True, "c": "::1"}),
        ("%{a|integer}|%{b|integer}", "0x1F|-7  ", {"a": 31, "b": -7}),
        ("%{a|integer} %{b|ip} %{c|boolean}", "3000000000 here yes", {"a": "3000000000", "b": "here", "c": "yes"}),
        ("%{a#2|integer}%{b->|string} %{c}", "42x   y", {"a": 42, "b": "x", "c": "y"}),
    ],
)
def test_takes_texts_apart(tokenizer: str, text: str, found: Doc) -> None:
    assert dissected(tokenizer, text) == found


@pytest.mark.parametrize(
    ("tokenizer", "text"),
    [
        ("/var/%{key}.log", "foobar"),
        ("/var/%{key}.log", "/var/foobar"),
        ("x%{key}", " x1"),
        ("%{a#3}%{b#2}", "123456"),
        ("%{a#3}%{b#2}", "1234"),
        ("%{a#3}-%{b}", "123+4"),
    ],
)
def test_a_text_of_another_form_is_flagged_and_marked(tokenizer: str, text: str) -> None:
    metrics = Metrics()
    batch = batch_of([{"message": text}])
    chain_of(f"- dissect: {{tokenizer: {json.dumps(tokenizer)}}}", metrics)(batch)
    (record,) = records(batch)
    assert record["log"]["flags"] == ["dissect_parsing_error"]
    assert record["error"]["type"] == "dissect"
    assert "dissect" not in record
    assert metrics.processor_failures == 1


def test_ignore_failure_leaves_the_flag_only() -> None:
    batch = batch_of([{"message": "x"}, {}])
    chain_of('- dissect: {tokenizer: "a%{b}", ignore_failure: true}')(batch)
    first, second = records(batch)
    assert first["log"]["flags"] == ["dissect_parsing_error"]
    assert "error" not in first
    assert "error" not in second


@pytest.mark.parametrize(
    ("options", "value"),
    [("none", "  x  "), ("left", "x  "), ("right", "  x"), ("all", "x")],
)
def test_values_are_trimmed(options: str, value: str) -> None:
    assert dissected("%{a},%{b|string},%{c}", "  x  ,1 ,", f"trim_values: {options}")["a"] == value


def test_the_characters_to_trim_can_be_chosen() -> None:
    assert dissected("[%{a}]", "[-+x+-]", "trim_values: all", 'trim_chars: "+-"') == {"a": "x"}


def test_keys_are_written_below_dissect_by_default() -> None:
    chain = '- dissect: {tokenizer: "%{a} %{b.c}"}\n- dissect: {tokenizer: "%{a} %{d}", target_prefix: x.y}'
    (record,) = processed(chain, {"message": "1 2"})
    assert record["dissect"] == {"a": "1", "b": {"c": "2"}}
    assert record["x"] == {"y": {"a": "1", "d": "2"}}


@pytest.mark.parametrize(
    ("tokenizer", "there"),
    [
        ("%{x} %{a}", {"a": "before"}),
        ("%{x} %{a.b}", {"a": {"b": "before"}}),
        ("%{x} %{a.b}", {"a.b": "before"}),
        ("%{x} %{a.b}", {"a": "before"}),
        ("%{x} %{fields.env}", {}),
        ("%{x} %{message}", {}),
        ("%{x} %{log.offset}", {}),
        ("%{?k} %{x} %{&k}", {"one": "before"}),
    ],
)
def test_nothing_is_written_where_a_key_is_there_already(tokenizer: str, there: Doc) -> None:
    before = {"message": "one two three", **there}
    (record,) = processed(
        f'- dissect: {{tokenizer: "{tokenizer}", target_prefix: ""}}', before, static={"fields": {"env": "prod"}}
    )
    assert record.pop("error")["type"] == "dissect"
    assert record == {**before, "fields": {"env": "prod"}}


def test_overwrite_keys_replaces_what_is_there() -> None:
    chain = (
        '- dissect: {tokenizer: "%{a} %{message} %{log.level} %{fields.env}", target_prefix: "", overwrite_keys: true}'
    )
    batch = batch_of([{"message": "1 2 3 4", "a": {"b": 1}}], static={"fields": {"env": "prod", "x": 1}})
    chain_of(chain)(batch)
    (record,) = records(batch)
    assert (record["a"], record["message"], record["fields"]) == ("1", "2", {"env": "4", "x": 1})
    assert record["log"]["level"] == "3"
    assert record["log"]["file"]["path"] == "/var/log/app.log"


def test_log_members_of_one_event_are_not_those_of_the_next() -> None:
    batch = batch_of([{"message": "info x"}, {"message": "warn y"}])
    chain_of('- dissect: {tokenizer: "%{log.level} %{x}", target_prefix: ""}')(batch)
    first, second = records(batch)
    assert (first["log"]["level"], second["log"]["level"]) == ("info", "warn")
    assert first["log"]["file"] == second["log"]["file"]
    assert batch.messages.docs is not None
    assert batch.messages.docs[0]["log"]["file"] is not batch.messages.docs[1]["log"]["file"]


def test_a_key_above_that_is_a_value_stays_one() -> None:
    chain = '- dissect: {tokenizer: "%{a.b}", target_prefix: "", overwrite_keys: true}'
    (record,) = processed(chain, {"message": "1", "a": "text"})
    assert record["a"] == "text"
    assert "a is" in record["error"]["message"] or "'b'" in record["error"]["message"]


def test_a_name_in_the_text_cannot_make_any_number_of_objects() -> None:
    name = "a." * 16 + "a"
    assert dissected("%{?k}=%{&k}", f"{name}=1") == {name: "1"}


@pytest.mark.parametrize(
    ("doc", "words"), [({}, "is missing"), ({"x": 7}, "is not a string"), ({"x": ""}, "does not match the tokenizer")]
)
def test_a_field_that_is_no_text_is_an_error(doc: Doc, words: str) -> None:
    (record,) = processed('- dissect: {tokenizer: "%{a}", field: x}', doc)
    assert words in record["error"]["message"]


def test_a_path_is_taken_apart_once_for_the_file() -> None:
    batch = batch_of([{"message": "a"}, {"message": "b"}])
    chain_of('- dissect: {tokenizer: "/var/log/%{app}.log", field: log.file.path, target_prefix: service}')(batch)
    assert batch.messages.docs is None
    assert [record["service"] for record in records(batch)] == [{"app": "app"}] * 2


@pytest.mark.parametrize(
    ("tokenizer", "text"),
    [
        ("%{a} - %{b} - %{c} - %{d}!", " - " * 1_000_000),
        ("%{a->} %{b}", " " * 3_000_000),
        ("%{a}ab%{b}ab%{c}x", "a" * 3_000_000),
        ("%{?k}=%{&k}", "a." * 1_000_000 + "=1"),
    ],
)
def test_hostile_texts_take_linear_time(tokenizer: str, text: str) -> None:
    batch = batch_of([{"message": text}])
    chain = chain_of(f'- dissect: {{tokenizer: "{tokenizer}"}}')
    begun = time.process_time()
    chain(batch)
    assert time.process_time() - begun < 1
    assert len(records(batch)) == 1
