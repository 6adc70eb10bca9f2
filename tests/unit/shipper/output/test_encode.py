"""The record: byte for byte as in tests/golden, which the sink's tests read too."""

import json
from pathlib import Path
from typing import Any

import pytest

from log_shipper.shipper.event import DELETED, MULTILINE, TRUNCATED, Batch, Doc, Messages
from log_shipper.shipper.formats.record import Agent, static_members, timestamp
from log_shipper.shipper.output.encode import Encoder
from tests.builders import batch, encoder, nothing, source

GOLDEN = Path(__file__).parents[3] / "golden"
MOMENT = 1795253400.123  # 2026-11-21T09:30:00.123Z


def record(
    text: str,
    offset: int = 0,
    length: int | None = None,
    flags: tuple[str, ...] = (),
    static: Doc | None = None,
    path: str = "/var/log/app.log",
    doc: Doc | None = None,
) -> str:
    run = Messages(offset, offset)
    run.append(text, offset, len(text.encode()) + 1 if length is None else length, flags)
    run.docs = None if doc is None else [doc]
    (encoded,) = encoder().encode(Batch(source("9f3c", path, static), run, MOMENT, nothing))
    return encoded


def test_the_first_golden_record() -> None:
    run = Messages(1234, 1321)
    run.append("…", 1234, 87, (MULTILINE,))
    static = static_members(("a",), {"env": "prod"}, {})
    of = source("9f3c…", "/var/log/app.log", static, Agent("web-1", "web-1", "…", "0.1.0"))
    golden = (GOLDEN / "record.json").read_text().splitlines()
    assert Encoder(10_000).encode(Batch(of, run, MOMENT, nothing)) == golden


RECORDS = {
    "plain": record("GET /index.html 200", 0),
    "multiline and truncated": record('Traceback:\n  File "x.py"', 1234, 87_000, (MULTILINE, TRUNCATED)),
    "tags and fields": record("tagged", 20, static=static_members(("a", "b"), {"env": "prod", "depth": {"n": 1}}, {})),
    "fields under root": record("rooted", 27, static=static_members((), {}, {"env": "prod", "team": ["x", None, 1.5]})),
    "bytes that are not UTF-8": record(b"caf\xe9 \xff".decode("utf-8", "replace"), 34, 7),
    "DEL": record("a\x7fb", 41),
    "control characters and quotes": record('\x00\x1b[31m\t"quoted" \\ / \u2028 \U0001f600', 45),
    "a path that is not UTF-8": record("x", 80, path=b"/var/log/caf\xe9.log".decode("utf-8", "surrogateescape")),
    "members of its own": record("x", 82, doc={"stream": "stdout", "http": {"code": 200, "took": 1.5}, "a.b": [None]}),
    "a constant that it has itself": record(
        "x", 84, static=static_members(("a",), {"env": "prod"}, {}), doc={"tags": ["own"], "error": {"type": "json"}}
    ),
    "a log of its own, and constants taken out": record(
        "x", 86, flags=(MULTILINE,), doc={"log": {"level": "info"}, "agent": DELETED, "ecs": DELETED}
    ),
}


@pytest.mark.parametrize("name", RECORDS)
def test_the_other_golden_records(name: str) -> None:
    golden = (GOLDEN / "records.ndjson").read_bytes().splitlines()
    assert len(golden) == len(RECORDS)
    assert RECORDS[name].encode() == golden[list(RECORDS).index(name)]


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_is_json_without_duplicate_members(name: str) -> None:
    def members(pairs: list[tuple[str, object]]) -> dict[str, object]:
        assert len(dict(pairs)) == len(pairs)
        return dict(pairs)

    assert json.loads(RECORDS[name], object_pairs_hook=members)["@timestamp"] == "2026-11-21T09:30:00.123Z"


def test_each_text_of_a_batch_keeps_its_own_offset() -> None:
    records = [json.loads(each) for each in encoder().encode(batch(["a", 'b"', "\n", "d"], start=7))]
    assert [each["message"] for each in records] == ["a", 'b"', "\n", "d"]
    assert [each["log"]["offset"] for each in records] == [7, 9, 12, 14]


def test_a_text_with_the_separator_does_not_shift_its_neighbours() -> None:
    texts = ["a", "\x7f", "b\x7f\x7f", ""]
    assert [json.loads(each)["message"] for each in encoder().encode(batch(texts))] == texts


def test_a_batch_without_events_has_no_records() -> None:
    assert encoder().encode(batch([])) == []


@pytest.mark.parametrize("text", ["x" * 5000, "\x00" * 5000, "\ufffd" * 5000, "é\U0001f600\n" * 900])
def test_a_record_that_is_too_long_has_its_message_cut_to_fit(text: str) -> None:
    small = Encoder(1000)
    made = small.encode(batch(["short", text, "short"]))
    records = [json.loads(each) for each in made]
    assert 900 < len(made[1].encode()) <= 1000
    assert text.startswith(records[1]["message"])
    assert records[1]["log"]["flags"] == [TRUNCATED]
    assert records[1]["log"]["length"] == len(text.encode()) + 1
    assert [records[0]["message"], records[2]["message"]] == ["short", "short"]
    assert small.encode(batch(["short", text, "short"])) == made


def test_a_record_whose_constant_parts_are_too_long_loses_its_message_and_nothing_else() -> None:
    (made,) = Encoder(100).encode(batch(["some text"]))
    assert json.loads(made)["message"] == ""
    assert json.loads(made)["log"]["flags"] == [TRUNCATED]


def test_a_record_may_be_exactly_as_long_as_the_limit() -> None:
    (made,) = encoder().encode(batch(["x" * 200]))
    size = len(made.encode())
    assert Encoder(size).encode(batch(["x" * 200])) == [made]
    assert len(Encoder(size - 1).encode(batch(["x" * 200]))[0]) <= size - 1


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "1970-01-01T00:00:00.000Z"),
        (MOMENT, "2026-11-21T09:30:00.123Z"),
        (951782399.9996, "2000-02-28T23:59:59.999Z"),
    ],
)
def test_timestamps_have_milliseconds_and_are_in_utc(seconds: float, text: str) -> None:
    assert timestamp(seconds) == text


def test_what_is_constant_for_a_file_is_encoded_once() -> None:
    first = batch(["a"])
    used = encoder()
    used.encode(first)
    assert used.constant_fragments(first.constants) is used.constant_fragments(first.constants)


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


# Documents of events, and what of their records differs from that of an event without one.
DOCUMENTS: list[tuple[Doc, dict[str, Any]]] = [
    ({}, {}),
    ({"a": 1, "b": {"c": [None, "\x7f", "é"]}}, {"a": 1, "b": {"c": [None, "\x7f", "é"]}}),
    ({"a": "\x7f"}, {"a": "\x7f"}),
    ({"@timestamp": "2020-01-01T00:00:00.000Z"}, {"@timestamp": "2020-01-01T00:00:00.000Z"}),
    ({"host": {"name": "other"}, "a": 1}, {"host": {"name": "other"}, "a": 1}),
    ({"host": DELETED}, {"host": DELETED}),
    (
        {"a": {1: 2}, "b": 2**70, "c": "half \ud800", "d": (1,)},
        {"a": {"1": 2}, "b": str(2**70), "c": "half ?", "d": [1]},
    ),
]


@pytest.mark.parametrize("texts", [["text"] * 7, [""] * 7, ["text", ""] * 3 + ["\x7f"]])
@pytest.mark.parametrize("left_out", range(8))
def test_documents_are_written_beside_what_the_file_shares(texts: list[str], left_out: int) -> None:
    """Whatever the other documents of the batch are: most are written together, and some by themselves."""
    docs, differences = zip(*(each for index, each in enumerate(DOCUMENTS) if index != left_out), strict=True)
    with_docs, without = batch(texts[: len(docs)]), batch(texts[: len(docs)])
    with_docs.messages.docs = list(docs)
    records = [json.loads(each) for each in encoder().encode(with_docs)]
    for text, record, plain, different in zip(texts, records, encoder().encode(without), differences, strict=False):
        expected = {name: value for name, value in (json.loads(plain) | different).items() if value is not DELETED}
        if not text:
            del expected["message"]
        assert record == expected


def test_members_of_log_stand_beside_ours() -> None:
    made = batch(["a", "b", "c"])
    made.messages.docs = [{"log": {"level": "x"}}, {"log": {"file": {"id": "f1"}}}, {"n": 1}]
    made.messages.flags = {1: (TRUNCATED,), 2: (MULTILINE,)}
    first, second, third = (json.loads(each)["log"] for each in encoder().encode(made))
    assert third["flags"] == [MULTILINE]
    assert (first["level"], first["offset"], first["length"], first["file"]["id"]) == ("x", 0, 2, "f1")
    assert second == {"offset": 2, "length": 2, "flags": [TRUNCATED], "file": {"id": "f1"}}


@pytest.mark.parametrize(("levels", "whole"), [(200, True), (260, False), (2000, False)])
def test_what_is_nested_too_deep_is_cut_off_there(levels: int, whole: bool) -> None:
    made = batch(["a", "b"])
    made.messages.docs = [{"a": deep(levels)}, {"b": 1}]
    first, second = encoder().encode(made)
    assert ("(nested too deep)" in first) != whole
    assert json.loads(first)["message"] == "a"
    assert json.loads(second)["b"] == 1
