"""Times on the command line."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from log_shipper.spark_sink.search.moments import parse_moment

NOW = datetime(2026, 11, 21, 23, 30, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("15m", "2026-11-21T23:15:00+00:00"),
        ("1.5d", "2026-11-20T11:30:00+00:00"),
        ("now", "2026-11-21T23:30:00+00:00"),
        ("2026-11-21", "2026-11-21T00:00:00+00:00"),
        ("2026-11-21T09:30", "2026-11-21T09:30:00+00:00"),
        ("2026-11-21 09:30:00+01:00", "2026-11-21T08:30:00+00:00"),
        ("2026-11-21T09:30:00.5Z", "2026-11-21T09:30:00.500000+00:00"),
        ("today", "2026-11-21T00:00:00+00:00"),
        ("yesterday", "2026-11-20T00:00:00+00:00"),
    ],
)
def test_a_time_is_utc_unless_it_has_a_zone(text: str, moment: str) -> None:
    assert parse_moment(text).resolved(NOW, UTC) == datetime.fromisoformat(moment)


def test_days_and_times_are_those_of_the_zone() -> None:
    """In Berlin it is half an hour past midnight of the next day; in July it is an hour further."""
    assert parse_moment("today").resolved(NOW, BERLIN).astimezone(UTC) == datetime(2026, 11, 21, 23, tzinfo=UTC)
    assert parse_moment("2026-07-01").resolved(NOW, BERLIN).astimezone(UTC) == datetime(2026, 6, 30, 22, tzinfo=UTC)
    assert parse_moment("15m").resolved(NOW, BERLIN) == NOW - timedelta(minutes=15)


def test_without_a_zone_it_is_the_machine_s() -> None:
    assert parse_moment("2026-11-21").resolved(NOW, None) == datetime(2026, 11, 21).astimezone()


def test_longer_ago_than_the_calendar_is_its_beginning() -> None:
    assert parse_moment("999999d").resolved(NOW, UTC).year == 1


@pytest.mark.parametrize("text", ["", "soon", "9" * 20 + "d", "2026-13-01", "-5m"])
def test_anything_else_is_reported_with_what_would_be_right(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a time; write how long ago \(30s"):
        parse_moment(text)
