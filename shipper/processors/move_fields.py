"""`move_fields`: moves members of an object to names with a prefix."""

from dataclasses import dataclass, field
from typing import ClassVar

from log_shipper.config.text.checks import not_blank
from log_shipper.shipper.formats.json_fields import copied
from log_shipper.shipper.options.processors import (
    IGNORE_MISSING,
    ProcessorConfig,
)
from log_shipper.shipper.processor.base import EventProcessor, ProcessorContext
from log_shipper.shipper.processor.events import Event
from log_shipper.shipper.processor.field_by_field import Saved
from log_shipper.shipper.processor.fields import MISSING, ProcessorError, dotted, find, path_of, roots


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveFieldsConfig(ProcessorConfig):
    """Moves the members of an object, adding the prefix `to` to their names."""

    name: ClassVar = "move_fields"
    example: ClassVar = "move_fields: {from: app, to: rpc.} -> {app: {method: get}} -> {app: {}, rpc: {method: get}}"
    strict: ClassVar = True
    source: str = field(
        default="", metadata={"key": "from", "doc": "The object whose members are moved; the event itself when absent."}
    )
    fields: tuple[str, ...] = field(default=(), metadata={"doc": "The members to move; all when absent."})
    exclude: tuple[str, ...] = field(default=(), metadata={"doc": "Members not to move."})
    to: str = field(metadata={"check": not_blank, "doc": "The prefix of the new names, such as `rpc.` or `app_`."})
    ignore_missing: bool = field(default=False, metadata=IGNORE_MISSING)

    def build(self, _: ProcessorContext) -> EventProcessor:
        return MoveFields(self)


_STAYING = frozenset({"@timestamp", "@metadata"})


class MoveFields:
    """Adds the prefix without a dot. An error leaves the event unchanged."""

    def __init__(self, config: MoveFieldsConfig) -> None:
        self._source = path_of(config.source) if config.source else ()
        self._names = config.fields
        self._excluded = frozenset(config.exclude)
        self._to = config.to
        self._ignore_missing = config.ignore_missing
        self.touches = self._touches()

    def _touches(self) -> frozenset[str] | None:
        if not self._source or not ("." in self._to or self._names):
            return None
        targets = [path_of(f"{self._to}{name}") for name in self._names or ("any",)]
        return roots(self._source, *targets)

    def apply(self, event: Event) -> None:
        before = Saved.from_event(event, None)
        try:
            self._move(event)
        except (ProcessorError, RecursionError):
            before.restore(event)
            raise

    def _move(self, event: Event) -> None:
        parent = self._parent(event)
        for name in self._names or list(parent):
            if name in self._excluded:
                continue
            path = (*self._source, *path_of(name))
            value = copied(find(parent, path_of(name)))
            if value is not MISSING:
                event.delete(path)
                event.put(path_of(f"{self._to}{name}"), value)
            elif not self._ignore_missing:
                raise ProcessorError(f"field {dotted(path)} is missing")

    def _parent(self, event: Event) -> dict[str, object]:
        """Return the object whose members are moved."""
        if not self._source:
            return {name: event.get((name,)) for name in event.names() if name not in _STAYING}
        parent = event.get(self._source)
        if not isinstance(parent, dict):
            name = dotted(self._source)
            raise ProcessorError(f"field {name} is missing" if parent is MISSING else f"field {name} is not an object")
        return parent
