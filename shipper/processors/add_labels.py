"""`add_labels`: adds labels with fixed values."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

from log_shipper.shipper.options.processors import ProcessorConfig
from log_shipper.shipper.processor.base import EventProcessor, ProcessorContext
from log_shipper.shipper.processor.events import Event
from log_shipper.shipper.processors.add_fields import leaves, merge


@dataclass(frozen=True, slots=True, kw_only=True)
class AddLabelsConfig(ProcessorConfig):
    """Adds labels with fixed values: members of `labels` that are not objects, with dotted names."""

    name: ClassVar = "add_labels"
    example: ClassVar = (
        "add_labels: {labels: {a: {b: 1}, c: [x]}} -> {labels: {d: 0}} -> {labels: {d: 0, a.b: 1, c.0: x}}"
    )
    strict: ClassVar = True
    labels: dict[str, Any] = field(metadata={"doc": "The labels to add; list items are named by index."})

    def build(self, _: ProcessorContext) -> EventProcessor:
        return AddLabels(self)


class AddLabels:
    def __init__(self, config: AddLabelsConfig) -> None:
        self._labels = {".".join(path): value for path, value in leaves(config.labels, items=True)}
        self.touches = frozenset({"labels"})

    def apply(self, event: Event) -> None:
        merge(event, ("labels",), self._labels)
