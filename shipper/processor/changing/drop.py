"""drop_event, drop_fields, include_fields."""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from config.shipper.processors.moving import DropFieldsConfig, IncludeFieldsConfig, pattern_of
from config.text.patterns import searcher
from shipper.json_fields import copied
from shipper.processor.events import Event, Events, all_of
from shipper.processor.fields import MISSING, Path, dotted, find, path_of, roots, store

_STAYING = frozenset({"@timestamp", "type"})
_METADATA = "@metadata"
# What an event has without a document and beside its file, by the names of the fields.
_COLUMNS = {"message": ("message",), "log": ("log", "log.flags")}
_REMEMBERED = 4096  # names of fields; events repeat them


class DropEvent:
    def run(self, events: Events, indices: Sequence[int]) -> None:
        events.dropped.update(indices)


def drop_fields(config: DropFieldsConfig) -> "DropFields | DropMatchingFields":
    patterns = [pattern for name in config.fields if (pattern := pattern_of(name))]
    names = [name for name in config.fields if not pattern_of(name)]
    return DropMatchingFields(patterns, names) if patterns else DropFields([path_of(name) for name in names])


class DropFields:
    """What is not there need not be dropped, and is not an error."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = [path for path in paths if path[0] not in _STAYING]
        self.touches = roots(*self._paths)

    def apply(self, event: Event) -> None:
        for path in self._paths:
            event.delete(path)


class DropMatchingFields:
    """Objects are looked at by their own names too, before what is in them; patterns are not for @metadata."""

    def __init__(self, patterns: Sequence[str], names: Sequence[str]) -> None:
        search, plain = searcher(patterns), frozenset(names)

        def matches(name: str) -> bool:
            return name in plain or (not name.startswith(_METADATA) and search(name))

        self._matches = lru_cache(maxsize=_REMEMBERED)(matches)
        self._columns = [name for name in _COLUMNS if any(map(self._matches, _COLUMNS[name]))]

    def run(self, events: Events, indices: Sequence[int]) -> None:
        shared_first(self, events, indices, self._apply, self._columns, DropFieldsConfig.name)

    def _apply(self, event: Event, names: Sequence[str]) -> None:
        for name in names:
            if name not in _STAYING:
                for path in [each for each in _paths(event.get((name,)), (name,)) if self._matches(dotted(each))]:
                    event.delete(path)


def _paths(value: Any, path: Path) -> Iterator[Path]:
    if value is MISSING:
        return
    yield path
    if isinstance(value, dict):
        for name, each in value.items():
            yield from _paths(each, (*path, name))


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
        """What of an object is included."""
        kept: dict[str, Any] = {}
        for path in self._below.get(name, ()):
            found = find(value, path)
            if found is not MISSING:
                store(kept, path, copied(found))
        return kept


def shared_first(
    owner: object,
    events: Events,
    indices: Sequence[int],
    change: Callable[[Event, Sequence[str]], None],
    columns: Sequence[str],
    kind: str,
) -> None:
    """Let `change` work on the members of these names: once on what the events share, where it is for all of them, and
    then on what each has of its own. Events without documents have the columns, of which only these concern it."""
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
