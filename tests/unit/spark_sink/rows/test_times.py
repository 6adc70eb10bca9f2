"""Times and days as text. That Spark takes the same ones is shown by test_verdicts."""

from datetime import UTC, date, datetime

import pytest

from log_shipper.spark_sink.rows.times import DAY_MICROS, EARLIEST, LATEST, day_of, is_in_range, micros_of

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

TIMES = {
    "2026-11-21T09:30:00Z": datetime(2026, 11, 21, 9, 30, tzinfo=UTC),
    "2026-11-21T09:30:00.123456Z": datetime(2026, 11, 21, 9, 30, 0, 123456, UTC),
    "2026-11-21T09:30:00.1234567Z": datetime(2026, 11, 21, 9, 30, 0, 123456, UTC),
    "2026-11-21T09:30:00.5": datetime(2026, 11, 21, 9, 30, 0, 500000, UTC),
    "2026-11-21T09:30:00.Z": datetime(2026, 11, 21, 9, 30, tzinfo=UTC),
    "2026-11-21T09:30": datetime(2026, 11, 21, 9, 30, tzinfo=UTC),
    "2026-11-21 ": datetime(2026, 11, 21, tzinfo=UTC),
    "  2026-1-1T1:2:3": datetime(2026, 1, 1, 1, 2, 3, tzinfo=UTC),
    "2026-11-21T09:30:00+02:00": datetime(2026, 11, 21, 7, 30, tzinfo=UTC),
    "2026-11-21T09:30:00-0130": datetime(2026, 11, 21, 11, tzinfo=UTC),
    "2026-11-21T09:30:00+5:3": datetime(2026, 11, 21, 4, 27, tzinfo=UTC),
    "2026-11-21T09:30:00 GMT+3": datetime(2026, 11, 21, 6, 30, tzinfo=UTC),
    "2026-07-21T09:30:00 Europe/Berlin": datetime(2026, 7, 21, 7, 30, tzinfo=UTC),
    "2026-03-29T02:30:00 Europe/Berlin": datetime(2026, 3, 29, 1, 30, tzinfo=UTC),
    "2026-07-21T09:30:00EST": datetime(2026, 7, 21, 14, 30, tzinfo=UTC),
    "1969-12-31T23:59:59.999999Z": datetime(1969, 12, 31, 23, 59, 59, 999999, UTC),
}
NO_TIMES = [
    *("", "yesterday", "09:30:00", "12:30:00.5 UTC", "2026-11-21", "2026-11-21T", "2026-11-21t09:30:00Z"),
    *("2026-02-30T00:00:00Z", "2026-11-21T24:00:00Z", "2026-11-21T09:60:00Z", "2026-11-21T09:30:60Z"),
    *("2026-W47-6T09:30:00.123Z", "2026-11-21T09:30:00,123Z", "2026-11-21T09:30:00z", "2026-11-21T09:30:00+18:01"),
    *(
        "2026-11-21T09:30:00 Nowhere",
        "2026-11-21T09:30:00 ../UTC",
        "2026-11-21T09:30:00Factory",
        "2026-11-21T09:30:00\x7fZ",
        "\u0662\u0660\u0662\u0666-11-21T09:30:00Z",
    ),
]


@pytest.mark.parametrize("text", TIMES)
def test_a_date_with_a_time_is_a_time(text: str) -> None:
    micros = micros_of(text)
    assert micros is not None
    assert divmod(micros, 1_000_000) == ((TIMES[text] - EPOCH) // (EPOCH.resolution * 10**6), TIMES[text].microsecond)


@pytest.mark.parametrize("text", NO_TIMES)
def test_anything_else_is_none(text: str) -> None:
    assert micros_of(text) is None


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("0001-01-01T00:00:00Z", True),
        ("0001-01-01T00:00:00+01:00", False),
        ("9999-12-31T23:59:59.999999Z", True),
        ("9999-12-31T23:59:59-01:00", False),
        ("0000-02-29T00:00:00Z", False),
        ("12026-1-01T00:00:00Z", False),
    ],
)
def test_only_the_years_1_to_9999_are_in_range(text: str, inside: bool) -> None:
    micros = micros_of(text)
    assert micros is not None
    assert is_in_range(micros) == inside


def test_the_range_ends_with_the_years() -> None:
    assert (micros_of("0001-01-01T00:00:00Z"), micros_of("9999-12-31T23:59:59.999999Z")) == (EARLIEST, LATEST)


@pytest.mark.parametrize("text", ["2026-11-21", " 2026-11-21 ", "2026-11-21T09:30", "+2026-11-21", "2026-11-21 late"])
def test_a_day_may_have_a_time_behind_it(text: str) -> None:
    assert day_of(text) == (date(2026, 11, 21) - date(1970, 1, 1)).days


@pytest.mark.parametrize("text", ["2026-02-30", "tomorrow", "2026-11-21x", "12026-01-01", "0000-01-01", "-2026-11-21"])
def test_no_day_and_a_year_that_few_readers_have_are_none(text: str) -> None:
    assert day_of(text) is None


def test_a_day_has_all_its_microseconds() -> None:
    first = micros_of("2026-11-21T00:00:00Z")
    assert first is not None
    assert micros_of("2026-11-22T00:00:00Z") == first + DAY_MICROS
