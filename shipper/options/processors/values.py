"""Processors that change values and names: options of convert, extract_array, replace, truncate_fields,
urldecode."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from log_shipper.config.text.checks import Finding, not_blank, not_empty
from log_shipper.config.text.patterns import Pattern
from log_shipper.config.text.units import Size
from log_shipper.shipper.options.conditions import flat
from log_shipper.shipper.options.processors.base import FAIL_ON_ERROR, IGNORE_MISSING, ProcessorConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversionConfig:
    source: str = field(metadata={"key": "from", "check": not_blank, "doc": "The field."})
    to: str = field(default="", metadata={"doc": "Where the result is written; the field itself when absent."})
    type: Literal["", "integer", "long", "float", "double", "string", "boolean", "ip"] = field(
        default="", metadata={"doc": "The type to convert to; the value is unchanged when absent."}
    )

    def check(self) -> Iterator[Finding]:
        if not self.to and not self.type:
            yield "", "needs 'to' or 'type'"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertConfig(ProcessorConfig):
    """Converts values to another type."""

    name: ClassVar = "convert"
    fields: tuple[ConversionConfig, ...] = field(metadata={"check": not_empty, "doc": "The fields to convert."})
    tag: str = field(default="", metadata={"doc": "A name for this processor, used in its errors."})
    mode: Literal["copy", "rename"] = field(
        default="copy", metadata={"doc": "Whether the field is kept when the result is written elsewhere."}
    )
    ignore_missing: bool = field(default=False, metadata=IGNORE_MISSING)
    fail_on_error: bool = field(default=True, metadata=FAIL_ON_ERROR)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractArrayConfig(ProcessorConfig):
    """Copies items of a list to fields of their own."""

    name: ClassVar = "extract_array"
    array: str = field(metadata={"key": "field", "check": not_blank, "doc": "The list."})
    mappings: dict[str, Any] = field(
        metadata={"doc": "The index of the item, from 0, by the field that it is written to."}
    )
    overwrite_keys: bool = field(default=False, metadata={"doc": "Whether existing fields are overwritten."})
    omit_empty: bool = field(default=False, metadata={"doc": "Whether empty texts, lists and objects are skipped."})
    ignore_missing: bool = field(default=False, metadata=IGNORE_MISSING)
    fail_on_error: bool = field(default=True, metadata=FAIL_ON_ERROR)

    def check(self) -> Iterator[Finding]:
        if not self.mappings:
            yield "mappings", "must not be empty"
        for name, number in flat(self.mappings):
            if type(number) is not int or number < 0:
                yield f"mappings.{name}", f"{number!r} must be the index of an item: 0, 1, 2, …"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplacementConfig:
    source: str = field(metadata={"key": "field", "check": not_blank, "doc": "The text field."})
    pattern: Pattern = field(metadata={"check": not_blank, "doc": "What is replaced, wherever it matches."})
    replacement: str = field(metadata={"doc": "The replacement; $1 and $${name} stand for groups, $$ for $."})


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceConfig(ProcessorConfig):
    """Replaces what a regular expression matches in texts."""

    name: ClassVar = "replace"
    fields: tuple[ReplacementConfig, ...] = field(
        metadata={"check": not_empty, "doc": "The fields and their replacements."}
    )
    ignore_missing: bool = field(default=False, metadata=IGNORE_MISSING)
    fail_on_error: bool = field(default=True, metadata=FAIL_ON_ERROR)


@dataclass(frozen=True, slots=True, kw_only=True)
class TruncateFieldsConfig(ProcessorConfig):
    """Truncates texts to a length; log.flags then contains truncated."""

    name: ClassVar = "truncate_fields"
    fields: tuple[str, ...] = field(metadata={"check": not_empty, "doc": "The text fields."})
    max_bytes: Size | None = field(default=None, metadata={"doc": "The most bytes of UTF-8; no character is split."})
    max_characters: int | None = field(default=None, metadata={"min": 0, "doc": "The most characters."})
    ignore_missing: bool = field(default=False, metadata=IGNORE_MISSING)
    fail_on_error: bool = field(default=True, metadata=FAIL_ON_ERROR)

    def check(self) -> Iterator[Finding]:
        if (self.max_bytes is None) == (self.max_characters is None):
            yield "", "needs one of 'max_bytes' and 'max_characters', not both"


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlFieldConfig:
    source: str = field(metadata={"key": "from", "check": not_blank, "doc": "The field."})
    to: str = field(default="", metadata={"doc": "Where the result is written; the field itself when absent."})


@dataclass(frozen=True, slots=True, kw_only=True)
class UrldecodeConfig(ProcessorConfig):
    """Decodes URL-encoded values: %41, and + for a space."""

    name: ClassVar = "urldecode"
    strict: ClassVar = True
    fields: tuple[UrlFieldConfig, ...] = field(
        metadata={"check": not_empty, "doc": "The field to decode and its target."}
    )
    ignore_missing: bool = field(default=False, metadata=IGNORE_MISSING)
    fail_on_error: bool = field(default=True, metadata=FAIL_ON_ERROR)
