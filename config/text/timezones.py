"""Time zones as Filebeat writes them: a name of the IANA database, a fixed offset (+02, +0200, +02:00), or Local.

The names come from the system's database, and where there is none, as in a slim container, from the package tzdata.
"""

import re
from datetime import UTC, timedelta, timezone, tzinfo
from functools import cache
from typing import Annotated
from zoneinfo import ZoneInfo

LOCAL = "Local"
_OFFSET = re.compile(r"([+-])([0-9]{2})(?::?([0-9]{2}))?")


def parse_timezone(text: str) -> str:
    """The text itself. Raises ValueError, in words, where there is no such zone."""
    zone_of(text)
    return text


@cache
def zone_of(text: str) -> tzinfo | None:
    """None stands for the zone of this machine, whatever it is by then. Raises ValueError."""
    if text == LOCAL:
        return None
    if text in ("", "UTC"):
        return UTC
    if fixed := _OFFSET.fullmatch(text):
        hours, minutes = int(fixed[2]), int(fixed[3] or 0)
        if hours < 24 and minutes < 60:
            offset = timedelta(hours=hours, minutes=minutes)
            return timezone(-offset if fixed[1] == "-" else offset)
    try:
        return ZoneInfo(text)
    except (KeyError, ValueError, OSError) as error:  # no such name, one that leaves the database, a directory of it
        raise ValueError(
            f"{text!r} is not a time zone; write a name such as Europe/Berlin, an offset such as +02:00, or Local"
        ) from error


# The loader calls the second argument with the scalar's text.
Timezone = Annotated[str, parse_timezone]
