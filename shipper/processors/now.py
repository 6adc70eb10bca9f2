"""`now`: sets a field to the time of processing."""

from dataclasses import dataclass, field
from typing import ClassVar

from log_shipper.config.text.checks import not_blank
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.formats.record import timestamp
from log_shipper.shipper.options.processors import ProcessorConfig
from log_shipper.shipper.processor.base import EventProcessor, ProcessorContext
from log_shipper.shipper.processor.events import Event
from log_shipper.shipper.processor.fields import path_of


@dataclass(frozen=True, slots=True, kw_only=True)
class NowConfig(ProcessorConfig):
    """Sets a field to the time of processing. An event that is sent twice has two different times."""

    name: ClassVar = "now"
    example: ClassVar = "now: {field: event.ingested}"
    strict: ClassVar = True
    target: str = field(metadata={"key": "field", "check": not_blank, "doc": "The field to set."})

    def build(self, context: ProcessorContext) -> EventProcessor:
        return Now(self, context.clock)


class Now:
    touches = None  # the time differs, so the result is never shared by the events of a file

    def __init__(self, config: NowConfig, clock: Clock) -> None:
        self._path = path_of(config.target)
        self._clock = clock

    def apply(self, event: Event) -> None:
        event.put(self._path, timestamp(self._clock.time()))
