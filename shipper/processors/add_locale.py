"""`add_locale`: adds the time zone of the machine."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from log_shipper.shipper.options.processors import ProcessorConfig
from log_shipper.shipper.processor.base import Processor, ProcessorContext
from log_shipper.shipper.processor.events import Events
from log_shipper.shipper.processor.fields import roots
from log_shipper.shipper.processor.metadata.facts import Facts, Sharing


@dataclass(frozen=True, slots=True, kw_only=True)
class AddLocaleConfig(ProcessorConfig):
    """Sets `event.timezone` to the time zone of the machine."""

    name: ClassVar = "add_locale"
    example: ClassVar = "add_locale: {format: abbreviation}"
    format: Literal["offset", "abbreviation"] = field(
        default="offset", metadata={"doc": "`offset`, such as +02:00, or `abbreviation`, such as CEST."}
    )

    def build(self, context: ProcessorContext) -> Processor:
        return AddLocale(self, context)


_TIMEZONE = ("event", "timezone")


class AddLocale:
    """Reads the time zone once per batch: it changes twice a year, while files are open."""

    def __init__(
        self,
        config: AddLocaleConfig,
        context: ProcessorContext,
        local: Callable[[float], time.struct_time] = time.localtime,
    ) -> None:
        self._abbreviated = config.format == "abbreviation"
        self._clock = context.clock
        self._local = local
        self._sharing = Sharing(config.name, roots(_TIMEZONE), context.metrics)
        self._facts = Facts(self._sharing, {})

    def run(self, events: Events, indices: Sequence[int]) -> None:
        now = self._local(self._clock.time())
        zone = now.tm_zone if self._abbreviated else _offset(now.tm_gmtoff)
        if self._facts.members != {"timezone": zone}:
            self._facts = Facts(self._sharing, {"timezone": zone})
        self._sharing.run(events, indices, self._facts, lambda event: event.put(_TIMEZONE, zone))


def _offset(seconds: int) -> str:
    hours, minutes = divmod(abs(seconds) // 60, 60)
    return f"{'-' if seconds < 0 else '+'}{hours:02d}:{minutes:02d}"
