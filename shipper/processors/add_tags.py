"""`add_tags`: appends tags."""

from dataclasses import dataclass, field
from typing import ClassVar

from log_shipper.config.text.checks import not_blank, without_blanks
from log_shipper.shipper.options.processors import ProcessorConfig
from log_shipper.shipper.processor.base import EventProcessor, ProcessorContext
from log_shipper.shipper.processor.events import Event
from log_shipper.shipper.processor.fields import MISSING, ProcessorError, dotted, path_of, roots


@dataclass(frozen=True, slots=True, kw_only=True)
class AddTagsConfig(ProcessorConfig):
    """Appends tags to the existing ones."""

    name: ClassVar = "add_tags"
    example: ClassVar = "add_tags: {tags: [web, prod]} -> {tags: [json]} -> {tags: [json, web, prod]}"
    strict: ClassVar = True
    tags: tuple[str, ...] = field(metadata={"check": without_blanks, "doc": "The tags to append."})
    target: str = field(default="tags", metadata={"check": not_blank, "doc": "The field that the tags are added to."})

    def build(self, _: ProcessorContext) -> EventProcessor:
        return AddTags(self)


class AddTags:
    def __init__(self, config: AddTagsConfig) -> None:
        self._path = path_of(config.target)
        self._tags = list(config.tags)
        self.touches = roots(self._path)

    def apply(self, event: Event) -> None:
        existing = event.get(self._path)
        if existing is MISSING:
            event.put(self._path, list(self._tags))
        elif isinstance(existing, list):
            event.put(self._path, [*existing, *self._tags])
        else:
            raise ProcessorError(f"{dotted(self._path)} is not a list of tags")
