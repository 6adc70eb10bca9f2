"""The layouts of the processor `timestamp`: Go's, and UNIX and UNIX_MS for numbers.

They belong to the configuration because the times in `test:` are parsed when it is checked.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Any

from log_shipper.config.text.go_layouts import MONTHS, compile_layout

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MAX_CACHED_LENGTH = 100  # maximum length of cached times: spaces could make one as long as a line
SIGNIFICANT = frozenset(("year", "short year", "month name", "day", "day of year", "hour", "minute"))
OUT_OF_RANGE = "it is outside the years 1 to 9999"

# (value, wall clock, for the year of values without one) -> the time in UTC. Raises ValueError.
ReadTime = Callable[[Any, float], datetime]
_Parts = Mapping[str, str | None]
_INTEGER = re.compile(r"[+-]?[0-9]{1,20}")
_FLOAT = re.compile(r"[+-]?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,3})?")


def time_reader(layouts: Sequence[str], zone: tzinfo | None) -> ReadTime:
    """Return a function that tries the layouts in order; `zone` applies to times without one (None: this machine's)."""
    readers = [(layout, _reader(layout, zone)) for layout in layouts]

    def read(value: Any, now: float) -> datetime:
        causes = []
        for layout, reader in readers:
            try:
                return reader(value, now)
            except (ValueError, OverflowError, OSError) as error:
                # The last two: a time that does not exist in the zone.
                why = str(error) if type(error) is ValueError else OUT_OF_RANGE
                causes.append(f"as {layout!r}: {why}")
        raise ValueError("; ".join(causes))

    return read


def is_layout(text: str) -> bool:
    """Return True if times in this layout contain a day or an hour. Layouts of other tools (yyyy-MM-dd, %Y-%m-%d,
    ISO8601) do not.
    """
    return text in ("UNIX", "UNIX_MS") or not SIGNIFICANT.isdisjoint(compile_layout(text).kinds)


def _reader(layout: str, zone: tzinfo | None) -> ReadTime:
    if layout in ("UNIX", "UNIX_MS"):
        factor = 1_000_000 if layout == "UNIX" else 1_000
        return lambda value, now: from_epoch(value, factor)
    compiled = compile_layout(layout)

    def parse(value: str, minute: float) -> datetime:
        parts = compiled.match(value)
        if parts is None:
            raise ValueError("it does not match the layout")
        return _in_utc(_naive(parts, zone, minute * 60), parts, zone)

    remembered = lru_cache(maxsize=1024)(parse)  # many logs have times without fractions, which many lines share

    def read(value: Any, now: float) -> datetime:
        if not isinstance(value, str):
            raise ValueError("it is not a string")
        return (remembered if len(value) < MAX_CACHED_LENGTH else parse)(value, now // 60)

    return read


def from_epoch(value: Any, factor: int) -> datetime:
    """Return the time of a number (or its text) in units of `factor` microseconds since 1970. Raises ValueError,
    OverflowError.
    """
    if isinstance(value, str):
        if _INTEGER.fullmatch(value):
            value = int(value)
        elif _FLOAT.fullmatch(value):
            value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("it is not a number")
    if not math.isfinite(value) or abs(value) > 1e18:
        raise ValueError(OUT_OF_RANGE)
    # Rounded: 1525783800.123 has no exact form, and .122999 would lose a millisecond.
    return EPOCH + timedelta(microseconds=round(value * factor))


def _naive(parts: _Parts, zone: tzinfo | None, now: float) -> datetime:
    year = _year(parts) or datetime.fromtimestamp(now, zone).year
    clock = (_hour(parts), int(parts.get("minute") or 0), int(parts.get("second") or 0), _microseconds(parts))
    if day_of_year := parts.get("day of year"):
        day = datetime(year, 1, 1, *clock) + timedelta(days=int(day_of_year) - 1)
        if day.year != year:
            raise ValueError("the year has no such day")
        return day
    return datetime(year, _month(parts), int(parts.get("day") or 1), *clock)


def _year(parts: _Parts) -> int:
    """Return the year, 0 if the text has none."""
    if short := parts.get("short year"):
        return int(short) + (1900 if short >= "69" else 2000)
    return int(parts.get("year") or 0)


def _month(parts: _Parts) -> int:
    if name := parts.get("month name"):
        return MONTHS.index(name[:3].lower()) + 1
    return int(parts.get("month") or 1)


def _hour(parts: _Parts) -> int:
    half = (parts.get("half") or "").upper()
    short = parts.get("hour of 12")
    hour = int(short or parts.get("hour") or 0)
    if short and hour > 12:
        raise ValueError("hour must be in 0..12")
    if half == "PM" and hour < 12:
        return hour + 12
    return 0 if half == "AM" and hour == 12 else hour


def _microseconds(parts: _Parts) -> int:
    return int(((parts.get("fraction") or "") + "000000")[:6])


def _in_utc(naive: datetime, parts: _Parts, zone: tzinfo | None) -> datetime:
    if offset := parts.get("offset"):
        return naive.replace(tzinfo=UTC) - _offset(offset)
    if name := parts.get("zone"):
        return _in_named_zone(naive, name, zone)
    return in_zone(naive, zone).astimezone(UTC)


def in_zone(naive: datetime, zone: tzinfo | None) -> datetime:
    """Return the time of day in that zone (None: this machine's). Raises ValueError, OverflowError, OSError."""
    return naive.astimezone() if zone is None else naive.replace(tzinfo=zone)


def _offset(text: str) -> timedelta:
    """Return the offset of `Z`, or of a sign and two digits each for hours, minutes and seconds."""
    if text == "Z":
        return timedelta()
    hours, minutes, seconds = (int(part or 0) for part in _pairs(text[1:].replace(":", "")))
    if hours > 24 or minutes > 59 or seconds > 59:
        raise ValueError("its time zone is out of range")
    offset = timedelta(hours=hours, minutes=minutes, seconds=seconds)
    return -offset if text[0] == "-" else offset


def _pairs(digits: str) -> tuple[str, str, str]:
    return digits[:2], digits[2:4], digits[4:6]


def _in_named_zone(naive: datetime, name: str, zone: tzinfo | None) -> datetime:
    """Return the time in a zone given by its abbreviation, which the configured zone must use at this time or another
    time of the year: EST is EST in June, too, as in Go. Raises ValueError for any other abbreviation except UTC and
    GMT: MST and IST are several zones each.
    """
    for moment in (naive, naive.replace(fold=1), *(naive.replace(month=month, day=1) for month in range(1, 13))):
        local = in_zone(moment, zone)
        if local.tzname() == name:
            return (naive - (local.utcoffset() or timedelta())).replace(tzinfo=UTC)
    hours = name.removeprefix("UTC").removeprefix("GMT")
    if hours[:1] in ("", "+", "-"):
        return naive.replace(tzinfo=UTC) - timedelta(hours=int(hours or 0))
    raise ValueError(f"{name} is not an abbreviation of the configured time zone; set timezone to a zone that uses it")
