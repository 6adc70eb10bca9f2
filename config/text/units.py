"""Sizes and durations in Filebeat's notation."""

import re
from typing import Annotated

# More digits make no sensible size or duration: hundreds of them would be infinite, and Python rejects thousands.
_DIGITS = r"\d{1,18}(?:\.\d{1,18})?"
_SIZE = re.compile(rf"({_DIGITS})\s*([a-z]*)", re.IGNORECASE)
_BYTES = {"": 1, "b": 1} | {
    f"{letter}{suffix}": int(base**power)
    for power, letter in enumerate("kmgt", start=1)
    for suffix, base in (("", 1000), ("b", 1000), ("i", 1024), ("ib", 1024))
}
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_NUMBER = re.compile(_DIGITS)
_PERCENT = re.compile(r"(\d{1,2}(?:\.\d{1,6})?|100)\s*%")
_PART = re.compile(rf"({_DIGITS})(ns|us|µs|ms|s|m|h)")


def parse_size(text: str) -> int:
    """Return bytes: "10MiB" and "10Mi" count in 1024, "10MB" and "10M" in 1000, a bare number is bytes. Raises
    ValueError.
    """
    matched = _SIZE.fullmatch(text.strip())
    factor = _BYTES.get(matched[2].lower()) if matched else None
    if matched is None or factor is None:
        raise ValueError(f"{text!r} is not a size; write bytes as a number, or 10MiB, 64KiB, 1MB")
    return round(float(matched[1]) * factor) if "." in matched[1] else int(matched[1]) * factor


def parse_duration(text: str) -> float:
    """Return seconds: Go's notation ("1m30s", "100ms", "1.5h"); a bare number is seconds. Raises ValueError."""
    stripped = text.strip()
    if _NUMBER.fullmatch(stripped):
        return float(stripped)
    parts = _PART.findall(stripped)
    if not parts or "".join(number + unit for number, unit in parts) != stripped:
        raise ValueError(f"{text!r} is not a duration; write 5s, 1m30s, 100ms or 2h (24h for a day)")
    return round(sum(float(number) * _SECONDS[unit] for number, unit in parts), 9)


def readable_bytes(count: int) -> str:
    """Return a size in readable form: 1536 is "1.5 KiB"."""
    if count < 1024:
        return f"{count} B"
    power = min((count.bit_length() - 1) // 10, 4)
    return f"{count / 1024**power:.1f} {'KMGT'[power - 1]}iB"


def readable_duration(seconds: float) -> str:
    """Return a duration in readable form: 90 is "1m30s", 0.25 is "250ms"."""
    if seconds < 1:
        return f"{seconds * 1000:g}ms"
    hours, rest = divmod(seconds, 3600)
    minutes, rest = divmod(rest, 60)
    parts = ((hours, "h"), (minutes, "m"), (rest, "s"))
    return "".join(f"{number:g}{unit}" for number, unit in parts if number)


def parse_wait(text: str) -> float:
    """Return seconds: a duration, or Filebeat's true (30 s) or false (0). Raises ValueError."""
    known = {"true": 30.0, "false": 0.0}.get(text.strip().lower())
    return parse_duration(text) if known is None else known


def parse_ttl(text: str) -> float:
    """Return seconds; a negative duration, which turns a cache off, is 0. Raises ValueError."""
    stripped = text.strip()
    seconds = parse_duration(stripped.removeprefix("-"))
    return 0.0 if stripped.startswith("-") else seconds


def parse_duration_or_never(text: str) -> float:
    """Return the same as `parse_duration`, and 0 for -1. Raises ValueError."""
    return 0.0 if text.strip() in ("-1", "-1s") else parse_duration(text)


def parse_ago(text: str) -> float:
    """Return the seconds before now of a duration with a minus sign. Raises ValueError."""
    stripped = text.strip()
    if not stripped.startswith("-"):
        raise ValueError(f"{text!r} must be a duration with a minus sign, such as -24h (24 hours before now)")
    return parse_duration(stripped[1:])


def parse_watermark(text: str) -> float:
    """Return the share of the file system that may be used ("85%"), or the negative number of bytes that must stay free
    ("50GiB"). Raises ValueError.
    """
    if matched := _PERCENT.fullmatch(text.strip()):
        return float(matched[1]) / 100
    try:
        free = parse_size(text)
    except ValueError:
        free = 0
    if not free:
        raise ValueError(
            f"{text!r} is not a watermark; write the maximum usage (like 85%) or the minimum free space (50GiB)"
        )
    return -float(free)


def readable_watermark(value: float) -> str:
    """Return a watermark in its notation."""
    return f"{value * 100:g}%" if value >= 0 else f"{-value / 1024**2:g}MiB"


# The second argument is called by the loader with the scalar's text.
Size = Annotated[int, parse_size]
Duration = Annotated[float, parse_duration]
DurationOrNever = Annotated[float, parse_duration_or_never]
Wait = Annotated[float, parse_wait]
Watermark = Annotated[float, parse_watermark]
Ago = Annotated[float, parse_ago]
