"""The record: byte for byte as in tests/golden, which the sink's tests read too."""

import json
from pathlib import Path

import pytest

from shipper.event import MULTILINE, TRUNCATED, Batch, Doc, Messages
from shipper.output.encode import Encoder, pieces_of
from shipper.record import Agent, static_members, timestamp
from tests.builders import batch, encoder, nothing, source

GOLDEN = Path(__file__).parents[3] / "golden"
MOMENT = 1795253400.123  # 2026-11-21T09:30:00.123Z


def record(
    text: str, offset: int = 0, length: int | None = None, flags: tuple[str, ...] = (), static: Doc | None = None,
    path: str = "/var/log/app.log",
) -> str:  # fmt: skip
    run = Messages(offset, offset)
    run.append(text, offset, len(text.encode()) + 1 if length is None else length, flags)
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
    "multiline and truncated": record("Traceback:\n  File \"x.py\"", 1234, 87_000, (MULTILINE, TRUNCATED)),
    "tags and fields": record(
        "tagged", 20, static=static_members(("a", "b"), {"env": "prod", "depth": {"n": 1}}, {})
    ),
    "fields under root": record(
        "rooted", 27, static=static_members((), {}, {"env": "prod", "team": ["x", None, 1.5]})
    ),
    "bytes that are not UTF-8": record(b"caf\xe9 \xff".decode("utf-8", "replace"), 34, 7),
    "DEL": record("a\x7fb", 41),
    "control characters and quotes": record("\x00\x1b[31m\t\"quoted\" \\ / \u2028 \U0001f600", 45),
    "a path that is not UTF-8": record("x", 80, path=b"/var/log/caf\xe9.log".decode("utf-8", "surrogateescape")),
}  # fmt: skip


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
    encoder().encode(first)
    assert pieces_of(first.constants) is pieces_of(first.constants)
