"""`add_fields`: adds fields with fixed values."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from log_shipper.config.text.checks import Finding
from log_shipper.shipper.formats.json_fields import copied
from log_shipper.shipper.options.conditions import flat
from log_shipper.shipper.options.processors import PROTECTED_FIELDS, ProcessorConfig
from log_shipper.shipper.processor.base import EventProcessor, ProcessorContext
from log_shipper.shipper.processor.events import Event
from log_shipper.shipper.processor.fields import Path, path_of, roots


@dataclass(frozen=True, slots=True, kw_only=True)
class AddFieldsConfig(ProcessorConfig):
    """Adds fields with fixed values."""

    name: ClassVar = "add_fields"
    example: ClassVar = (
        "add_fields: {target: service, fields: {env: prod}} -> {service: {id: 7}} -> {service: {id: 7, env: prod}}"
    )
    strict: ClassVar = True
    fields: dict[str, Any] = field(metadata={"doc": "The fields to add; existing fields are overwritten."})
    target: str = field(
        default="fields", metadata={"doc": "The object that the fields are added to; the event itself when empty."}
    )

    def remarks(self) -> Iterator[Finding]:
        if isinstance(self.fields.get("when"), dict):
            yield (
                "fields",
                "'when' is a field here; to make it a condition, put it beside 'fields', not below it",
            )
        below = f"{self.target}." if self.target else ""
        for name in (f"{below}{name}" for name, _ in flat(self.fields)):
            if name in PROTECTED_FIELDS:
                yield "fields", f"{name} cannot be changed: it identifies duplicates"

    def build(self, _: ProcessorContext) -> EventProcessor:
        return AddFields(self)


class AddFields:
    """Objects are merged with existing ones; a value that is not an object on both sides is replaced."""

    def __init__(self, config: AddFieldsConfig) -> None:
        self._path = path_of(config.target) if config.target else ()
        self._fields = config.fields
        self.touches = roots(*(path for path, _ in leaves(config.fields, self._path)))

    def apply(self, event: Event) -> None:
        merge(event, self._path, self._fields)


def leaves(value: Any, above: Path = (), *, items: bool = False) -> list[tuple[Path, Any]]:
    """Return the values that are not objects, by path; an empty object counts as a value. With `items`, lists are
    treated like objects whose names are the indices."""
    below: Any = value.items() if isinstance(value, dict) else ()
    if items and isinstance(value, list):
        below = [(str(number), item) for number, item in enumerate(value)]
    inner = [leaf for name, member in below for leaf in leaves(member, (*above, name), items=items)]
    return inner or ([(above, value)] if above else [])


def merge(event: Event, path: Path, value: Any) -> None:
    if isinstance(value, dict) and (not path or isinstance(event.get(path), dict)):
        for name, member in value.items():
            merge(event, (*path, name), member)
    else:
        event.put(path, copied(value))
