"""`decode_base64_field`: decodes a field from base64."""

import base64
from dataclasses import dataclass, field
from typing import Any, ClassVar

from log_shipper.shipper.options.processors import FAIL_ON_ERROR, IGNORE_MISSING, ProcessorConfig
from log_shipper.shipper.processor.base import EventProcessor, ProcessorContext
from log_shipper.shipper.processor.one_field import OneFieldConfig, field_decoder, text_where_possible


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeBase64FieldConfig(ProcessorConfig):
    """Decodes a field from base64."""

    name: ClassVar = "decode_base64_field"
    example: ClassVar = (
        """decode_base64_field: {field: {from: body}} -> {body: eyJvayI6dHJ1ZX0=} -> {body: '{"ok":true}'}"""
    )
    strict: ClassVar = True
    source: OneFieldConfig = field(
        metadata={"key": "field", "doc": "The field to decode and its target.", "missing": "name field.from"}
    )
    ignore_missing: bool = field(default=False, metadata=IGNORE_MISSING)
    fail_on_error: bool = field(default=True, metadata=FAIL_ON_ERROR)

    def build(self, _: ProcessorContext) -> EventProcessor:
        return field_decoder(self.source, _from_base64, self.ignore_missing, self.fail_on_error)


def _from_base64(value: Any) -> str | bytes:
    """Decode base64, with or without padding; line ends are ignored. Raises ValueError."""
    if not isinstance(value, str):
        raise ValueError("it is not a string")
    digits = value.rstrip("=").replace("\r", "").replace("\n", "")
    try:
        return text_where_possible(base64.b64decode(digits + "=" * (-len(digits) % 4), validate=True))
    except ValueError as error:  # among them binascii.Error, and the error for characters beyond ASCII
        raise ValueError(f"it is not base64 ({error})") from error
