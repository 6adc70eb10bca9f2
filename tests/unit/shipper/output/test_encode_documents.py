"""Records of events that have members beside their message: documents, and constants that processors have changed."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from log_shipper.shipper.event import DELETED, MULTILINE, TRUNCATED, Batch, Constants, Doc
from log_shipper.shipper.output.encode import Encoder
from tests.builders import encoder, messages, nothing, source

STATIC: Doc = {"tags": ["a"], "fields": {"env": "prod"}}
TIME = "1970-01-01T00:00:00.000Z"
FILE = {"path": "/var/log/app.log", "inode": "811", "device_id": "2049", "id": "f1"}
SHARED: Doc = {
    **STATIC,
    "input": {"type": "filestream", "id": "app"},
    "host": {"name": "web-1"},
    "agent": {"type": "shipper", "version": "0.1.0", "id": "agent-1", "name": "web-1"},
    "ecs": {"version": "8.17.0"},
}


def batch_of(*docs: Doc, text: str = "text") -> Batch:
    run = messages([text for _ in docs])
    run.docs = list(docs)
    return Batch(source(static=STATIC), run, 0.0, nothing)


def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Two members of one name: most readers keep one of them, and the sink refuses the record."""
    assert len(dict(pairs)) == len(pairs)
    return dict(pairs)


def parsed(records: list[str]) -> list[Doc]:
    return [json.loads(record, object_pairs_hook=members) for record in records]


def record(doc: Doc, text: str = "text", flags: tuple[str, ...] = ()) -> Doc:
    """Of the second of three events, whose neighbours have none of it."""
    batch = batch_of({}, doc, {"x": 1}, text=text)
    if flags:
        batch.messages.flags = {1: flags}
    first, made, last = parsed(encoder().encode(batch))
    assert "x" not in first
    assert last["x"] == 1
    return made


def plain(**other: Any) -> Doc:
    return {"@timestamp": TIME, "message": "text", "log": {"offset": 5, "length": 5, "file": FILE}, **SHARED, **other}


@pytest.mark.parametrize(
    ("doc", "expected"),
    [
        ({}, plain()),
        ({"a": {"b": [1, None, "x"]}}, plain(a={"b": [1, None, "x"]})),
        ({"tags": ["own"]}, plain(tags=["own"])),
        ({"tags": [], "host": None, "new": 1}, plain(tags=[], host=None, new=1)),
        ({"@timestamp": "2020-02-29T12:00:00.000Z"}, plain(**{"@timestamp": "2020-02-29T12:00:00.000Z"})),
        ({"log": {"level": "info"}}, plain(log={"offset": 5, "length": 5, "file": FILE, "level": "info"})),
        ({"log": {}}, plain()),
        ({"log": {"file": {"id": "f1"}}}, plain(log={"offset": 5, "length": 5, "file": {"id": "f1"}})),
        ({"error": {"message": "x"}, "a.b": 1}, plain(error={"message": "x"}, **{"a.b": 1})),
        ({'quo"te\n': 'va"lue\\'}, plain(**{'quo"te\n': 'va"lue\\'})),
    ],
)
def test_members_of_an_event_replace_those_of_the_file(doc: Doc, expected: Doc) -> None:
    assert record(doc) == expected


@pytest.mark.parametrize("deleted", [["tags"], ["host", "agent", "ecs", "input"], ["tags", "fields"]])
def test_deleted_members_are_left_out(deleted: list[str]) -> None:
    expected = {name: value for name, value in plain(x=1).items() if name not in deleted}
    assert record({"x": 1, **dict.fromkeys(deleted, DELETED)}) == expected
    assert record(dict.fromkeys(deleted, DELETED)) == {name: value for name, value in expected.items() if name != "x"}


@pytest.mark.parametrize("doc", [{"a": 1}, {"tags": ["own"]}, {"log": {"level": "info"}}])
def test_flags_stand_in_the_log(doc: Doc) -> None:
    made = record(doc, flags=(MULTILINE, TRUNCATED))
    assert made["log"]["flags"] == ["multiline", "truncated"]
    del made["log"]["flags"]
    assert made == record(doc)


@pytest.mark.parametrize("own", [{"offset": 9}, {"length": 9, "level": "info"}, {"flags": ["forged"]}])
def test_members_that_identify_repeats_are_written_once_whatever_a_parser_found(own: Doc) -> None:
    log = record({"log": own}, flags=(MULTILINE,))["log"]
    assert (log["offset"], log["length"], log["flags"]) == (5, 5, ["multiline"])


@pytest.mark.parametrize("doc", [{}, {"a": 1}, {"tags": []}, {"log": {"level": "info"}}])
def test_an_event_may_have_no_message(doc: Doc) -> None:
    batch = batch_of({"x": 1}, doc, {"x": 1})
    batch.messages.texts[1] = ""
    _, made, last = parsed(encoder().encode(batch))
    assert "message" not in made
    assert last["message"] == "text"
    assert made["log"]["offset"] == 5


@pytest.mark.parametrize("message", ["", None, 5, ["a"], {"a": "b"}])
@pytest.mark.parametrize("other", [{}, {"tags": []}])
def test_a_message_may_be_something_else_than_a_text(message: object, other: Doc) -> None:
    batch = batch_of({"message": message, **other})
    batch.messages.texts[0] = ""
    assert parsed(encoder().encode(batch))[0]["message"] == message


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("half \ud83d of it", "half ? of it"),
        (2**70, str(2**70)),
        (-(2**63) - 1, str(-(2**63) - 1)),
        (2**64 - 1, 2**64 - 1),
        (b"caf\xc3\xa9 \xff", "café \ufffd"),
        (datetime(2026, 11, 21, 9, 30, tzinfo=UTC), "2026-11-21T09:30:00+00:00"),
        (float("nan"), None),
        (float("-inf"), None),
        ({1: "a", None: {2.5: "b"}}, {"1": "a", "None": {"2.5": "b"}}),
        ((1, (2, 2**70)), [1, [2, str(2**70)]]),
        ([{"deep": ["\udfff", 2**70, {3: True}]}], [{"deep": ["?", str(2**70), {"3": True}]}]),
        ({"half \ud83d": 1}, {"half ?": 1}),
        (ValueError("half \ud83d"), "half ?"),
        ([True, {"n": 2**70}], [True, {"n": str(2**70)}]),
    ],
)
def test_what_json_has_no_form_for_is_written_as_text(value: object, written: object) -> None:
    for place in ({"a": value}, {"tags": value}, {"log": {"a": value}}):
        made = record(place)
        assert (made.get("a") or made["log"].get("a") or (made["tags"] if "tags" in place else None)) == written


def nested(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = {"a": [value]}
    return value


@pytest.mark.parametrize("levels", [100, 126, 127, 300, 490])
def test_what_is_nested_too_deep_is_cut_there_and_the_event_is_sent(levels: int) -> None:
    made = json.dumps(record({"deep": nested(levels)}))
    assert ("too deep" in made) is (levels > 126)


def test_half_characters_in_a_message_become_question_marks() -> None:
    batch = batch_of({}, {"a": 1})
    batch.messages.texts[0] = "half \ud83d of it"
    first, second = parsed(encoder().encode(batch))
    assert (first["message"], second["message"]) == ("half ? of it", "text")
    batch.messages.docs = None
    assert [each["message"] for each in parsed(encoder().encode(batch))] == ["half ? of it", "text"]


@pytest.mark.parametrize("text", ["x" * 3000, "\x00" * 3000, "é\ud83d" * 1000])
@pytest.mark.parametrize("doc", [{"a": "b" * 300}, {"tags": ["own"]}, {"log": {"level": "info"}}])
def test_a_record_over_the_limit_has_its_message_cut(text: str, doc: Doc) -> None:
    batch = batch_of({"x": 1}, doc, {"x": 1})
    batch.messages.texts[1] = text
    made = Encoder(1000).encode(batch)
    first, cut, last = parsed(made)
    assert 900 < len(made[1].encode()) <= 1000
    assert cut["log"]["flags"] == [TRUNCATED]
    assert text.encode("utf-8", "replace").decode().startswith(cut["message"])
    assert [(each["message"], "flags" in each["log"]) for each in (first, last)] == [("text", False), ("text", False)]
    for name, value in doc.items():
        assert cut[name] == value or name == "log"
    assert Encoder(1000).encode(batch) == made


def test_a_document_over_the_limit_loses_the_message_alone_and_is_left_to_the_output() -> None:
    (made,) = Encoder(1000).encode(batch_of({"a": "b" * 3000}))
    assert len(made) > 3000
    assert parsed([made])[0]["message"] == ""


def test_an_event_without_a_message_can_be_over_the_limit_too() -> None:
    batch = batch_of({"a": "b" * 3000})
    batch.messages.texts[0] = ""
    (made,) = parsed(Encoder(1000).encode(batch))
    assert "message" not in made
    assert made["log"]["flags"] == [TRUNCATED]


def test_constants_that_processors_made_are_written_in_their_place() -> None:
    batch = batch_of({}, {"tags": ["own"]})
    batch.constants = Constants({"log": {"file": {"id": "f1"}}, "tags": ["new"], "host": {"name": "x"}})
    made = parsed(encoder().encode(batch))
    assert [each["tags"] for each in made] == [["new"], ["own"]]
    assert [each["log"]["file"] for each in made] == [{"id": "f1"}, {"id": "f1"}]
    assert "ecs" not in made[0]


def test_the_same_events_give_the_same_bytes_with_and_without_empty_documents() -> None:
    with_docs, without = batch_of({}, {}, {}), batch_of({}, {}, {})
    without.messages.docs = None
    assert encoder().encode(with_docs) == encoder().encode(without)
    with_docs.messages.flags = without.messages.flags = {1: (MULTILINE,)}
    assert encoder().encode(with_docs) == encoder().encode(without)
