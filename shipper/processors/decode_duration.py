"""`decode_duration`: converts a duration to a number."""

import re
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from log_shipper.config.text.checks import not_blank
from log_shipper.shipper.options.processors import ProcessorConfig
from log_shipper.shipper.processor.base import EventProcessor, ProcessorContext
from log_shipper.shipper.processor.events import Event
from log_shipper.shipper.processor.fields import Path, path_of, roots


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeDurationConfig(ProcessorConfig):
    """Converts a duration in Go's notation to a number; any other value is not changed."""

    name: ClassVar = "decode_duration"
    example: ClassVar = "decode_duration: {field: took, format: seconds} -> {took: 1m30s} -> {took: 90.0}"
    source: str = field(metadata={"key": "field", "check": not_blank, "doc": "The field, with a value such as 1m30s."})
    format: Literal["milliseconds", "seconds", "minutes", "hours"] = field(
        default="milliseconds", metadata={"doc": "The unit of the number."}
    )

    def build(self, _: ProcessorContext) -> EventProcessor:
        return DecodeDuration(self)


_DURATION = re.compile(r"[+-]?(?:0|(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+)")
_PART = re.compile(r"([0-9]*)\.?([0-9]*)(ns|us|µs|μs|ms|s|m|h)")
_NANOSECONDS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_MAX_DURATION_LENGTH = 100  # characters
_UNITS = {"milliseconds": 10**6, "seconds": 10**9, "minutes": 60 * 10**9, "hours": 3600 * 10**9}


class DecodeDuration:
    """Leaves a missing field, or a value that is not a duration, unchanged, without an error, as Filebeat does."""

    def __init__(self, config: DecodeDurationConfig) -> None:
        self._path: Path = path_of(config.source)
        self._unit = _UNITS[config.format]
        self.touches: frozenset[str] | None = roots(self._path)

    def apply(self, event: Event) -> None:
        text = event.get(self._path)
        nanoseconds = duration(text) if isinstance(text, str) else None
        if nanoseconds is not None:
            event.put(self._path, nanoseconds / self._unit)


def duration(text: str) -> int | None:
    """Return the nanoseconds of Go's notation (1h2m3.5s); None if it is not a duration, or does not fit in 64 bits."""
    if len(text) > _MAX_DURATION_LENGTH or not _DURATION.fullmatch(text):
        return None
    total = 0
    for whole, fraction, unit in _PART.findall(text):
        total += int(whole or 0) * _NANOSECONDS[unit] + int(fraction or 0) * _NANOSECONDS[unit] // 10 ** len(fraction)
    signed = -total if text[0] == "-" else total
    return signed if -(2**63) <= signed < 2**63 else None
