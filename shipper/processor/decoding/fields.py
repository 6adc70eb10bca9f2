"""Processors that decode single fields: decode_base64_field, decompress_gzip_field, decode_duration."""

import base64
import re
import zlib
from collections.abc import Callable
from typing import Any

from log_shipper.shipper.options.processors.decoding import (
    DecodeBase64FieldConfig,
    DecodeDurationConfig,
    DecompressGzipFieldConfig,
    OneFieldConfig,
)
from log_shipper.shipper.processor.events import Event
from log_shipper.shipper.processor.field_by_field import FieldByField, value_of
from log_shipper.shipper.processor.fields import MISSING, Path, ProcessorError, path_of, roots

_GZIP = 16 + zlib.MAX_WBITS
# After each member zlib copies the remaining input, which takes quadratic time in a large field with many members.
_CHUNK = 16 * 1024
_MOST_MEMBERS = 100_000  # each takes time, even an empty one
_DURATION = re.compile(r"[+-]?(?:0|(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+)")
_PART = re.compile(r"([0-9]*)\.?([0-9]*)(ns|us|µs|μs|ms|s|m|h)")
_NANOSECONDS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_LONGEST_DURATION = 100  # characters
_UNITS = {"milliseconds": 10**6, "seconds": 10**9, "minutes": 60 * 10**9, "hours": 3600 * 10**9}


def base64_field(config: DecodeBase64FieldConfig) -> FieldByField:
    return _one(config.source, _from_base64, config.ignore_missing, config.fail_on_error)


def gzip_field(config: DecompressGzipFieldConfig) -> FieldByField:
    def decompress(value: Any) -> str | bytes:
        return _from_gzip(value, config.max_bytes)

    return _one(config.source, decompress, config.ignore_missing, config.fail_on_error)


def _one(
    config: OneFieldConfig, decode: Callable[[Any], Any], ignore_missing: bool, fail_on_error: bool
) -> FieldByField:
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


def _from_base64(value: Any) -> str | bytes:
    """Decode base64 with or without padding, ignoring line ends. Raises ValueError."""
    if not isinstance(value, str):
        raise ValueError("it is not a text")
    digits = value.rstrip("=").replace("\r", "").replace("\n", "")
    try:
        return _text_where_possible(base64.b64decode(digits + "=" * (-len(digits) % 4), validate=True))
    except ValueError as error:  # among them binascii.Error, and the error for characters beyond ASCII
        raise ValueError(f"it is not base64 ({error})") from error


def _from_gzip(value: Any, most: int) -> str | bytes:
    """Decompress all members, up to `most` bytes. Raises ValueError."""
    if not isinstance(value, str | bytes):
        raise ValueError("it is not a text")
    packed = memoryview(value.encode("utf-8", "replace") if isinstance(value, str) else value)
    done, members, inflate = bytearray(), 1, zlib.decompressobj(_GZIP)
    for start in range(0, len(packed), _CHUNK):
        rest = bytes(packed[start : start + _CHUNK])
        while rest:
            if inflate.eof:
                members, inflate = members + 1, zlib.decompressobj(_GZIP)
            if members > _MOST_MEMBERS:
                raise ValueError(f"it has more than {_MOST_MEMBERS} members")
            try:
                done += inflate.decompress(rest, most + 1 - len(done))
            except zlib.error as error:
                raise ValueError(f"it is not gzip ({error})") from error
            if len(done) > most:
                raise ValueError(f"it decompresses to more than {most} bytes; see max_bytes")
            rest = inflate.unused_data
    if not inflate.eof:
        raise ValueError("its end is missing")
    return _text_where_possible(done)


def _text_where_possible(data: bytes | bytearray) -> str | bytes:
    """Return the data as text; bytes that are not UTF-8 stay bytes for the next processor, and U+FFFD in a record."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return bytes(data)


class DecodeDuration:
    """A missing field, or a value that is not a duration, is not changed, without an error, as in Filebeat."""

    def __init__(self, config: DecodeDurationConfig) -> None:
        self._path: Path = path_of(config.source)
        self._unit = _UNITS[config.format]
        self.touches: frozenset[str] | None = roots(self._path)

    def apply(self, event: Event) -> None:
        text = event.get(self._path)
        nanoseconds = duration(text) if isinstance(text, str) else None
        if nanoseconds is not None:
            event.put(self._path, nanoseconds / self._unit)


def duration(text: str) -> int | None:
    """Return nanoseconds of Go's notation (1h2m3.5s); None if it is not a duration, or does not fit in 64 bits."""
    if len(text) > _LONGEST_DURATION or not _DURATION.fullmatch(text):
        return None
    total = 0
    for whole, fraction, unit in _PART.findall(text):
        total += int(whole or 0) * _NANOSECONDS[unit] + int(fraction or 0) * _NANOSECONDS[unit] // 10 ** len(fraction)
    signed = -total if text[0] == "-" else total
    return signed if -(2**63) <= signed < 2**63 else None
