"""Time zones in Filebeat's notation: a name of the IANA database, a fixed offset (+02, +0200, +02:00), or Local.

The names come from the system's database or, if it is missing, as in a slim container, from the package tzdata.
"""

import re
from datetime import UTC, timedelta, timezone, tzinfo
from functools import cache
from typing import Annotated
from zoneinfo import ZoneInfo

LOCAL = "Local"
_OFFSET = re.compile(r"([+-])([0-9]{2})(?::?([0-9]{2}))?")


def parse_timezone(text: str) -> str:
    """Return the text itself. Raises ValueError with a message for the user if there is no such zone."""
    zone_of(text)
    return text


@cache
def zone_of(text: str) -> tzinfo | None:
    """Return the zone; None stands for this machine's zone at the time of use. Raises ValueError."""
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
    except (KeyError, ValueError, OSError) as error:
        # An unknown name, a path outside the database, or a directory in it.
        raise ValueError(
            f"{text!r} is not a time zone; write a name such as Europe/Berlin, an offset such as +02:00, or Local"
        ) from error


# The second argument is called by the loader with the scalar's text.
Timezone = Annotated[str, parse_timezone]
