from datetime import UTC, datetime, timedelta, timezone

import pytest

from log_shipper.config.text.timezones import zone_of
from log_shipper.shipper.formats import times

NOV_2025 = 1_763_000_000.0  # 2025-11-13T02:13:20Z


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-01-02T03:04:05.123456789Z", "2024-01-02T03:04:05.123Z"),
        ("2024-01-02T03:04:05.999999999Z", "2024-01-02T03:04:05.999Z"),
        ("2024-01-02T03:04:05.1Z", "2024-01-02T03:04:05.100Z"),
        ("2024-01-02T03:04:05Z", "2024-01-02T03:04:05.000Z"),
        ("2024-01-02T03:04:05.25+02:00", "2024-01-02T01:04:05.250Z"),
        ("2024-01-02T03:04:05-03:30", "2024-01-02T06:34:05.000Z"),
        ("2024-02-29T00:00:00Z", "2024-02-29T00:00:00.000Z"),
        ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59.000Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"),
    ],
)
def test_rfc_3339_becomes_utc_with_milliseconds(text: str, expected: str) -> None:
    assert times.rfc3339(text) == expected
    assert times.rfc3339_column([text, text]) == [expected, expected]


NO_TIMES = [
    "",
    "Z",
    "+02:00",
    "yesterday",
    "2024-01-02",
    "2024-01-02T03:04:05",
    "2024-01-02 03:04:05Z",
    "2024-01-02t03:04:05Z",
    "2024-01-02T03:04:05.Z",
    "2024-01-02T03:04:05.12x456789Z",
    "2024-01-02T03:04:05,123456789Z",
    "2024-01-02T03:04:60.123456789Z",
    "2024-02-30T03:04:05Z",
    "2023-02-29T03:04:05Z",
    "2024-13-02T03:04:05Z",
    "2024-01-02T24:04:05Z",
    "0000-01-02T03:04:05Z",
    "99999-01-02T03:04:05Z",
    "-001-01-02T03:04:05Z",
    "2024-01-02T03:04:05+2:00",
    "2024-01-02T03:04:05+25:00",
    "2024-01-02T03:04:05+02:60",
    "2024-01-02T03:04:05*02:00",
    "0001-01-01T00:00:00+02:00",
    "9999-12-31T23:59:59-02:00",
    "2024-01-02T03:04:05.123ZZ",
    "2024-01-02T03:04:05ZZ",
    "2024-01-02T03:04:05.\u0663\u0662\u0663456789Z",
    "\u0662024-01-02T03:04:05.323456789Z",
    "2024-01-02T03:04:05.123\u0663\u0662\u0663789Z",
    "2024-01-02T03:04:0\x00Z",
    "2024-01-02T03:04:05." + "9" * 10_000 + "xZ",
    "2024-01-02T03:04:05.123456789\n",
]


@pytest.mark.parametrize("text", NO_TIMES)
def test_what_is_no_time_is_none_alone_and_among_others(text: str) -> None:
    assert times.rfc3339(text) is None
    good = "2024-01-02T03:04:05.123456789Z"
    assert times.rfc3339_column([good, text]) is None
    assert times.rfc3339_column([text, good]) is None


def test_a_column_keeps_times_of_many_seconds_and_forms_apart() -> None:
    texts = [
        "2024-01-02T03:04:05.111111111Z",
        "2024-01-02T03:04:05.222222222Z",
        "2024-01-02T03:04:05.333333333+02:00",
        "2024-01-02T03:04:05.444444444Z",
        "2024-01-02T03:04:06.5Z",
        "2024-01-02T03:04:06.666666666Z",
    ]
    assert times.rfc3339_column(texts) == [times.rfc3339(text) for text in texts]
    assert times.rfc3339_column(texts) == [
        "2024-01-02T03:04:05.111Z",
        "2024-01-02T03:04:05.222Z",
        "2024-01-02T01:04:05.333Z",
        "2024-01-02T03:04:05.444Z",
        "2024-01-02T03:04:06.500Z",
        "2024-01-02T03:04:06.666Z",
    ]


@pytest.mark.parametrize(
    ("text", "zone", "expected"),
    [
        ("Oct 11 22:14:15", "UTC", "2025-10-11T22:14:15.000Z"),
        ("Oct  1 02:04:05", "UTC", "2025-10-01T02:04:05.000Z"),
        ("Sep 01 02:03:04", "UTC", "2025-09-01T02:03:04.000Z"),
        ("oct 11 22:14:15", "+02:00", "2025-10-11T20:14:15.000Z"),
        ("Jul  1 12:00:00", "Europe/Berlin", "2025-07-01T10:00:00.000Z"),
        ("Jan  1 12:00:00", "Europe/Berlin", "2025-01-01T11:00:00.000Z"),
    ],
)
def test_a_bsd_time_is_of_the_current_year_in_its_zone(text: str, zone: str, expected: str) -> None:
    assert times.bsd(text, zone_of(zone), NOV_2025) == expected


def test_a_bsd_time_that_would_lie_ahead_is_of_last_year() -> None:
    new_year = datetime(2026, 1, 1, 0, 5, tzinfo=UTC).timestamp()
    assert times.bsd("Dec 31 23:59:59", UTC, new_year) == "2025-12-31T23:59:59.000Z"
    assert times.bsd("Jan  1 00:05:00", UTC, new_year) == "2026-01-01T00:05:00.000Z"


def test_a_clock_that_is_some_hours_ahead_does_not_make_it_last_year() -> None:
    assert times.bsd("Nov 13 20:00:00", UTC, NOV_2025) == "2025-11-13T20:00:00.000Z"
    assert times.bsd("Nov 14 20:00:00", UTC, NOV_2025) == "2024-11-14T20:00:00.000Z"


def test_the_current_year_is_that_of_the_zone() -> None:
    new_year_in_the_east = datetime(2025, 12, 31, 20, 0, tzinfo=UTC).timestamp()
    east = timezone(timedelta(hours=10))
    assert times.bsd("Jan  1 06:00:00", east, new_year_in_the_east) == "2025-12-31T20:00:00.000Z"


def test_a_leap_day_is_of_the_last_of_two_years_that_has_it() -> None:
    def on_leap_day(year: int) -> str | None:
        return times.bsd("Feb 29 12:00:00", UTC, datetime(year, 6, 1, tzinfo=UTC).timestamp())

    assert on_leap_day(2024) == "2024-02-29T12:00:00.000Z"
    assert on_leap_day(2025) == "2024-02-29T12:00:00.000Z"
    assert on_leap_day(2026) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Oct",
        "Oct 11",
        "Foo 11 22:14:15",
        "Oct 32 22:14:15",
        "Feb 30 22:14:15",
        "Oct 11 24:14:15",
        "Oct 11 22:14:60",
        "Oct 11 22:14",
        "Oct 11 22:14:15:16",
        "Oct 111 22:14:15",
        "Oct -1 22:14:15",
        "Oct 0 22:14:15",
        "Oct \u0661\u0661 22:14:15",
        "Oct 11 22:14:1\x00",
        "Oct 11 22::15",
        "Oct 11 " + "9" * 5000 + ":14:15",
    ],
)
def test_what_is_no_bsd_time_is_none(text: str) -> None:
    assert times.bsd(text, UTC, NOV_2025) is None


@pytest.mark.parametrize("now", [1e20, -1e20, float("nan"), float("inf")])
def test_a_clock_out_of_its_mind_gives_no_year(now: float) -> None:
    assert times.bsd("Oct 11 22:14:15", UTC, now) is None


def test_the_zone_of_this_machine_is_asked_where_none_is_given() -> None:
    local = datetime(2025, 10, 11, 22, 14, 15).astimezone()
    assert times.bsd("Oct 11 22:14:15", None, NOV_2025) == times.of_datetime(local)
