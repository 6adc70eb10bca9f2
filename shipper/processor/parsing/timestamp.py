"""The processor `timestamp`."""

from log_shipper.config.text.layouts import time_reader
from log_shipper.config.text.timezones import zone_of
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.formats import times
from log_shipper.shipper.options.processors.parsing import TimestampConfig
from log_shipper.shipper.processor.base import ProcessorError
from log_shipper.shipper.processor.events import Event
from log_shipper.shipper.processor.fields import MISSING, path_of, roots

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
