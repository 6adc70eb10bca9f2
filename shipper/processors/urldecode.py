"""`urldecode`: decodes URL-encoded texts."""

import re
from dataclasses import dataclass, field
from typing import ClassVar
from urllib.parse import unquote_plus

from log_shipper.config.text.checks import not_blank, not_empty
from log_shipper.shipper.options.processors import FAIL_ON_ERROR, IGNORE_MISSING, ProcessorConfig
from log_shipper.shipper.processor.base import ProcessorContext
from log_shipper.shipper.processor.field_by_field import FieldByField, Step, on_text
from log_shipper.shipper.processor.fields import ProcessorError, path_of


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlFieldConfig:
    source: str = field(metadata={"key": "from", "check": not_blank, "doc": "The field to decode."})
    to: str = field(
        default="", metadata={"doc": "The field that the result is written to; the same field when absent."}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class UrldecodeConfig(ProcessorConfig):
    """Decodes URL-encoded strings: %41, and + for a space."""

    name: ClassVar = "urldecode"
    example: ClassVar = "urldecode: {fields: [{from: query}]} -> {query: a%20b+c} -> {query: a b c}"
    strict: ClassVar = True
    fields: tuple[UrlFieldConfig, ...] = field(
        metadata={"check": not_empty, "doc": "The field to decode and its target."}
    )
    ignore_missing: bool = field(default=False, metadata=IGNORE_MISSING)
    fail_on_error: bool = field(default=True, metadata=FAIL_ON_ERROR)

    def build(self, _: ProcessorContext) -> FieldByField:
        def one(field: UrlFieldConfig) -> Step:
            to = path_of(field.to) if field.to else None
            return on_text(path_of(field.source), _decoded, self.ignore_missing, to)

        paths = [path_of(name) for field in self.fields for name in (field.source, field.to) if name]
        return FieldByField([one(field) for field in self.fields], paths, fail_on_error=self.fail_on_error)


_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2}).{0,2}", re.DOTALL)


def _decoded(text: str) -> str:
    if wrong := _BAD_ESCAPE.search(text):
        raise ProcessorError(f"{wrong[0]!r} is not a URL escape")
    return unquote_plus(text)
