"""`drop_fields`: drops fields."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar

from log_shipper.config.text.checks import Finding, without_blanks
from log_shipper.config.text.patterns import parse_pattern, searcher
from log_shipper.shipper.options.processors import (
    ProcessorConfig,
    protected,
)
from log_shipper.shipper.processor.base import EventProcessor, Processor, ProcessorContext
from log_shipper.shipper.processor.events import Event, Events
from log_shipper.shipper.processor.fields import MISSING, Path, dotted, path_of, roots
from log_shipper.shipper.processor.own_members import COLUMNS, STAYING, shared_first


@dataclass(frozen=True, slots=True, kw_only=True)
class DropFieldsConfig(ProcessorConfig):
    """Drops fields, except @timestamp, type and the fields that identify duplicates."""

    name: ClassVar = "drop_fields"
    example: ClassVar = (
        "drop_fields: {fields: [password, /^tmp_/]} -> {user: ann, password: x, tmp_a: 1} -> {user: ann}"
    )
    strict: ClassVar = True
    fields: tuple[str, ...] = field(
        metadata={"doc": "The fields to drop; /…/ is a regular expression for field names."}
    )
    ignore_missing: bool = field(
        default=False, metadata={"doc": "Accepted and ignored: a missing field is never an error."}
    )

    def check(self) -> Iterator[Finding]:
        yield from ((f"fields{where}", fault) for where, fault in without_blanks(self.fields) if where)
        for index, name in enumerate(self.fields):
            if pattern := pattern_of(name):
                try:
                    parse_pattern(pattern)
                except ValueError as error:
                    yield f"fields[{index}]", str(error)

    def remarks(self) -> Iterator[Finding]:
        yield from protected(self.fields)

    def may_set(self, root: str) -> bool:
        return False

    def build(self, _: ProcessorContext) -> EventProcessor | Processor:
        patterns = [pattern for name in self.fields if (pattern := pattern_of(name))]
        names = [name for name in self.fields if not pattern_of(name)]
        return DropMatchingFields(patterns, names) if patterns else DropFields([path_of(name) for name in names])


def pattern_of(name: str) -> str:
    """Return the regular expression for field names; "" for a plain name."""
    return name[1:-1] if len(name) > 2 and name.startswith("/") and name.endswith("/") else ""


class DropFields:
    """Drops fields by name; a missing field is not an error."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = [path for path in paths if path[0] not in STAYING]
        self.touches = roots(*self._paths)

    def apply(self, event: Event) -> None:
        for path in self._paths:
            event.delete(path)


_CACHED = 4096  # names of fields; events repeat them


class DropMatchingFields:
    """Drops fields whose names match. Names of objects are matched before those of their members; patterns do not apply
    to @metadata."""

    def __init__(self, patterns: Sequence[str], names: Sequence[str]) -> None:
        search, plain = searcher(patterns), frozenset(names)

        def matches(name: str) -> bool:
            return name in plain or (not name.startswith("@metadata") and search(name))

        self._matches = lru_cache(maxsize=_CACHED)(matches)
        self._columns = [name for name in COLUMNS if any(map(self._matches, COLUMNS[name]))]

    def run(self, events: Events, indices: Sequence[int]) -> None:
        shared_first(self, events, indices, self._apply, self._columns, DropFieldsConfig.name)

    def _apply(self, event: Event, names: Sequence[str]) -> None:
        for name in names:
            if name not in STAYING:
                paths = list(_paths(event.get((name,)), (name,)))  # before any of them is deleted
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
