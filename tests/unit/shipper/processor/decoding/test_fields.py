"""decode_base64_field, decompress_gzip_field, decode_duration."""

import base64
import gzip
import json
import random
import time
import tracemalloc
from typing import Any

import pytest

from log_shipper.shipper.event import Doc
from log_shipper.shipper.processor.decoding.fields import duration
from tests.processing import batch_of, chain_of, processed

NOT_TEXT = b"\xff\x00\x80"


def base64_of(data: str | bytes) -> str:
    return base64.b64encode(data if isinstance(data, bytes) else data.encode()).decode()


@pytest.mark.parametrize(
    ("encoded", "decoded"),
    [
        ("Y29ycmVjdA==", "correct"),
        ("Y29ycmVjdA", "correct"),
        ("w6TDtg==", "äö"),
        ("Y29y\r\ncmVj\ndA==", "correct"),
        ("", ""),
    ],
)
def test_base64_becomes_text(encoded: str, decoded: str) -> None:
    chain = "- decode_base64_field: {field: {from: a, to: b.c}}\n- decode_base64_field: {field: {from: a}}"
    (record,) = processed(chain, {"message": "x", "a": encoded})
    assert record == {"message": "x", "a": decoded, "b": {"c": decoded}}


@pytest.mark.parametrize(
    "value", ["bad data", "Y29ycmVjdA=x", "a", "-_-_", "ä", "Y" * 1_000_001, 7, None, ["Y29ycmVjdA=="]]
)
def test_what_is_no_base64_stays_and_is_marked(value: Any) -> None:
    (record,) = processed("- decode_base64_field: {field: {from: a, to: b}}", {"message": "x", "a": value})
    error = record.pop("error")
    assert error["type"] == "decode_base64_field"
    assert error["message"].startswith("field a cannot be decoded: it is not ")
    assert len(error["message"]) < 200
    assert record == {"message": "x", "a": value}


@pytest.mark.parametrize("processor", ["decode_base64_field", "decompress_gzip_field"])
@pytest.mark.parametrize(
    ("options", "doc", "marked"),
    [
        ("", {}, True),
        (", ignore_missing: true", {}, False),
        (", fail_on_error: false", {}, False),
        (", fail_on_error: false", {"a": "!"}, False),
        (", ignore_missing: true", {"a": "!"}, True),
    ],
)
def test_errors_are_reported_as_configured(processor: str, options: str, doc: Doc, marked: bool) -> None:
    (record,) = processed(f"- {processor}: {{field: {{from: a}}{options}}}", {"message": "x", **doc})
    assert ("error" in record) == marked
    assert record.get("a") == doc.get("a")


def test_bytes_that_are_no_text_reach_the_next_processor_as_they_are() -> None:
    chain = """
- decode_base64_field: {field: {from: a}}
- decompress_gzip_field: {field: {from: a, to: b}}
- decode_base64_field: {field: {from: message}}
- decompress_gzip_field: {field: {from: message}}
"""
    packed = base64_of(gzip.compress(b"plain"))
    batch = batch_of([{"message": packed, "a": packed}])
    chain_of(chain)(batch)
    assert batch.messages.texts == ["plain"]
    assert batch.messages.docs is not None
    (doc,) = batch.messages.docs
    assert doc["b"] == "plain"
    assert isinstance(doc["a"], bytes)


def unpacked(data: str | bytes, options: str = "") -> tuple[str | bytes, str]:
    batch = batch_of([{"message": "x", "a": data}])
    chain_of(f"- decompress_gzip_field: {{field: {{from: a}}{options}}}")(batch)
    assert batch.messages.docs is not None
    doc = batch.messages.docs[0]
    return doc["a"], doc.get("error", {}).get("message", "")


@pytest.mark.parametrize(
    ("data", "result"),
    [
        (gzip.compress(b"one", mtime=0), "one"),
        (gzip.compress(b"one ", mtime=0) + gzip.compress(b"two", mtime=0), "one two"),
        (gzip.compress(b"", mtime=0), ""),
        (gzip.compress(NOT_TEXT, mtime=0), NOT_TEXT),
        (gzip.compress(b"x" * 100, mtime=0), "x" * 100),
    ],
)
def test_gzip_is_decompressed(data: bytes, result: str | bytes) -> None:
    assert unpacked(data, ", max_bytes: 100") == (result, "")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"no gzip", "it is not gzip"),
        ("text", "it is not gzip"),
        (b"", "its end is missing"),
        (gzip.compress(b"one", mtime=0)[:-1], "its end is missing"),
        (gzip.compress(b"one", mtime=0) + b"rest", "it is not gzip"),
        (gzip.compress(b"x" * 101, mtime=0), "more than 100 bytes"),
        (gzip.compress(b"x" * 60, mtime=0) * 2, "more than 100 bytes"),
        (gzip.compress(b"", mtime=0) * 50 + gzip.compress(b"x" * 101, mtime=0), "more than 100 bytes"),
    ],
)
def test_what_cannot_be_decompressed_stays_and_is_marked(data: str | bytes, words: str) -> None:
    left, message = unpacked(data, ", max_bytes: 100")
    assert left == data
    assert words in message


def test_a_gzip_bomb_costs_neither_memory_nor_time() -> None:
    bomb = gzip.compress(bytes(200_000_000), 1)
    tracemalloc.start()
    begun = time.process_time()
    left, message = unpacked(bomb, ", max_bytes: 1MiB")
    spent = time.process_time() - begun
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "more than 1048576 bytes" in message
    assert left == bomb
    assert peak < 4 * len(bomb) + 10_000_000
    assert spent < 2


def test_many_members_take_linear_time() -> None:
    member = gzip.compress(b"x", mtime=0)
    begun = time.process_time()
    assert unpacked(member * 100_000) == ("x" * 100_000, "")
    assert time.process_time() - begun < 4


def test_more_members_than_anybody_needs_are_an_error() -> None:
    left, message = unpacked(gzip.compress(b"", mtime=0) * 100_001)
    assert isinstance(left, bytes)
    assert message == "field a cannot be decoded: it has more than 100000 members"


@pytest.mark.parametrize("size", [16_383, 16_384, 16_385, 100_000])
def test_what_is_packed_may_end_anywhere(size: int) -> None:
    """It is fed to the decompression in parts."""
    noise = random.Random(size).randbytes(size)
    packed = gzip.compress(noise, 0)
    one, two = packed[: size // 2], packed[size // 2 :]
    assert unpacked(packed + gzip.compress(b"end")) == (noise + b"end", "")
    assert unpacked(gzip.compress(one, 0) + gzip.compress(two, 0)) == (packed, "")


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("1s", 10**9),
        ("1m30s", 90 * 10**9),
        ("-1.5h", -5400 * 10**9),
        ("+.5ms", 500_000),
        ("1.ms", 10**6),
        ("1h2m3s4ms5us6ns", 3723004005006),
        ("7µs", 7000),
        ("7μs", 7000),
        ("0", 0),
        ("1.0000000001s", 10**9),
        ("2562047h", 2562047 * 3600 * 10**9),
    ],
)
def test_durations_are_read_as_go_writes_them(text: str, nanoseconds: int) -> None:
    assert duration(text) == nanoseconds


@pytest.mark.parametrize(
    "text", ["", "1", "s", "1 s", "1x", "1s2", "--1s", ".s", "1e3s", "2562048h", "9" * 1_000_000 + "s"]
)
def test_what_is_no_duration_is_none(text: str) -> None:
    assert duration(text) is None


@pytest.mark.parametrize(
    ("unit", "number"), [("milliseconds", 90500.0), ("seconds", 90.5), ("minutes", 90.5 / 60), ("hours", 90.5 / 3600)]
)
def test_a_duration_becomes_a_number(unit: str, number: float) -> None:
    (record,) = processed(f"- decode_duration: {{field: a.b, format: {unit}}}", {"message": "x", "a": {"b": "1m30.5s"}})
    assert record["a"]["b"] == pytest.approx(number)


@pytest.mark.parametrize("doc", [{}, {"a": "soon"}, {"a": 7}, {"a": None}])
def test_what_is_no_duration_stays_without_a_mark(doc: Doc) -> None:
    (record,) = processed("- decode_duration: {field: a}", {"message": "x", **doc})
    assert record == {"message": "x", **doc}
    assert json.dumps(record)
