"""A hash of fields for each event, by which its partition is chosen: FNV-1a of 32 bits, as in Filebeat."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from log_shipper.shipper.event import Batch
from log_shipper.shipper.processor.events import Events
from log_shipper.shipper.processor.fields import path_of, roots
from log_shipper.shipper.processor.formatting import is_shared
from log_shipper.shipper.text import without_surrogates

_BASIS, _PRIME = 2166136261, 16777619


@lru_cache(maxsize=10_000)
def fnv1a(data: bytes) -> int:
    """Return the hash as Filebeat uses it: without its sign bit."""
    value = _BASIS
    for byte in data:
        value = (value ^ byte) * _PRIME & 0xFFFFFFFF
    return value & 0x7FFFFFFF


class FieldHashes:
    """What all events of a batch share is evaluated once for the batch."""

    def __init__(self, fields: Sequence[str]) -> None:
        self._paths = [path_of(field) for field in fields]
        self._roots = roots(*self._paths)

    def __call__(self, batch: Batch) -> list[int | None]:
        """Return the hash of each event, None where it lacks a field, or has an object or a list there."""
        events = Events(batch)
        if batch.events and is_shared(events, self._roots):
            return [self._hash(events, 0)] * batch.events
        return [self._hash(events, index) for index in range(batch.events)]

    def refused(self, batch: Batch) -> Mapping[int, str]:
        """Return the reasons of the events without a hash, by index."""
        reason = "a field of output.kafka.partition.hash.hash is missing, or is not a text, a number or a truth value"
        return {index: reason for index, value in enumerate(self(batch)) if value is None}

    def _hash(self, events: Events, index: int) -> int | None:
        pieces = [_bytes(events.get(index, path)) for path in self._paths]
        return None if None in pieces else fnv1a(b"".join(piece for piece in pieces if piece is not None))


def _bytes(value: Any) -> bytes | None:
    match value:
        case str():
            return without_surrogates(value).encode()
        case bool():
            return bytes([value])
        case int():
            return (value & 0xFFFFFFFFFFFFFFFF).to_bytes(8, "little")
        case float():
            return f"{value:g}".encode()
    return None
