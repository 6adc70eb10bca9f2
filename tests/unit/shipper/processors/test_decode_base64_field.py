"""decode_base64_field: what it decodes, and what stays."""

import base64
import gzip
from typing import Any

import pytest

from log_shipper.shipper.event import Doc
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
