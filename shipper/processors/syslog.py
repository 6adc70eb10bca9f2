"""`syslog`: parses syslog messages."""

from dataclasses import dataclass, field
from typing import ClassVar

from log_shipper.config.text.checks import not_blank
from log_shipper.config.text.timezones import LOCAL, Timezone, zone_of
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.formats import syslog as syslog_format
from log_shipper.shipper.formats.json_fields import copied, merge
from log_shipper.shipper.formats.syslog import SyslogError, SyslogFormat, SyslogMessage
from log_shipper.shipper.options.processors import IGNORE_MISSING, ProcessorConfig
from log_shipper.shipper.processor.base import EventProcessor, ProcessorContext, ProcessorError
from log_shipper.shipper.processor.events import Event
from log_shipper.shipper.processor.fields import MISSING, path_of, roots


@dataclass(frozen=True, slots=True, kw_only=True)
class SyslogConfig(ProcessorConfig):
    """Parses a syslog message."""

    name: ClassVar = "syslog"
    example: ClassVar = """
        syslog: {format: rfc5424} -> {message: '<13>1 2026-02-01T09:00:00Z web-1 cron - - - started'}
          -> {message: started, '@timestamp': '2026-02-01T09:00:00.000Z', log: {syslog: {priority: 13,
          facility: {code: 1, name: user-level}, severity: {code: 5, name: Notice}, version: '1',
          hostname: web-1, appname: cron}}}
    """
    source: str = field(
        default="message", metadata={"key": "field", "doc": "The field with the syslog message.", "check": not_blank}
    )
    format: SyslogFormat = field(default="auto", metadata={"doc": "The format; auto detects it for each message."})
    timezone: Timezone = field(
        default=LOCAL,
        metadata={"doc": "The time zone of times without one: a name, an offset such as +02:00, or Local."},
    )
    overwrite_keys: bool = field(default=True, metadata={"doc": "Whether existing fields are overwritten."})
    ignore_missing: bool = field(default=False, metadata=IGNORE_MISSING)
    ignore_failure: bool = field(
        default=False, metadata={"doc": "Whether an event that cannot be processed is not an error."}
    )
    tag: str = field(default="", metadata={"doc": "A name for this processor, shown in its errors."})

    def build(self, context: ProcessorContext) -> EventProcessor:
        return Syslog(self, context.clock)


_MESSAGE, _TIME, _SYSLOG = ("message",), ("@timestamp",), ("log", "syslog")


class Syslog:
    """Writes the header to log.syslog and the text to `message`, whichever field they come from."""

    def __init__(self, config: SyslogConfig, clock: Clock) -> None:
        self._config = config
        self._clock = clock
        self._source = path_of(config.source)
        self._zone = zone_of(config.timezone)
        self.touches = roots(self._source, _MESSAGE, _TIME, _SYSLOG)

    def apply(self, event: Event) -> None:
        value = event.get(self._source)
        if value is MISSING and self._config.ignore_missing:
            return
        try:
            self._put(event, self._parse(value))
        except SyslogError as error:
            tag = f"{self._config.tag}: " if self._config.tag else ""
            raise ProcessorError(f"{tag}field {self._config.source} is not a syslog message: {error}") from error

    def _parse(self, value: object) -> SyslogMessage:
        if not isinstance(value, str):
            raise SyslogError("it is missing" if value is MISSING else "it is not a string")
        return syslog_format.parse(value, self._config.format, self._zone, self._clock.time())

    def _put(self, event: Event, message: SyslogMessage) -> None:
        overwrite, before = self._config.overwrite_keys, event.get(_SYSLOG)
        syslog = message.syslog
        if isinstance(before, dict):
            syslog = copied(before)
            merge(syslog, message.syslog, overwrite=overwrite)
        if before is MISSING or isinstance(before, dict) or overwrite:
            event.put(_SYSLOG, syslog)
        if message.text and (overwrite or event.get(_MESSAGE) is MISSING):
            event.put(_MESSAGE, message.text)
        if message.time is not None:
            event.put(_TIME, message.time)
