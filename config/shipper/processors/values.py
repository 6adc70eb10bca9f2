"""Processors that change values: options of convert, extract_array, replace, truncate_fields, urldecode."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from config.shipper.conditions import flat
from config.shipper.processors.base import FAIL_ON_ERROR, IGNORE_MISSING, ProcessorConfig
from config.text.checks import Finding, not_blank, not_empty
from config.text.patterns import Pattern
from config.text.units import Size


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversionConfig:
    source: str = field(metadata={"key": "from", "check": not_blank, "doc": "The field."})
    to: str = field(default="", metadata={"doc": "Where the result goes; the field itself when absent."})
    type: Literal["", "integer", "long", "float", "double", "string", "boolean", "ip"] = field(
        default="", metadata={"doc": "What it becomes; the same value when absent."}
    )

    def check(self) -> Iterator[Finding]:
        if not self.to and not self.type:
            yield "", "needs 'to' or 'type'"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertConfig(ProcessorConfig):
    """Gives values another type."""

    name: ClassVar = "convert"
    fields: tuple[ConversionConfig, ...] = field(metadata={"check": not_empty, "doc": "What is converted."})
    tag: str = field(default="", metadata={"doc": "A name for this processor, told in its errors."})
    mode: Literal["copy", "rename"] = field(
        default="copy", metadata={"doc": "Whether a field stays whose result goes elsewhere."}
    )
    ignore_missing: bool = field(default=False, metadata=IGNORE_MISSING)
    fail_on_error: bool = field(default=True, metadata=FAIL_ON_ERROR)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractArrayConfig(ProcessorConfig):
    """Writes items of a list to fields of their own."""

    name: ClassVar = "extract_array"
    array: str = field(metadata={"key": "field", "check": not_blank, "doc": "The list."})
    mappings: dict[str, Any] = field(metadata={"doc": "Which field gets the item of which number; the first is 0."})
    overwrite_keys: bool = field(default=False, metadata={"doc": "Whether fields that are there are overwritten."})
    omit_empty: bool = field(default=False, metadata={"doc": "Whether empty texts, lists and objects are left out."})
    ignore_missing: bool = field(default=False, metadata=IGNORE_MISSING)
    fail_on_error: bool = field(default=True, metadata=FAIL_ON_ERROR)

    def check(self) -> Iterator[Finding]:
        if not self.mappings:
            yield "mappings", "must not be empty"
        for name, number in flat(self.mappings):
            if type(number) is not int or number < 0:
                yield f"mappings.{name}", f"{number!r} must be the number of an item: 0, 1, 2, …"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplacementConfig:
    source: str = field(metadata={"key": "field", "check": not_blank, "doc": "The field, a text."})
    pattern: Pattern = field(metadata={"check": not_blank, "doc": "What is replaced, wherever it is found."})
    replacement: str = field(metadata={"doc": "What takes its place; $1 and $${name} stand for groups, $$ for $."})


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceConfig(ProcessorConfig):
    """Replaces what a regular expression finds in texts."""

    name: ClassVar = "replace"
    fields: tuple[ReplacementConfig, ...] = field(metadata={"check": not_empty, "doc": "What is replaced where."})
    ignore_missing: bool = field(default=False, metadata=IGNORE_MISSING)
    fail_on_error: bool = field(default=True, metadata=FAIL_ON_ERROR)


@dataclass(frozen=True, slots=True, kw_only=True)
class TruncateFieldsConfig(ProcessorConfig):
    """Cuts texts to a length; log.flags then holds truncated."""

    name: ClassVar = "truncate_fields"
    fields: tuple[str, ...] = field(metadata={"check": not_empty, "doc": "The fields, texts."})
    max_bytes: Size | None = field(default=None, metadata={"doc": "The most bytes of UTF-8; no character is cut."})
    max_characters: int | None = field(default=None, metadata={"min": 0, "doc": "The most characters."})
    ignore_missing: bool = field(default=False, metadata=IGNORE_MISSING)
    fail_on_error: bool = field(default=True, metadata=FAIL_ON_ERROR)

    def check(self) -> Iterator[Finding]:
        if (self.max_bytes is None) == (self.max_characters is None):
            yield "", "needs one of 'max_bytes' and 'max_characters', not both"


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlFieldConfig:
    source: str = field(metadata={"key": "from", "check": not_blank, "doc": "The field."})
    to: str = field(default="", metadata={"doc": "Where the result goes; the field itself when absent."})


@dataclass(frozen=True, slots=True, kw_only=True)
class UrldecodeConfig(ProcessorConfig):
    """Decodes what was encoded for a URL: %41, and + for a space."""

    name: ClassVar = "urldecode"
    fields: tuple[UrlFieldConfig, ...] = field(metadata={"check": not_empty, "doc": "What is decoded."})
    ignore_missing: bool = field(default=False, metadata=IGNORE_MISSING)
    fail_on_error: bool = field(default=True, metadata=FAIL_ON_ERROR)
