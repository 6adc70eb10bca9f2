"""Points in time on the command line: 15m (ago), 2026-10-05T09:30, today."""

from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta, tzinfo

from log_shipper.config.text.spans import parse_span

_DAYS_BACK = {"today": 0, "yesterday": 1}


@dataclass(frozen=True, slots=True)
class Moment:
    """A time on the command line: a duration ago, midnight some days back, or a time with or without a zone."""

    ago: timedelta | None = None
    days_back: int | None = None
    time: datetime | None = None

    def resolved(self, now: datetime, zone: tzinfo | None) -> datetime:
        """Return the time with its zone. `now` has a zone; `zone`: for times without one, None for the machine's."""
        if self.ago is not None:
            try:
                return now - self.ago
            except OverflowError:
                return datetime.min.replace(tzinfo=UTC)
        if self.days_back is not None:
            day = now.astimezone(zone).date() - timedelta(days=self.days_back)
            return _with_zone(datetime.combine(day, time.min), zone)
        assert self.time is not None
        return self.time if self.time.tzinfo else _with_zone(self.time, zone)


def parse_moment(text: str) -> Moment:
    """Return the moment. Raises ValueError with a message for the user."""
    text = text.strip()
    if text in _DAYS_BACK:
        return Moment(days_back=_DAYS_BACK[text])
    if text == "now":
        return Moment(ago=timedelta(0))
    try:
        return Moment(time=datetime.fromisoformat(text))
    except ValueError:
        pass
    try:
        return Moment(ago=timedelta(seconds=parse_span(text)))
    except (ValueError, OverflowError):
        raise ValueError(
            f"{text!r} is not a time; write how long ago (30s, 15m, 36h, 7d), a time (2026-11-21T09:30, "
            "2026-11-21T10:30:00+01:00), a date, now, today or yesterday"
        ) from None


def _with_zone(moment: datetime, zone: tzinfo | None) -> datetime:
    return moment.replace(tzinfo=zone) if zone else moment.astimezone()
