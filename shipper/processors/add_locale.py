"""`add_locale`: adds the time zone of the machine."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from log_shipper.shipper.clock import Clock
from log_shipper.shipper.options.processors import ProcessorConfig
from log_shipper.shipper.processor.base import Processor, ProcessorContext
from log_shipper.shipper.processor.events import Events, all_of
from log_shipper.shipper.processor.fields import root_of


@dataclass(frozen=True, slots=True, kw_only=True)
class AddLocaleConfig(ProcessorConfig):
    """Sets `event.timezone` to the time zone of the machine."""

    name: ClassVar = "add_locale"
    example: ClassVar = "add_locale: {format: abbreviation}"
    format: Literal["offset", "abbreviation"] = field(
        default="offset", metadata={"doc": "`offset`, such as +02:00, or `abbreviation`, such as CEST."}
    )

    def build(self, context: ProcessorContext) -> Processor:
        return AddLocale(self, context.clock)


_TIMEZONE = ("event", "timezone")


class AddLocale:
    """Reads the time zone once per batch: it changes twice a year, while files are open."""

    def __init__(
        self, config: AddLocaleConfig, clock: Clock, local: Callable[[float], time.struct_time] = time.localtime
    ) -> None:
        self._abbreviated = config.format == "abbreviation"
        self._clock = clock
        self._local = local
        self._touches = frozenset({root_of(_TIMEZONE)})

    def run(self, events: Events, indices: Sequence[int]) -> None:
        now = self._local(self._clock.time())
        zone = now.tm_zone if self._abbreviated else _offset(now.tm_gmtoff)
        if all_of(events, indices) and not events.shadows(self._touches):
            events.share((self, zone), lambda shared: shared.put(0, _TIMEZONE, zone))
        else:
            for index in indices:
                events.put(index, _TIMEZONE, zone)


def _offset(seconds: int) -> str:
    hours, minutes = divmod(abs(seconds) // 60, 60)
    return f"{'-' if seconds < 0 else '+'}{hours:02d}:{minutes:02d}"
