"""drop_event, drop_fields, include_fields."""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from log_shipper.config.text.patterns import searcher
from log_shipper.shipper.formats.json_fields import copied
from log_shipper.shipper.options.processors.moving import DropFieldsConfig, IncludeFieldsConfig, pattern_of
from log_shipper.shipper.processor.events import Event, Events, all_of
from log_shipper.shipper.processor.fields import MISSING, Path, dotted, find, path_of, roots, store

_STAYING = frozenset({"@timestamp", "type"})
_METADATA = "@metadata"
# The members of an event that are stored in columns, with the names of the fields that may be dropped.
_COLUMNS = {"message": ("message",), "log": ("log", "log.flags")}
_CACHED = 4096  # names of fields; events repeat them


class DropEvent:
    def run(self, events: Events, indices: Sequence[int]) -> None:
        events.dropped.update(indices)


def drop_fields(config: DropFieldsConfig) -> "DropFields | DropMatchingFields":
    patterns = [pattern for name in config.fields if (pattern := pattern_of(name))]
    names = [name for name in config.fields if not pattern_of(name)]
    return DropMatchingFields(patterns, names) if patterns else DropFields([path_of(name) for name in names])


class DropFields:
    """A field that is missing is not an error."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = [path for path in paths if path[0] not in _STAYING]
        self.touches = roots(*self._paths)

    def apply(self, event: Event) -> None:
        for path in self._paths:
            event.delete(path)


class DropMatchingFields:
    """The names of objects are matched too, before those of their members; patterns do not apply to @metadata."""

    def __init__(self, patterns: Sequence[str], names: Sequence[str]) -> None:
        search, plain = searcher(patterns), frozenset(names)

        def matches(name: str) -> bool:
            return name in plain or (not name.startswith(_METADATA) and search(name))

        self._matches = lru_cache(maxsize=_CACHED)(matches)
        self._columns = [name for name in _COLUMNS if any(map(self._matches, _COLUMNS[name]))]

    def run(self, events: Events, indices: Sequence[int]) -> None:
        shared_first(self, events, indices, self._apply, self._columns, DropFieldsConfig.name)

    def _apply(self, event: Event, names: Sequence[str]) -> None:
        for name in names:
            if name not in _STAYING:
                paths = list(_paths(event.get((name,)), (name,)))  # before the first of them is deleted
                for path in filter(self._is_matched, paths):
                    event.delete(path)

    def _is_matched(self, path: Path) -> bool:
        return self._matches(dotted(path))


def _paths(value: Any, path: Path) -> Iterator[Path]:
    if value is MISSING:
        return
    yield path
    if isinstance(value, dict):
        for name, member in value.items():
            yield from _paths(member, (*path, name))


class IncludeFields:
    def __init__(self, config: IncludeFieldsConfig) -> None:
        self._whole = frozenset(config.fields) | _STAYING | {_METADATA}
        self._columns = [name for name in _COLUMNS if name not in self._whole]
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
        """Return the members of an object that are included."""
        kept: dict[str, Any] = {}
        for path in self._below.get(name, ()):
            member = find(value, path)
            if member is not MISSING:
                store(kept, path, copied(member))
        return kept


def shared_first(
    owner: object,
    events: Events,
    indices: Sequence[int],
    change: Callable[[Event, Sequence[str]], None],
    columns: Sequence[str],
    kind: str,
) -> None:
    """Call `change` with the names of members: once for the constants, if it applies to all events, and then for the
    own members of each event. Events without documents have only columns, of which `columns` are to be changed."""
    together = all_of(events, indices)
    if together:
        events.share(owner, lambda shared: change(Event(shared), shared.names(0)))
    event, messages = Event(events), events.messages
    bare = together and messages.docs is None
    names: Sequence[str] = [name for name in columns if name != "log" or messages.flags]
    for event.index in indices if names or not bare else ():
        if not bare:
            names = events.own_names(event.index) if together else event.names()
        try:
            change(event, names)
        except RecursionError:  # a hostile line may nest a thousand objects
            event.fail(kind, "a value is nested too deep")
