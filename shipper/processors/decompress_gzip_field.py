"""`decompress_gzip_field`: decompresses a gzip field."""

import zlib
from dataclasses import dataclass, field
from typing import Any, ClassVar

from log_shipper.config.text.units import Size
from log_shipper.shipper.options.processors import FAIL_ON_ERROR, IGNORE_MISSING, ProcessorConfig
from log_shipper.shipper.processor.base import EventProcessor, ProcessorContext
from log_shipper.shipper.processor.one_field import OneFieldConfig, field_decoder, text_where_possible

_GZIP = 16 + zlib.MAX_WBITS
# zlib copies the remaining input after each member: quadratic time for a large field with many members.
_CHUNK = 16 * 1024
_MAX_MEMBERS = 100_000  # each takes time, even an empty one
DEFLATE = 1032  # the maximum output bytes per input byte of deflate: two bits are a copy of up to 258 bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class DecompressGzipFieldConfig(ProcessorConfig):
    """Decompresses a field from gzip, for example after `decode_base64_field`."""

    name: ClassVar = "decompress_gzip_field"
    example: ClassVar = """
        decompress_gzip_field: {field: {from: body}} -> {body: !!binary H4sIAAAAAAAC/8vPBgBH3dx5AgAAAA==}
          -> {body: ok}
    """
    strict: ClassVar = True
    source: OneFieldConfig = field(
        metadata={"key": "field", "doc": "The field to decompress and its target.", "missing": "name field.from"}
    )
    max_bytes: Size = field(
        default=10 * 1024 * 1024,
        metadata={
            "doc": "The maximum decompressed size; a larger value is an error, and the event is shipped unchanged.",
            "unit": "bytes",
            "min": 1,
        },
    )
    ignore_missing: bool = field(default=False, metadata=IGNORE_MISSING)
    fail_on_error: bool = field(default=True, metadata=FAIL_ON_ERROR)

    @property
    def growth(self) -> tuple[int, int]:
        return DEFLATE, self.max_bytes

    def build(self, _: ProcessorContext) -> EventProcessor:
        def decompress(value: Any) -> str | bytes:
            return _from_gzip(value, self.max_bytes)

        return field_decoder(self.source, decompress, self.ignore_missing, self.fail_on_error)


def _from_gzip(value: Any, max_bytes: int) -> str | bytes:
    """Decompress all members, to at most `max_bytes` bytes. Raises ValueError."""
    if not isinstance(value, str | bytes):
        raise ValueError("it is not a string")
    packed = memoryview(value.encode("utf-8", "replace") if isinstance(value, str) else value)
    done, members, inflate = bytearray(), 1, zlib.decompressobj(_GZIP)
    for start in range(0, len(packed), _CHUNK):
        rest = bytes(packed[start : start + _CHUNK])
        while rest:
            if inflate.eof:
                members, inflate = members + 1, zlib.decompressobj(_GZIP)
            if members > _MAX_MEMBERS:
                raise ValueError(f"it has more than {_MAX_MEMBERS} members")
            try:
                done += inflate.decompress(rest, max_bytes + 1 - len(done))
            except zlib.error as error:
                raise ValueError(f"it is not gzip ({error})") from error
            if len(done) > max_bytes:
                raise ValueError(f"it decompresses to more than {max_bytes} bytes (max_bytes), and stays compressed")
            rest = inflate.unused_data
    if not inflate.eof:
        raise ValueError("it is truncated")
    return text_where_possible(done)
