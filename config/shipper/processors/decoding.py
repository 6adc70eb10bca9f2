"""Processors: what decodes values."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from config.shipper.processors.base import FAIL_ON_ERROR, IGNORE_MISSING, ProcessorConfig
from config.text.checks import Finding, not_blank, without_blanks
from config.text.units import Size


@dataclass(frozen=True, slots=True, kw_only=True)
class OneFieldConfig:
    source: str = field(metadata={"key": "from", "check": not_blank, "doc": "The field that is decoded."})
    to: str = field(default="", metadata={"doc": "Where the result goes; the same field when absent."})


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeBase64FieldConfig(ProcessorConfig):
    """Decodes a field from base64."""

    name: ClassVar = "decode_base64_field"
    source: OneFieldConfig = field(metadata={"key": "field", "doc": "What is decoded.", "missing": "name field.from"})
    ignore_missing: bool = field(default=False, metadata=IGNORE_MISSING)
    fail_on_error: bool = field(default=True, metadata=FAIL_ON_ERROR)


@dataclass(frozen=True, slots=True, kw_only=True)
class DecompressGzipFieldConfig(ProcessorConfig):
    """Decompresses a field from gzip, as `decode_base64_field` has left it."""

    name: ClassVar = "decompress_gzip_field"
    source: OneFieldConfig = field(
        metadata={"key": "field", "doc": "What is decompressed.", "missing": "name field.from"}
    )
    max_bytes: Size = field(
        default=10 * 1024 * 1024,
        metadata={
            "doc": "The most that a field may become; what would be more is an error of the event, which goes on.",
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
    """Takes fields apart as records of comma-separated values."""

    name: ClassVar = "decode_csv_fields"
    fields: dict[str, str] = field(metadata={"doc": "Where the list of values goes, by the field that is taken apart."})
    separator: str = field(default=",", metadata={"doc": "The character between values.", "check": _separator})
    ignore_missing: bool = field(default=False, metadata=IGNORE_MISSING)
    overwrite_keys: bool = field(default=False, metadata={"doc": "Whether a target that is there already is replaced."})
    trim_leading_space: bool = field(default=False, metadata={"doc": "Whether blanks before a value are taken off."})
    fail_on_error: bool = field(default=True, metadata=FAIL_ON_ERROR)

    def check(self) -> Iterator[Finding]:
        if not self.fields:
            yield "fields", "must not be empty"
        for name, target in self.fields.items():
            if not isinstance(target, str) or not target:
                yield f"fields.{name}", "must be the name of a field"


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeDurationConfig(ProcessorConfig):
    """Turns a duration in Go's notation into a number; what is none stays as it is."""

    name: ClassVar = "decode_duration"
    source: str = field(metadata={"key": "field", "check": not_blank, "doc": "The field, as in 1m30s."})
    format: Literal["milliseconds", "seconds", "minutes", "hours"] = field(
        default="milliseconds", metadata={"doc": "What the number counts."}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeJsonFieldsConfig(ProcessorConfig):
    """Turns fields that hold JSON into what the JSON says."""

    name: ClassVar = "decode_json_fields"
    fields: tuple[str, ...] = field(metadata={"check": without_blanks, "doc": "The fields."})
    process_array: bool = field(
        default=False, metadata={"doc": "Whether max_depth also reaches texts that hold, or are in, arrays."}
    )
    max_depth: int = field(
        default=1, metadata={"doc": "How deep JSON in texts of JSON is decoded.", "min": 1, "max": 100}
    )
    target: str | None = field(
        default=None,
        metadata={"doc": "Where the result goes; the same field when absent, the event itself when empty."},
    )
    overwrite_keys: bool = field(
        default=False, metadata={"doc": "With an empty target: whether fields that are there already are replaced."}
    )
    expand_keys: bool = field(
        default=False, metadata={"doc": "With an empty target: whether keys with dots become objects."}
    )
    add_error_key: bool = field(default=False, metadata={"doc": "Whether an event is marked whose field is no JSON."})
    document_id: str = field(default="", metadata={"doc": "A key whose text is moved to @metadata._id."})
