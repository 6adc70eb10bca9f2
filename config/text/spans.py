"""Notations of the sink that Filebeat lacks: days, and points in time."""

import re
from datetime import UTC, datetime
from typing import Annotated

from log_shipper.config.text.units import parse_duration, readable_duration

MINUTE = 60.0
HOUR = 3600.0
DAY = 24 * HOUR
_DAYS = re.compile(r"([0-9]+(?:\.[0-9]+)?)d")


def parse_span(text: str) -> float:
    """Return the seconds of a duration, or of a number of days ("14d", "1.5d"). Raises ValueError."""
    days = _DAYS.fullmatch(text.strip())
    if days:
        return float(days[1]) * DAY
    try:
        return parse_duration(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a duration; write 14d, 36h, 90m or 30s") from None


def readable_span(seconds: float) -> str:
    """Return whole days as days, anything else as a duration."""
    return f"{seconds / DAY:g}d" if seconds and seconds % DAY == 0 else readable_duration(seconds)


def parse_timestamp(text: str) -> datetime:
    """Return an ISO 8601 time; without a zone it is UTC, a date is its midnight. Raises ValueError."""
    try:
        parsed = datetime.fromisoformat(text.strip())
    except ValueError:
        raise ValueError(
            f"{text!r} is not a time; write 2026-11-21T09:30:00Z, 2026-11-21T10:30:00+01:00, or a date"
        ) from None
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)


# The second argument is called by the loader with the scalar's text.
Span = Annotated[float, parse_span]
Timestamp = Annotated[datetime, parse_timestamp]
