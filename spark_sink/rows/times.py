"""Parses times and dates like Spark's casts, without Spark. UTC unless the text names a zone."""

import re
from datetime import UTC, date, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

MICROS = 1_000_000
DAY_MICROS = 86_400 * MICROS
# Years 1 to 9999: Python and most readers of the table have no others.
EARLIEST = -62_135_596_800 * MICROS
LATEST = 253_402_300_800 * MICROS - 1

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_MICROSECOND = timedelta(microseconds=1)
_COMMON = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{3}(?:[0-9]{3})?)?Z")
_ZONE_BLANK = "".join(map(chr, range(33)))
_BLANK = _ZONE_BLANK + "\x7f"
_DATE = r"(?P<sign>[+-]?)(?P<year>[0-9]{4,6})-(?P<month>[0-9]{1,2})-(?P<day>[0-9]{1,2})"
_CLOCK = (
    r"(?P<hour>[0-9]{1,2})(?::(?P<minute>[0-9]{1,2})(?::(?P<second>[0-9]{1,2})(?P<fraction>\.[0-9]*)?(?P<zone>.+)?)?)?"
)
_TIME = re.compile(f"{_DATE}(?:[T ]{_CLOCK})?", re.DOTALL)
_DAY = re.compile(
    r"(?P<sign>[+-]?)(?P<year>[0-9]{4,7})(?:-(?P<month>[0-9]{1,2})(?:-(?P<day>[0-9]{1,2})(?:[T ].*)?)?)?", re.DOTALL
)
_OFFSET = re.compile(
    r"(?P<sign>[+-])(?:(?P<hours>[0-9]{1,2})|(?P<h2>[0-9]{2})(?P<m2>[0-9]{2})(?P<s2>[0-9]{2})?"
    r"|(?P<h3>[0-9]{1,2}):(?:(?P<m3>[0-9]{2}):(?P<s3>[0-9]{2})|(?P<m4>[0-9]{1,2})))"
)
_MAX_OFFSET = 18 * 3600
# Zones that Java knows by three letters. Its `EST` has no summer time.
_SHORT = {
    "EST": "-05:00",
    "MST": "-07:00",
    "HST": "-10:00",
    "ACT": "Australia/Darwin",
    "AET": "Australia/Sydney",
    "AGT": "America/Argentina/Buenos_Aires",
    "ART": "Africa/Cairo",
    "AST": "America/Anchorage",
    "BET": "America/Sao_Paulo",
    "BST": "Asia/Dhaka",
    "CAT": "Africa/Harare",
    "CNT": "America/St_Johns",
    "CST": "America/Chicago",
    "CTT": "Asia/Shanghai",
    "EAT": "Africa/Addis_Ababa",
    "ECT": "Europe/Paris",
    "IET": "America/Indiana/Indianapolis",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "MIT": "Pacific/Apia",
    "NET": "Asia/Yerevan",
    "NST": "Pacific/Auckland",
    "PLT": "Asia/Karachi",
    "PNT": "America/Phoenix",
    "PRT": "America/Puerto_Rico",
    "PST": "America/Los_Angeles",
    "SST": "Pacific/Guadalcanal",
    "VST": "Asia/Ho_Chi_Minh",
}
_NO_ZONES = {"Factory", "localtime", "posixrules"}


def micros_of(text: str) -> int | None:
    """Return microseconds since the epoch, of any year; None if the text is not a date and a time."""
    if _COMMON.fullmatch(text):
        try:
            return (datetime.fromisoformat(text) - _EPOCH) // _MICROSECOND
        except ValueError:  # no such day, or the year 0
            pass
    if text[10:11] not in ("T", " "):
        return None
    matched = _TIME.fullmatch(text.strip(_BLANK))
    if matched is None:
        return None
    hour, minute, second = (int(matched[name] or 0) for name in ("hour", "minute", "second"))
    days = _days(matched)
    if days is None or hour > 23 or minute > 59 or second > 59:
        return None
    fraction = (matched["fraction"] or ".")[1:7]
    seconds = (days * 24 + hour) * 3600 + minute * 60 + second
    offset = _offset(matched["zone"].strip(_ZONE_BLANK), seconds) if matched["zone"] else 0
    return None if offset is None else (seconds - offset) * MICROS + int(fraction.ljust(6, "0"))


def is_in_range(micros: int) -> bool:
    """Return True if the time lies in the years 1 to 9999."""
    return EARLIEST <= micros <= LATEST


def day_of(text: str) -> int | None:
    """Return days since the epoch; None if the text is not a date in the years 1 to 9999."""
    matched = _DAY.fullmatch(text.strip(_BLANK))
    days = _days(matched) if matched is not None else None
    return days if days is not None and is_in_range(days * DAY_MICROS) else None


def _days(matched: re.Match[str]) -> int | None:
    """Return days since the epoch, by the calendar's cycle of 400 years: `date` has fewer years than Spark."""
    year, month, day = int(matched["year"]), int(matched["month"] or 1), int(matched["day"] or 1)
    turns, year = divmod(-year if matched["sign"] == "-" else year, 400)
    try:
        ordinal = date(2000 + year, month, day).toordinal()
    except ValueError:
        return None
    return ordinal + (turns - 5) * 146_097 - _EPOCH_DAY


def _offset(zone: str, seconds: int) -> int | None:
    """Return the UTC offset of a zone at a local time, in seconds; None for an unknown zone."""
    zone = _SHORT.get(zone, zone)
    if zone in ("Z", "UTC", "GMT", "UT"):
        return 0
    for prefix in ("UTC", "GMT", "UT"):
        if zone.startswith((f"{prefix}+", f"{prefix}-")):
            zone = zone.removeprefix(prefix)
            break
    if zone.startswith(("+", "-")):
        return _fixed(zone)
    if zone not in _regions():
        return None
    local = min(max(seconds * MICROS, EARLIEST + DAY_MICROS), LATEST - DAY_MICROS)
    ahead = (datetime(1970, 1, 1) + timedelta(microseconds=local)).replace(tzinfo=ZoneInfo(zone)).utcoffset()
    return None if ahead is None else int(ahead.total_seconds())


def _fixed(zone: str) -> int | None:
    matched = _OFFSET.fullmatch(zone)
    if matched is None:
        return None
    hours, minutes, seconds = (
        int(next((matched[name] for name in names if matched[name]), 0))
        for names in (("hours", "h2", "h3"), ("m2", "m3", "m4"), ("s2", "s3"))
    )
    offset = hours * 3600 + minutes * 60 + seconds
    if minutes > 59 or seconds > 59 or offset > _MAX_OFFSET:
        return None
    return -offset if matched["sign"] == "-" else offset


@cache
def _regions() -> frozenset[str]:
    return frozenset(available_timezones() - _NO_ZONES)
