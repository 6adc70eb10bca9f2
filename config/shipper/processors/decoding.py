"""Processors that decode values."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from config.shipper.processors.base import FAIL_ON_ERROR, IGNORE_MISSING, ProcessorConfig
from config.text.checks import Finding, not_blank, without_blanks
from config.text.units import Size


@dataclass(frozen=True, slots=True, kw_only=True)
class OneFieldConfig:
    source: str = field(metadata={"key": "from", "check": not_blank, "doc": "The field that is decoded."})
    to: str = field(default="", metadata={"doc": "Where the result is written; the same field when absent."})


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeBase64FieldConfig(ProcessorConfig):
    """Decodes a field from base64."""

    name: ClassVar = "decode_base64_field"
    source: OneFieldConfig = field(
        metadata={"key": "field", "doc": "The field to decode and its target.", "missing": "name field.from"}
    )
    ignore_missing: bool = field(default=False, metadata=IGNORE_MISSING)
    fail_on_error: bool = field(default=True, metadata=FAIL_ON_ERROR)


@dataclass(frozen=True, slots=True, kw_only=True)
class DecompressGzipFieldConfig(ProcessorConfig):
    """Decompresses a field from gzip, for example after `decode_base64_field`."""

    name: ClassVar = "decompress_gzip_field"
    source: OneFieldConfig = field(
        metadata={"key": "field", "doc": "The field to decompress and its target.", "missing": "name field.from"}
    )
    max_bytes: Size = field(
        default=10 * 1024 * 1024,
        metadata={
            "doc": "The largest decompressed value; a larger one is an error of the event, which is still shipped.",
            "unit": "bytes",
            "min": 1,
        },
    )
    ignore_missing: bool = field(default=False, metadata=IGNORE_MISSING)
    fail_on_error: bool = field(default=True, metadata=FAIL_ON_ERROR)


def _separator(text: str) -> Iterator[Finding]:
    if len(text) != 1:
        yield "", 'must be one character; write a tab as "\\t" in double quotes'
    elif text in '"\r\n':
        yield "", "cannot be a quote or the end of a line"


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeCsvFieldsConfig(ProcessorConfig):
    """Parses fields as records of comma-separated values."""

    name: ClassVar = "decode_csv_fields"
    fields: dict[str, str] = field(
        metadata={"doc": "The field that the list of values is written to, by the field that is parsed."}
    )
    separator: str = field(default=",", metadata={"doc": "The character between values.", "check": _separator})
    ignore_missing: bool = field(default=False, metadata=IGNORE_MISSING)
    overwrite_keys: bool = field(default=False, metadata={"doc": "Whether an existing target is overwritten."})
    trim_leading_space: bool = field(default=False, metadata={"doc": "Whether blanks before a value are removed."})
    fail_on_error: bool = field(default=True, metadata=FAIL_ON_ERROR)

    def check(self) -> Iterator[Finding]:
        if not self.fields:
            yield "fields", "must not be empty"
        for name, target in self.fields.items():
            if not isinstance(target, str) or not target:
                yield f"fields.{name}", "must be the name of a field"


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeDurationConfig(ProcessorConfig):
    """Converts a duration in Go's notation to a number; any other value stays as it is."""

    name: ClassVar = "decode_duration"
    source: str = field(metadata={"key": "field", "check": not_blank, "doc": "The field, as in 1m30s."})
    format: Literal["milliseconds", "seconds", "minutes", "hours"] = field(
        default="milliseconds", metadata={"doc": "The unit of the number."}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeJsonFieldsConfig(ProcessorConfig):
    """Parses fields that contain JSON."""

    name: ClassVar = "decode_json_fields"
    fields: tuple[str, ...] = field(metadata={"check": without_blanks, "doc": "The fields."})
    process_array: bool = field(
        default=False, metadata={"doc": "Whether max_depth also applies to texts that contain, or are in, arrays."}
    )
    max_depth: int = field(
        default=1, metadata={"doc": "How many levels of JSON within texts of JSON are decoded.", "min": 1, "max": 100}
    )
    target: str | None = field(
        default=None,
        metadata={"doc": "Where the result is written; the same field when absent, the event itself when empty."},
    )
    overwrite_keys: bool = field(
        default=False, metadata={"doc": "With an empty target: whether existing fields are overwritten."}
    )
    expand_keys: bool = field(
        default=False, metadata={"doc": "With an empty target: whether keys with dots are expanded into objects."}
    )
    add_error_key: bool = field(
        default=False, metadata={"doc": "Whether an event whose field is not JSON gets an error."}
    )
    document_id: str = field(default="", metadata={"doc": "A key whose text is moved to @metadata._id."})
