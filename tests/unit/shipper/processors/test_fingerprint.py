"""fingerprint: the hash that Filebeat gives for the same fields."""

import base64
import hashlib
from collections.abc import Callable
from typing import Any

import pytest
import xxhash

from log_shipper.shipper.event import Doc
from log_shipper.shipper.processor.conversions import real_text
from tests.processing import batch_of, chain_of, processed, records

FOO = b"|field1|foo|"


def fingerprint(fields: str, doc: Doc, options: str = "") -> Any:
    (record,) = processed(f"- fingerprint: {{fields: [{fields}]{options}}}", {"message": "x", **doc})
    return record.get("fingerprint", record.get("error"))


def test_the_default_is_that_of_filebeat() -> None:
    digest = "4cf8b768ad20266c348d63a6d1ff5d6f6f9ed0f59f5c68ae031b78e3e04c5144"  # of its own tests
    assert fingerprint("field1", {"field1": "foo"}) == digest == hashlib.sha256(FOO).hexdigest()


@pytest.mark.parametrize("method", ["md5", "sha1", "sha256", "sha384", "sha512"])
def test_the_method_can_be_chosen(method: str) -> None:
    digest = hashlib.new(method, FOO).hexdigest()
    assert fingerprint("field1", {"field1": "foo"}, f", method: {method}") == digest


def test_xxhash_is_that_of_64_bits() -> None:
    assert xxhash.xxh64(b"").hexdigest() == "ef46db3751d8e999"  # of the algorithm's published tests
    assert fingerprint("field1", {"field1": "foo"}, ", method: xxhash") == xxhash.xxh64(FOO).hexdigest()


@pytest.mark.parametrize(
    ("encoding", "encode"), [("hex", bytes.hex), ("base32", base64.b32encode), ("base64", base64.b64encode)]
)
def test_the_encoding_can_be_chosen(encoding: str, encode: Callable[[bytes], str | bytes]) -> None:
    expected = encode(hashlib.sha256(FOO).digest())
    expected = expected if isinstance(expected, str) else expected.decode()
    assert fingerprint("field1", {"field1": "foo"}, f", encoding: {encoding}") == expected


@pytest.mark.parametrize(
    ("fields", "doc", "source"),
    [
        ("b, a, b", {"a": "1", "b": "2"}, "|a|1|b|2|"),
        ("a.b", {"a": {"b": "ä"}}, "|a.b|ä|"),
        ("a", {"a": 7}, "|a|7|"),
        ("a", {"a": True}, "|a|true|"),
        ("a", {"a": None}, "|a|<nil>|"),
        ("a", {"a": 1.5}, "|a|1.5|"),
        ("a", {"a": 10000000.0}, "|a|1e+07|"),
        ("message, log.offset", {}, "|log.offset|0|message|x|"),
    ],
)
def test_names_are_sorted_and_values_written_as_go_writes_them(fields: str, doc: Doc, source: str) -> None:
    assert fingerprint(fields, doc) == hashlib.sha256(source.encode()).hexdigest()


@pytest.mark.parametrize(
    ("time", "written"),
    [
        (1795253400.123, "2026-11-21 09:30:00.123 +0000 UTC"),
        (1795253400.12, "2026-11-21 09:30:00.12 +0000 UTC"),
        (1795253400.0, "2026-11-21 09:30:00 +0000 UTC"),
    ],
)
def test_the_time_is_written_as_go_writes_it(time: float, written: str) -> None:
    batch = batch_of([{"message": "x"}], time=time)
    chain_of("- fingerprint: {fields: ['@timestamp']}")(batch)
    assert records(batch)[0]["fingerprint"] == hashlib.sha256(f"|@timestamp|{written}|".encode()).hexdigest()


@pytest.mark.parametrize(
    ("number", "written"),
    [
        (0.0, "0"),
        (-1.0, "-1"),
        (123456.0, "123456"),
        (1234567.0, "1.234567e+06"),
        (0.0001, "0.0001"),
        (0.00001, "1e-05"),
        (1e100, "1e+100"),
        (-2.5e-7, "-2.5e-07"),
        (0.1, "0.1"),
        (100.0, "100"),
    ],
)
def test_real_numbers_are_written_as_go_writes_them(number: float, written: str) -> None:
    assert real_text(number) == written


@pytest.mark.parametrize("value", [{"b": 1}, [1]])
def test_a_field_that_is_no_single_value_is_an_error(value: Any) -> None:
    assert fingerprint("a", {"a": value}) == {"message": "field a is not a single value", "type": "fingerprint"}


def test_a_field_that_is_not_there_is_an_error_or_left_out() -> None:
    assert fingerprint("a, none", {"a": "1"}) == {"message": "field none is missing", "type": "fingerprint"}
    assert fingerprint("a, none", {"a": "1"}, ", ignore_missing: true") == hashlib.sha256(b"|a|1|").hexdigest()


def test_it_goes_where_it_is_sent() -> None:
    (record,) = processed("- fingerprint: {fields: [message], target_field: event.hash}", {"message": "x"})
    assert set(record) == {"message", "event"}
