"""Merges decoded fields with an event, where `@timestamp`, `@metadata` and `type` have a special meaning."""

from typing import Any

from log_shipper.shipper.event import Doc
from log_shipper.shipper.formats.json_fields import validate_root
from log_shipper.shipper.processor.events import Event
from log_shipper.shipper.processor.fields import MISSING, Path, ProcessorError


def merge_at_root(event: Event, fields: Doc, *, overwrite: bool) -> list[str]:
    """Write the fields, which the event then owns. Return the problems."""
    wrong = validate_root(fields, overwrite=overwrite)
    for name, value in fields.items():
        try:
            _merge(event, (name,), value, overwrite)
        except ProcessorError as error:
            wrong.append(str(error))
    return wrong


def _merge(event: Event, path: Path, value: Any, overwrite: bool) -> None:
    """Write a value; objects are merged, and any other existing value is replaced or kept."""
    existing = event.get(path)
    if isinstance(existing, dict) and isinstance(value, dict):
        for name, member in value.items():
            _merge(event, (*path, name), member, overwrite)
    elif existing is MISSING or overwrite:
        event.put(path, value)
