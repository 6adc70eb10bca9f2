"""Processors: times, and the messages of syslog, which begin with one."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from config.shipper.parsers import SyslogFormat
from config.shipper.processors.base import IGNORE_MISSING, ProcessorConfig
from config.text.checks import Finding, not_blank, without_blanks
from config.text.layouts import is_layout, time_reader
from config.text.timezones import LOCAL, Timezone, zone_of

_ZONE = "Where times without a zone are from: a name, an offset such as +02:00, or Local."
_NO_LAYOUT = "holds no part of a time; a layout is how Go would write Mon Jan 2 15:04:05 2006, as '2006-01-02 15:04:05'"
_IGNORE_FAILURE = {"doc": "Whether an event that it cannot work on is no error."}


@dataclass(frozen=True, slots=True, kw_only=True)
class TimestampConfig(ProcessorConfig):
    """Reads the time of an event out of a field."""

    name: ClassVar = "timestamp"
    source: str = field(metadata={"key": "field", "doc": "The field with the time.", "check": not_blank})
    target_field: str = field(
        default="@timestamp", metadata={"doc": "The field that the time goes to, in UTC.", "check": not_blank}
    )
    layouts: tuple[str, ...] = field(
        metadata={
            "doc": "Go's layouts (Mon Jan 2 15:04:05 MST 2006), UNIX and UNIX_MS; the first that fits.",
            "check": without_blanks,
        }
    )
    timezone: Timezone = field(default="UTC", metadata={"doc": _ZONE})
    ignore_missing: bool = field(default=False, metadata=IGNORE_MISSING)
    ignore_failure: bool = field(default=False, metadata=_IGNORE_FAILURE)
    test: tuple[str, ...] = field(
        default=(), metadata={"doc": "Times that must fit a layout, or the configuration is refused."}
    )
    id: str = field(default="", metadata={"doc": "A name for this processor, which its errors give."})

    def check(self) -> Iterator[Finding]:
        yield from ((f"layouts[{index}]", _NO_LAYOUT) for index, each in enumerate(self.layouts) if not is_layout(each))
        read = time_reader(self.layouts, zone_of(self.timezone))
        for index, text in enumerate(self.test):
            try:
                read(text, time.time())
            except ValueError as error:
                yield f"test[{index}]", f"{text!r} fits none of the layouts: {error}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SyslogProcessorConfig(ProcessorConfig):
    """Takes a message of syslog apart."""

    name: ClassVar = "syslog"
    source: str = field(
        default="message", metadata={"key": "field", "doc": "The field with the message of syslog.", "check": not_blank}
    )
    format: SyslogFormat = field(default="auto", metadata={"doc": "The format; auto sees it by each message."})
    timezone: Timezone = field(default=LOCAL, metadata={"doc": _ZONE})
    overwrite_keys: bool = field(default=True, metadata={"doc": "Whether fields that are there already are replaced."})
    ignore_missing: bool = field(default=False, metadata=IGNORE_MISSING)
    ignore_failure: bool = field(default=False, metadata=_IGNORE_FAILURE)
    tag: str = field(default="", metadata={"doc": "A name for this processor, which its errors give."})
