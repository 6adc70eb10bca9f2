"""`drop_event`: drops events."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from log_shipper.shipper.options.processors import (
    ProcessorConfig,
)
from log_shipper.shipper.processor.base import Processor, ProcessorContext
from log_shipper.shipper.processor.events import Events


@dataclass(frozen=True, slots=True, kw_only=True)
class DropEventConfig(ProcessorConfig):
    """Drops the events that `when` selects."""

    name: ClassVar = "drop_event"
    example: ClassVar = "drop_event: {when.equals: {level: debug}}"
    strict: ClassVar = True

    def build(self, _: ProcessorContext) -> Processor:
        return DropEvent()


class DropEvent:
    def run(self, events: Events, indices: Sequence[int]) -> None:
        events.dropped.update(indices)
