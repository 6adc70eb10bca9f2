"""Converts times in logs to the format of records: RFC 3339 in UTC with milliseconds.

The functions return None for a text that is not a time, or outside the years 1 to 9999.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
# A time without a year that would be further in the future belongs to the previous year: clocks differ by less.
AHEAD = 24 * 3600.0


def of_datetime(moment: datetime) -> str:
    """Return the text of a time with a zone. Raises OverflowError if it is in no year of UTC."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds")[:23] + "Z"


def microseconds(since_1970: int) -> str:
    """Return the text of a time in microseconds since 1970, up to the year 9999."""
    second, rest = divmod(since_1970, 1_000_000)
    return f"{_second_of(second)}.{rest // 1000:03d}Z"


@lru_cache(maxsize=1024)
def _second_of(since_1970: int) -> str:
    return datetime.fromtimestamp(since_1970, UTC).isoformat()[:19]


def rfc3339(text: str) -> str | None:
    """Convert `2006-01-02T15:04:05.999999999Z`, or a time with an offset such as +02:00; the fraction is optional."""
    zone = "Z" if text[-1:] == "Z" else text[-6:]
    fraction = text[19 : -len(zone)]
    second = _second(text[:19], zone)
    if second is None or len(text) < 19 + len(zone):
        return None
    if not fraction:
        return second + ".000Z"
    digits = fraction[1:]
    if fraction[0] != "." or not digits.isdigit() or not digits.isascii():
        return None
    return f"{second}.{(digits + '00')[:3]}Z"


def rfc3339_column(texts: Sequence[str]) -> list[str] | None:
    """Convert many texts, most of which share their second; None if one of them is not a time."""
    if not "".join(texts).isascii():  # digits of other scripts are not digits here
        return None
    known, second = "", None
    column: list[str] = []
    for text in texts:
        # Most have a fixed width, which is cheap to check. 30: nine digits, as container runtimes write them.
        if text[:19] == known and len(text) == 30 and text[19] == "." and text[29] == "Z" and text[20:29].isdecimal():
            column.append(f"{second}.{text[20:23]}Z")
            continue
        stamp = rfc3339(text)
        if stamp is None:
            return None
        column.append(stamp)
        if text[-1] == "Z":
            known, second = text[:19], stamp[:19]
    return column


@lru_cache(maxsize=1024)
def _second(text: str, zone: str) -> str | None:
    """Return the second in UTC. Cached, because many lines share it."""
    offset = _offset(zone)
    digits = text[0:4] + text[5:7] + text[8:10] + text[11:13] + text[14:16] + text[17:19]
    if offset is None or len(digits) != 14 or not (digits.isdigit() and digits.isascii()):
        return None
    if text[4] + text[7] + text[10] + text[13] + text[16] != "--T::":
        return None
    try:
        moment = datetime.fromisoformat(text) - offset
    except (ValueError, OverflowError):
        return None
    return moment.isoformat()


def _offset(zone: str) -> timedelta | None:
    if zone == "Z":
        return timedelta()
    digits = zone[1:3] + zone[4:6]
    if len(zone) != 6 or zone[0] not in "+-" or zone[3] != ":" or not (digits.isdigit() and digits.isascii()):
        return None
    hours, minutes = int(digits[:2]), int(digits[2:])
    if hours > 24 or minutes > 59:
        return None
    offset = timedelta(hours=hours, minutes=minutes)
    return -offset if zone[0] == "-" else offset


def bsd(text: str, zone: tzinfo | None, now: float) -> str | None:
    """Convert `Jan  2 15:04:05`, the format of RFC 3164, in that zone (None: this machine's).

    It gets the year of `now` (seconds since 1970), or the previous one if the day would otherwise be in the future or
    not exist: lines of December are read in January.
    """
    try:
        year = datetime.fromtimestamp(now, zone).year
    except (ValueError, OverflowError, OSError):
        return None
    for candidate in (year, year - 1):
        parsed = _bsd(text, zone, candidate)
        if parsed is not None and parsed[1] <= now + AHEAD:
            return parsed[0]
    return None


@lru_cache(maxsize=1024)
def _bsd(text: str, zone: tzinfo | None, year: int) -> tuple[str, float] | None:
    """Return the time as in a record, and in seconds since 1970."""
    parts = text.split()
    clock = parts[2].split(":") if len(parts) == 3 else []
    if len(clock) != 3 or parts[0].title() not in MONTHS or not _short_numbers((parts[1], *clock)):
        return None
    month, day, (hour, minute, second) = MONTHS.index(parts[0].title()) + 1, int(parts[1]), map(int, clock)
    try:
        naive = datetime(year, month, day, hour, minute, second)
        moment = naive.astimezone() if zone is None else naive.replace(tzinfo=zone)
        return of_datetime(moment), moment.timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def _short_numbers(texts: Sequence[str]) -> bool:
    return all(text.isdigit() and text.isascii() and len(text) <= 2 for text in texts)
