"""copy_fields, rename, move_fields."""

from collections.abc import Callable

from log_shipper.shipper.formats.json_fields import copied
from log_shipper.shipper.options.processors.moving import CopyFieldsConfig, FromToConfig, MoveFieldsConfig, RenameConfig
from log_shipper.shipper.processor.events import Event
from log_shipper.shipper.processor.field_by_field import FieldByField, Saved, Step, value_of
from log_shipper.shipper.processor.fields import MISSING, Path, ProcessorError, dotted, find, path_of, roots

_STAYING = frozenset({"@timestamp", "@metadata"})


def copy_fields(config: CopyFieldsConfig) -> FieldByField:
    return _from_to(config, lambda event, source, to, value: event.put(to, copied(value)))


def rename(config: RenameConfig) -> FieldByField:
    def move(event: Event, source: Path, to: Path, value: object) -> None:
        own = copied(value)
        event.delete(source)  # before the new one is written: a may become a.b
        try:
            event.put(to, own)
        except ProcessorError:
            event.put(source, own)
            raise

    return _from_to(config, move)


def _from_to(
    config: CopyFieldsConfig | RenameConfig, change: Callable[[Event, Path, Path, object], None]
) -> FieldByField:
    def one(pair: FromToConfig) -> Step:
        source, to = path_of(pair.source), path_of(pair.to)

        def step(event: Event) -> None:
            if event.get(to) is not MISSING:
                raise ProcessorError(f"there is a field {pair.to} already; drop or rename it first")
            value = value_of(event, source, ignore_missing=config.ignore_missing)
            if value is not MISSING:
                change(event, source, to, value)

        return step

    paths = [path_of(name) for pair in config.fields for name in (pair.source, pair.to)]
    return FieldByField([one(pair) for pair in config.fields], paths, fail_on_error=config.fail_on_error)


class MoveFields:
    """The new names are `to` followed by the names, without a dot between them. An error leaves the event as it was."""

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
        before = Saved.of(event, None)
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
                raise ProcessorError(f"there is no field {dotted(path)}")

    def _parent(self, event: Event) -> dict[str, object]:
        """Return the object whose members are moved, as it is before."""
        if not self._source:
            return {name: event.get((name,)) for name in event.names() if name not in _STAYING}
        parent = event.get(self._source)
        if not isinstance(parent, dict):
            name = dotted(self._source)
            raise ProcessorError(f"there is no field {name}" if parent is MISSING else f"field {name} is not an object")
        return parent
