"""`copy_fields`: copies fields."""

from dataclasses import dataclass, field
from typing import ClassVar

from log_shipper.config.text.checks import not_empty
from log_shipper.shipper.formats.json_fields import copied
from log_shipper.shipper.options.processors import (
    FAIL_ON_ERROR,
    IGNORE_MISSING,
    ProcessorConfig,
)
from log_shipper.shipper.processor.base import ProcessorContext
from log_shipper.shipper.processor.field_by_field import FieldByField
from log_shipper.shipper.processor.from_to import FromToConfig, from_to


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyFieldsConfig(ProcessorConfig):
    """Copies fields to new fields, which must not exist yet."""

    name: ClassVar = "copy_fields"
    example: ClassVar = (
        "copy_fields: {fields: [{from: user, to: audit.user}]} -> {user: ann} -> {user: ann, audit: {user: ann}}"
    )
    fields: tuple[FromToConfig, ...] = field(metadata={"check": not_empty, "doc": "The fields to copy."})
    ignore_missing: bool = field(default=False, metadata=IGNORE_MISSING)
    fail_on_error: bool = field(default=True, metadata=FAIL_ON_ERROR)

    def build(self, _: ProcessorContext) -> FieldByField:
        return from_to(
            self.fields,
            lambda event, source, to, value: event.put(to, copied(value)),
            ignore_missing=self.ignore_missing,
            fail_on_error=self.fail_on_error,
        )
