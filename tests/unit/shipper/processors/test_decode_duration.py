"""decode_duration: durations as Go writes them."""

import json

import pytest

from log_shipper.shipper.event import Doc
from log_shipper.shipper.processors.decode_duration import duration
from tests.processing import processed


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
