"""`fingerprint`: adds a hash of fields, the same as Filebeat's."""

import base64
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import xxhash

from log_shipper.config.text.checks import not_blank, without_blanks
from log_shipper.shipper.options.processors import ProcessorConfig
from log_shipper.shipper.processor.base import EventProcessor, ProcessorContext
from log_shipper.shipper.processor.conversions import real_text
from log_shipper.shipper.processor.events import Event
from log_shipper.shipper.processor.fields import MISSING, Path, ProcessorError, path_of, roots


@dataclass(frozen=True, slots=True, kw_only=True)
class FingerprintConfig(ProcessorConfig):
    """Adds a hash of fields."""

    name: ClassVar = "fingerprint"
    example: ClassVar = """
        fingerprint: {fields: [user], method: md5} -> {user: ann}
          -> {user: ann, fingerprint: bf7421ad436922e4cf415d1ce5bf3af7}
    """
    fields: tuple[str, ...] = field(metadata={"check": without_blanks, "doc": "The fields to hash, in any order."})
    target_field: str = field(
        default="fingerprint", metadata={"check": not_blank, "doc": "The field that the hash is written to."}
    )
    method: Literal["sha256", "sha1", "md5", "sha384", "sha512", "xxhash"] = field(
        default="sha256", metadata={"doc": "The hash function."}
    )
    encoding: Literal["hex", "base32", "base64"] = field(default="hex", metadata={"doc": "The encoding of the hash."})
    ignore_missing: bool = field(
        default=False, metadata={"doc": "Whether a missing field is skipped instead of being an error."}
    )

    def build(self, _: ProcessorContext) -> EventProcessor:
        return Fingerprint(self)


_HASHES: dict[str, Callable[[bytes], Any]] = {
    "sha256": hashlib.sha256,
    "sha384": hashlib.sha384,
    "sha512": hashlib.sha512,
    # Not used for security, only to recognise equal events.
    "sha1": lambda data: hashlib.sha1(data, usedforsecurity=False),
    "md5": lambda data: hashlib.md5(data, usedforsecurity=False),
    "xxhash": xxhash.xxh64,
}
_ENCODINGS: dict[str, Callable[[bytes], str]] = {
    "hex": bytes.hex,
    "base32": lambda data: base64.b32encode(data).decode(),
    "base64": lambda data: base64.b64encode(data).decode(),
}
_TIME: Path = ("@timestamp",)


class Fingerprint:
    def __init__(self, config: FingerprintConfig) -> None:
        self._fields = [(name, path_of(name)) for name in sorted(set(config.fields), key=str.encode)]
        self._target = path_of(config.target_field)
        self._hash = _HASHES[config.method]
        self._encode = _ENCODINGS[config.encoding]
        self._ignore_missing = config.ignore_missing
        self.touches: frozenset[str] | None = roots(self._target, *(path for _, path in self._fields))

    def apply(self, event: Event) -> None:
        pieces = []
        for name, path in self._fields:
            value = event.get(path)
            if value is not MISSING:
                pieces.append(b"|%b|%b" % (name.encode("utf-8", "replace"), _written(name, path, value)))
            elif not self._ignore_missing:
                raise ProcessorError(f"field {name} is missing")
        event.put(self._target, self._encode(self._hash(b"".join([*pieces, b"|"])).digest()))


def _written(name: str, path: Path, value: Any) -> bytes:
    """Return the value as Go's %v writes it. Raises ProcessorError."""
    if isinstance(value, bytes):
        return value
    if path == _TIME:
        # Go: no zeros at the end of the fraction, and no point without one.
        day, _, rest = str(value).removesuffix("Z").partition("T")
        return f"{day} {rest.rstrip('0').rstrip('.') if '.' in rest else rest} +0000 UTC".encode()
    if isinstance(value, dict | list | tuple):
        raise ProcessorError(f"field {name} is not a single value")
    if isinstance(value, bool):
        return b"true" if value else b"false"
    if isinstance(value, float):
        return real_text(value).encode()
    return b"<nil>" if value is None else str(value).encode("utf-8", "replace")
