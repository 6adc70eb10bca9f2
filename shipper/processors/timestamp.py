"""`timestamp`: parses the time of an event."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from log_shipper.config.text.checks import Finding, not_blank, without_blanks
from log_shipper.config.text.layouts import is_layout, time_reader
from log_shipper.config.text.timezones import Timezone, zone_of
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.formats import times
from log_shipper.shipper.options.processors import IGNORE_MISSING, ProcessorConfig
from log_shipper.shipper.processor.base import EventProcessor, ProcessorContext, ProcessorError
from log_shipper.shipper.processor.events import Event
from log_shipper.shipper.processor.fields import MISSING, path_of, roots

_NO_LAYOUT = (
    "contains no part of a time; write the reference time Mon Jan 2 15:04:05 2006 in your format, such "
    "as '2006-01-02 15:04:05'"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimestampConfig(ProcessorConfig):
    """Parses the time of an event from a field."""

    name: ClassVar = "timestamp"
    example: ClassVar = """
        timestamp: {field: time, layouts: ['02/Jan/2006:15:04:05 -0700']} -> {time: '01/Feb/2026:10:00:00 +0100'}
          -> {time: '01/Feb/2026:10:00:00 +0100', '@timestamp': '2026-02-01T09:00:00.000Z'}
    """
    source: str = field(metadata={"key": "field", "doc": "The field with the time.", "check": not_blank})
    target_field: str = field(
        default="@timestamp", metadata={"doc": "The field that the time is written to, in UTC.", "check": not_blank}
    )
    layouts: tuple[str, ...] = field(
        metadata={
            "doc": "Go layouts (Mon Jan 2 15:04:05 MST 2006), UNIX and UNIX_MS; the first match is used.",
            "check": without_blanks,
        }
    )
    timezone: Timezone = field(
        default="UTC",
        metadata={"doc": "The time zone of times without one: a name, an offset such as +02:00, or Local."},
    )
    ignore_missing: bool = field(default=False, metadata=IGNORE_MISSING)
    ignore_failure: bool = field(
        default=False, metadata={"doc": "Whether an event that cannot be processed is not an error."}
    )
    test: tuple[str, ...] = field(
        default=(), metadata={"doc": "Example times; the configuration is invalid if one matches no layout."}
    )
    id: str = field(default="", metadata={"doc": "A name for this processor, shown in its errors."})

    def check(self) -> Iterator[Finding]:
        unusable = (index for index, layout in enumerate(self.layouts) if not is_layout(layout))
        yield from ((f"layouts[{index}]", _NO_LAYOUT) for index in unusable)
        read = time_reader(self.layouts, zone_of(self.timezone))
        for index, text in enumerate(self.test):
            try:
                read(text, time.time())
            except ValueError as error:
                yield f"test[{index}]", f"{text!r} matches none of the layouts: {error}"

    def build(self, context: ProcessorContext) -> EventProcessor:
        return Timestamp(self, context.clock)


_TIME = ("@timestamp",)
_SHOWN = 100  # characters of a value that is not a time


class Timestamp:
    def __init__(self, config: TimestampConfig, clock: Clock) -> None:
        self._config = config
        self._clock = clock
        self._source = path_of(config.source)
        self._target = path_of(config.target_field)
        self._read = time_reader(config.layouts, zone_of(config.timezone))
        self.touches = roots(self._source, self._target)

    def apply(self, event: Event) -> None:
        value = event.get(self._source)
        if value is MISSING:
            if not self._config.ignore_missing:
                raise self._error("is missing")
        elif self._source == _TIME:
            event.put(self._target, value)  # a time already
        else:
            try:
                time = times.of_datetime(self._read(value, self._clock.time()))
            except ValueError as error:
                raise self._error(f"is not a time: {str(value)[:_SHOWN]!r}: {error}") from error
            event.put(self._target, time)

    def _error(self, why: str) -> ProcessorError:
        text = f"field {self._config.source} {why}"
        return ProcessorError(f"{self._config.id}: {text}" if self._config.id else text)
