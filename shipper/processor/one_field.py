"""What processors share that decode one field: decode_base64_field and decompress_gzip_field."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from log_shipper.config.text.checks import not_blank
from log_shipper.shipper.processor.events import Event
from log_shipper.shipper.processor.field_by_field import FieldByField, value_of
from log_shipper.shipper.processor.fields import MISSING, ProcessorError, path_of


@dataclass(frozen=True, slots=True, kw_only=True)
class OneFieldConfig:
    source: str = field(metadata={"key": "from", "check": not_blank, "doc": "The field that is decoded."})
    to: str = field(default="", metadata={"doc": "Where the result is written; the same field when absent."})


def field_decoder(
    config: OneFieldConfig, decode: Callable[[Any], Any], ignore_missing: bool, fail_on_error: bool
) -> FieldByField:
    """Return what writes the result of `decode`, which raises ValueError for a value that it cannot decode."""
    source = path_of(config.source)
    target = path_of(config.to) if config.to else source

    def step(event: Event) -> None:
        value = value_of(event, source, ignore_missing=ignore_missing)
        if value is not MISSING:
            try:
                decoded = decode(value)
            except ValueError as error:
                raise ProcessorError(f"field {config.source} cannot be decoded: {error}") from error
            event.put(target, decoded)

    return FieldByField([step], [source, target], fail_on_error=fail_on_error)


def text_where_possible(data: bytes | bytearray) -> str | bytes:
    """Return the data as text; bytes that are not UTF-8 stay bytes for the next processor, and U+FFFD in a record."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return bytes(data)
