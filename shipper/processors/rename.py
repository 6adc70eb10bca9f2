"""`rename`: renames fields."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from log_shipper.config.text.checks import Finding, not_empty
from log_shipper.shipper.formats.json_fields import copied
from log_shipper.shipper.options.processors import (
    FAIL_ON_ERROR,
    IGNORE_MISSING,
    PROTECTED_FIELDS,
    ProcessorConfig,
    protected,
)
from log_shipper.shipper.processor.base import ProcessorContext
from log_shipper.shipper.processor.events import Event
from log_shipper.shipper.processor.field_by_field import FieldByField
from log_shipper.shipper.processor.fields import Path, ProcessorError
from log_shipper.shipper.processor.from_to import FromToConfig, from_to


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameConfig(ProcessorConfig):
    """Renames fields; the new names must not exist yet."""

    name: ClassVar = "rename"
    example: ClassVar = "rename: {fields: [{from: msg, to: event.reason}]} -> {msg: full} -> {event: {reason: full}}"
    fields: tuple[FromToConfig, ...] = field(metadata={"check": not_empty, "doc": "The fields to rename."})
    ignore_missing: bool = field(default=False, metadata=IGNORE_MISSING)
    fail_on_error: bool = field(default=True, metadata=FAIL_ON_ERROR)

    def remarks(self) -> Iterator[Finding]:
        yield from protected([pair.source for pair in self.fields])
        for index, pair in enumerate(self.fields):
            if any(f"{name}.".startswith(f"{pair.to}.") for name in PROTECTED_FIELDS):
                yield (
                    f"fields[{index}].to",
                    f"every event already has {pair.to}, so this always fails; choose another name",
                )

    def build(self, _: ProcessorContext) -> FieldByField:
        def move(event: Event, source: Path, to: Path, value: object) -> None:
            own = copied(value)
            event.delete(source)  # before the new one is written: a may become a.b
            try:
                event.put(to, own)
            except ProcessorError:
                event.put(source, own)
                raise

        return from_to(self.fields, move, ignore_missing=self.ignore_missing, fail_on_error=self.fail_on_error)
