"""Short, readable numbers, sizes, durations and times."""

from datetime import datetime

UNKNOWN = "-"
UNITS = ("KiB", "MiB", "GiB", "TiB")


def figure(value: float | None, unit: str) -> str:
    """Return the value of a figure or chart in its unit (events, bytes, seconds, files, rows or none)."""
    if value is None:
        return UNKNOWN
    match unit.removesuffix("/s"):
        case "bytes":
            return size(value)
        case "seconds":
            return duration(value)
    return number(value)


def rate(value: float | None, unit: str) -> str:
    """Return the rate per second; "" if unknown."""
    if value is None:
        return ""
    return f"{size(value)}/s" if unit == "bytes" else f"{number(value)}/s"


def cell(value: object, kind: str, now: float) -> str:
    """Return the value of a table. `now`: the time of the document, in unix seconds."""
    if value is None:
        return UNKNOWN
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    match kind:
        case "bytes":
            return size(value)
        case "seconds":
            return duration(value)
        case "time":
            return moment(value, now)
        case "number":
            return number(value)
    return str(value)


def number(value: float) -> str:
    if abs(value) >= 1e12:
        return f"{value:.3g}"
    if float(value).is_integer() or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:,.1f}" if abs(value) >= 1 else f"{value:,.2g}"


def size(value: float) -> str:
    if abs(value) < 1024:
        return f"{value:.0f} B"
    power = 1
    while abs(value) / 1024**power >= 1000 and power < len(UNITS):
        power += 1
    scaled = value / 1024**power
    return f"{scaled:.{0 if abs(scaled) >= 100 else 1}f} {UNITS[power - 1]}"


def duration(seconds: float) -> str:
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms" if seconds else "0 s"
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 100:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60}m {whole % 60:02}s" if whole % 60 else f"{whole // 60}m"
    if whole < 86400:
        return f"{whole // 3600}h {whole % 3600 // 60:02}m"
    return f"{whole // 86400}d {whole % 86400 // 3600:02}h"


def moment(value: float, now: float) -> str:
    """Return a time of the same day without its date."""
    try:
        local, today = datetime.fromtimestamp(value), datetime.fromtimestamp(now)
    except (ValueError, OverflowError, OSError):
        return UNKNOWN
    return f"{local:%H:%M:%S}" if local.date() == today.date() else f"{local:%m-%d %H:%M}"
