"""Processors for timestamps and for syslog messages, which begin with one."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from config.shipper.parsers import SyslogFormat
from config.shipper.processors.base import IGNORE_MISSING, ProcessorConfig
from config.text.checks import Finding, not_blank, without_blanks
from config.text.layouts import is_layout, time_reader
from config.text.timezones import LOCAL, Timezone, zone_of

_ZONE = "The time zone of times without one: a name, an offset such as +02:00, or Local."
_NO_LAYOUT = (
    "contains no part of a time; a layout shows how Go writes Mon Jan 2 15:04:05 2006, as in '2006-01-02 15:04:05'"
)
_IGNORE_FAILURE = {"doc": "Whether an event that it cannot process is not an error."}


@dataclass(frozen=True, slots=True, kw_only=True)
class TimestampConfig(ProcessorConfig):
    """Parses the time of an event from a field."""

    name: ClassVar = "timestamp"
    source: str = field(metadata={"key": "field", "doc": "The field with the time.", "check": not_blank})
    target_field: str = field(
        default="@timestamp", metadata={"doc": "The field that the time is written to, in UTC.", "check": not_blank}
    )
    layouts: tuple[str, ...] = field(
        metadata={
            "doc": "Go's layouts (Mon Jan 2 15:04:05 MST 2006), UNIX and UNIX_MS; the first that matches is used.",
            "check": without_blanks,
        }
    )
    timezone: Timezone = field(default="UTC", metadata={"doc": _ZONE})
    ignore_missing: bool = field(default=False, metadata=IGNORE_MISSING)
    ignore_failure: bool = field(default=False, metadata=_IGNORE_FAILURE)
    test: tuple[str, ...] = field(
        default=(), metadata={"doc": "Example times; the configuration is rejected if one matches no layout."}
    )
    id: str = field(default="", metadata={"doc": "A name for this processor, used in its errors."})

    def check(self) -> Iterator[Finding]:
        unusable = (index for index, layout in enumerate(self.layouts) if not is_layout(layout))
        yield from ((f"layouts[{index}]", _NO_LAYOUT) for index in unusable)
        read = time_reader(self.layouts, zone_of(self.timezone))
        for index, text in enumerate(self.test):
            try:
                read(text, time.time())
            except ValueError as error:
                yield f"test[{index}]", f"{text!r} matches none of the layouts: {error}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SyslogProcessorConfig(ProcessorConfig):
    """Parses a syslog message."""

    name: ClassVar = "syslog"
    source: str = field(
        default="message", metadata={"key": "field", "doc": "The field with the syslog message.", "check": not_blank}
    )
    format: SyslogFormat = field(default="auto", metadata={"doc": "The format; auto detects it for each message."})
    timezone: Timezone = field(default=LOCAL, metadata={"doc": _ZONE})
    overwrite_keys: bool = field(default=True, metadata={"doc": "Whether existing fields are overwritten."})
    ignore_missing: bool = field(default=False, metadata=IGNORE_MISSING)
    ignore_failure: bool = field(default=False, metadata=_IGNORE_FAILURE)
    tag: str = field(default="", metadata={"doc": "A name for this processor, used in its errors."})
