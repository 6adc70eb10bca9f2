"""The processor `syslog`."""

from log_shipper.config.text.timezones import zone_of
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.formats import syslog as syslog_format
from log_shipper.shipper.formats.json_fields import copied, merge
from log_shipper.shipper.formats.syslog import SyslogError, SyslogMessage
from log_shipper.shipper.options.processors.parsing import SyslogProcessorConfig
from log_shipper.shipper.processor.base import ProcessorError
from log_shipper.shipper.processor.events import Event
from log_shipper.shipper.processor.fields import MISSING, path_of, roots

_MESSAGE, _TIME, _SYSLOG = ("message",), ("@timestamp",), ("log", "syslog")


class Syslog:
    """Writes the header of the message to log.syslog and its text to `message`, whatever field it was in."""

    def __init__(self, config: SyslogProcessorConfig, clock: Clock) -> None:
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
            raise SyslogError("it is missing" if value is MISSING else "it is not a text")
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
