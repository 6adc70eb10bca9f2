"""The common part of decode_base64_field and decompress_gzip_field."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from log_shipper.config.text.checks import not_blank
from log_shipper.shipper.processor.events import Event
from log_shipper.shipper.processor.field_by_field import FieldByField, value_of
from log_shipper.shipper.processor.fields import MISSING, ProcessorError, path_of


@dataclass(frozen=True, slots=True, kw_only=True)
class OneFieldConfig:
    source: str = field(metadata={"key": "from", "check": not_blank, "doc": "The field to decode."})
    to: str = field(
        default="", metadata={"doc": "The field that the result is written to; the same field when absent."}
    )


def field_decoder(
    config: OneFieldConfig, decode: Callable[[Any], Any], ignore_missing: bool, fail_on_error: bool
) -> FieldByField:
    """Return a processor that writes the result of `decode`, which raises ValueError for a value it cannot decode."""
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
    """Return the data as text if it is UTF-8. Otherwise the bytes are kept for the next processor, and become U+FFFD in
    a record."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return bytes(data)
