"""`add_formatted_index`: sets the Elasticsearch index of an event."""

from dataclasses import dataclass, field
from typing import ClassVar

from log_shipper.shipper.options.codec import format_string
from log_shipper.shipper.options.processors import ProcessorConfig
from log_shipper.shipper.processor.base import EventProcessor, ProcessorContext
from log_shipper.shipper.processor.events import Event
from log_shipper.shipper.processor.fields import ProcessorError, roots
from log_shipper.shipper.processor.formatting import Formatter, NoText


@dataclass(frozen=True, slots=True, kw_only=True)
class AddFormattedIndexConfig(ProcessorConfig):
    """Sets `@metadata.raw_index`, the Elasticsearch index of an event."""

    name: ClassVar = "add_formatted_index"
    example: ClassVar = (
        "add_formatted_index: {index: 'app-%{[service]}'} -> {service: web} "
        "-> {service: web, '@metadata': {raw_index: app-web}}"
    )
    strict: ClassVar = True
    index: str = field(metadata={"check": format_string, "doc": "The index, a format string."})

    def build(self, _: ProcessorContext) -> EventProcessor:
        return AddFormattedIndex(self)


_RAW_INDEX = ("@metadata", "raw_index")


class AddFormattedIndex:
    touches = roots(_RAW_INDEX)

    def __init__(self, config: AddFormattedIndexConfig) -> None:
        self._formatter = Formatter(config.index)

    def apply(self, event: Event) -> None:
        try:
            event.put(_RAW_INDEX, self._formatter.text(event.events, event.index))
        except NoText as error:
            raise ProcessorError(str(error)) from error
