"""`convert`: converts values to another type."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from log_shipper.config.text.checks import Finding, not_blank, not_empty
from log_shipper.shipper.formats.json_fields import copied
from log_shipper.shipper.options.processors import FAIL_ON_ERROR, IGNORE_MISSING, ProcessorConfig
from log_shipper.shipper.processor.base import ProcessorContext
from log_shipper.shipper.processor.conversions import CONVERSIONS
from log_shipper.shipper.processor.events import Event
from log_shipper.shipper.processor.field_by_field import FieldByField, Step, value_of
from log_shipper.shipper.processor.fields import MISSING, ProcessorError, path_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversionConfig:
    source: str = field(metadata={"key": "from", "check": not_blank, "doc": "The field to convert."})
    to: str = field(
        default="", metadata={"doc": "The field that the result is written to; the same field when absent."}
    )
    type: Literal["", "integer", "long", "float", "double", "string", "boolean", "ip"] = field(
        default="", metadata={"doc": "The type to convert to; unchanged when absent."}
    )

    def check(self) -> Iterator[Finding]:
        if not self.to and not self.type:
            yield "", "needs 'to' or 'type'"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertConfig(ProcessorConfig):
    """Converts values to another type."""

    name: ClassVar = "convert"
    example: ClassVar = "convert: {fields: [{from: status, type: integer}]} -> {status: '404'} -> {status: 404}"
    fields: tuple[ConversionConfig, ...] = field(metadata={"check": not_empty, "doc": "The fields to convert."})
    tag: str = field(default="", metadata={"doc": "A name for this processor, shown in its errors."})
    mode: Literal["copy", "rename"] = field(
        default="copy",
        metadata={
            "doc": "Whether the original field is kept (copy) or removed (rename) when the result is written to "
            "another one."
        },
    )
    ignore_missing: bool = field(default=False, metadata=IGNORE_MISSING)
    fail_on_error: bool = field(default=True, metadata=FAIL_ON_ERROR)

    def build(self, _: ProcessorContext) -> FieldByField:
        def one(field: ConversionConfig) -> Step:
            source, to = path_of(field.source), path_of(field.to or field.source)
            conversion = CONVERSIONS.get(field.type, copied)

            def step(event: Event) -> None:
                value = value_of(event, source, ignore_missing=self.ignore_missing)
                if value is MISSING:
                    return
                try:
                    result = conversion(value)
                except ProcessorError as error:
                    tag = f" ({self.tag})" if self.tag else ""
                    raise ProcessorError(f"{field.source} cannot be converted to {field.type}{tag}: {error}") from error
                event.put(to, result)
                if self.mode == "rename" and to != source:
                    event.delete(source)

            return step

        paths = [path_of(name) for field in self.fields for name in (field.source, field.to) if name]
        return FieldByField([one(field) for field in self.fields], paths, fail_on_error=self.fail_on_error)
