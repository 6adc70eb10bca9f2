"""`extract_array`: copies items of a list to fields."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from log_shipper.config.text.checks import Finding, not_blank
from log_shipper.shipper.formats.json_fields import copied
from log_shipper.shipper.options.conditions import flat
from log_shipper.shipper.options.processors import FAIL_ON_ERROR, IGNORE_MISSING, ProcessorConfig
from log_shipper.shipper.processor.base import ProcessorContext
from log_shipper.shipper.processor.events import Event
from log_shipper.shipper.processor.field_by_field import FieldByField, Step, value_of
from log_shipper.shipper.processor.fields import MISSING, Path, ProcessorError, dotted, path_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractArrayConfig(ProcessorConfig):
    """Copies items of a list to separate fields."""

    name: ClassVar = "extract_array"
    example: ClassVar = (
        "extract_array: {field: parts, mappings: {user: 0}} -> {parts: [ann, 7]} -> {parts: [ann, 7], user: ann}"
    )
    array: str = field(metadata={"key": "field", "check": not_blank, "doc": "The field with the list."})
    mappings: dict[str, Any] = field(metadata={"doc": "The index of the item, from 0, by target field."})
    overwrite_keys: bool = field(default=False, metadata={"doc": "Whether existing fields are overwritten."})
    omit_empty: bool = field(default=False, metadata={"doc": "Whether empty strings, lists and objects are left out."})
    ignore_missing: bool = field(default=False, metadata=IGNORE_MISSING)
    fail_on_error: bool = field(default=True, metadata=FAIL_ON_ERROR)

    def check(self) -> Iterator[Finding]:
        if not self.mappings:
            yield "mappings", "must not be empty"
        for name, number in flat(self.mappings):
            if type(number) is not int or number < 0:
                yield f"mappings.{name}", f"{number!r} must be the index of an item: 0, 1, 2, …"

    def build(self, _: ProcessorContext) -> FieldByField:
        array = path_of(self.array)
        mappings = sorted((number, path_of(name)) for name, number in flat(self.mappings))

        def one(number: int, to: Path) -> Step:
            def step(event: Event) -> None:
                items = value_of(event, array, ignore_missing=self.ignore_missing)
                if items is MISSING:
                    return
                if not isinstance(items, list):
                    raise ProcessorError(f"{self.array} is not a list")
                if number >= len(items):
                    raise ProcessorError(f"{self.array} has {len(items)} items, but no item {number}")
                if self.omit_empty and items[number] in ("", [], {}, None):
                    return
                if not self.overwrite_keys and event.get(to) is not MISSING:
                    raise ProcessorError(f"field {dotted(to)} already exists; drop it first, or set overwrite_keys")
                event.put(to, copied(items[number]))

            return step

        steps = [one(number, to) for number, to in mappings]
        return FieldByField(steps, [array, *(to for _, to in mappings)], fail_on_error=self.fail_on_error)
