"""`include_fields`: keeps only some fields."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from log_shipper.shipper.formats.json_fields import copied
from log_shipper.shipper.options.processors import (
    ProcessorConfig,
)
from log_shipper.shipper.processor.base import Processor, ProcessorContext
from log_shipper.shipper.processor.events import Event, Events
from log_shipper.shipper.processor.fields import MISSING, FieldError, Path, dotted, find, path_of, store
from log_shipper.shipper.processor.own_members import COLUMNS, STAYING, shared_first

_METADATA = "@metadata"


@dataclass(frozen=True, slots=True, kw_only=True)
class IncludeFieldsConfig(ProcessorConfig):
    """Keeps only these fields, and @timestamp, @metadata, type and the fields that identify duplicates."""

    name: ClassVar = "include_fields"
    example: ClassVar = "include_fields: {fields: [user]} -> {user: ann, password: x} -> {user: ann}"
    strict: ClassVar = True
    fields: tuple[str, ...] = field(metadata={"doc": "The fields to keep."})

    def may_set(self, root: str) -> bool:
        return False

    def build(self, _: ProcessorContext) -> Processor:
        return IncludeFields(self)


class IncludeFields:
    def __init__(self, config: IncludeFieldsConfig) -> None:
        self._whole = frozenset(config.fields) | STAYING | {_METADATA}
        self._columns = [name for name in COLUMNS if name not in self._whole]
        self._below: dict[str, list[Path]] = {}
        for path in map(path_of, config.fields):
            self._below.setdefault(path[0], []).append(path[1:])

    def run(self, events: Events, indices: Sequence[int]) -> None:
        shared_first(self, events, indices, self._apply, self._columns, IncludeFieldsConfig.name)

    def _apply(self, event: Event, names: Sequence[str]) -> None:
        for name in names:
            if name not in self._whole:
                kept = self._kept(name, event.get((name,)))
                event.delete((name,))
                if kept:
                    event.put((name,), kept)

    def _kept(self, name: str, value: Any) -> dict[str, Any]:
        """Return the included members of an object."""
        kept: dict[str, Any] = {}
        for path in self._below.get(name, ()):
            member = find(value, path)
            if member is not MISSING:
                try:
                    store(kept, path, copied(member))
                except FieldError:  # its key contains a dot, and the member before that dot is no object
                    kept[dotted(path)] = copied(member)
        return kept
