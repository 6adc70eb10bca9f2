"""`add_id`: adds an id to each event, by which a store can drop duplicates."""

from base64 import urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import ClassVar, Literal

from log_shipper.config.text.checks import not_blank
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.options.processors import ProcessorConfig
from log_shipper.shipper.processor.base import Processor, ProcessorContext
from log_shipper.shipper.processor.events import Events
from log_shipper.shipper.processor.fields import FieldError, path_of


@dataclass(frozen=True, slots=True, kw_only=True)
class AddIdConfig(ProcessorConfig):
    """Adds an id to each event. It is derived from log.file.id and log.offset, so an event that is sent twice has the
    same id."""

    name: ClassVar = "add_id"
    example: ClassVar = "add_id: {target_field: event.id}"
    target_field: str = field(
        default="@metadata._id", metadata={"check": not_blank, "doc": "The field that the id is written to."}
    )
    type: Literal["elasticsearch"] = field(
        default="elasticsearch", metadata={"doc": "The form of the id: 20 characters, safe in URLs."}
    )

    def build(self, context: ProcessorContext) -> Processor:
        return AddId(self, context.metrics)


_ID_BYTES = 15  # the length of Elasticsearch's own ids


class AddId:
    """Derives the id from file id and offset, so that a store keeps an event once even if it is sent again after a
    crash."""

    def __init__(self, config: AddIdConfig, metrics: Metrics) -> None:
        self._metrics = metrics
        self._path = path_of(config.target_field)

    def run(self, events: Events, indices: Sequence[int]) -> None:
        file = blake2b(f"{events.batch.source.file_id}:".encode(), digest_size=_ID_BYTES)
        offsets = events.messages.offsets
        for index in indices:
            event = file.copy()
            event.update(str(offsets[index]).encode())
            try:
                events.put(index, self._path, urlsafe_b64encode(event.digest()).decode())
            except FieldError as error:
                self._metrics.processor_failures += 1
                events.fail(index, AddIdConfig.name, str(error))
