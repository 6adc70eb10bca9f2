"""The conditions of `when` and `if`, which select events of a batch.

A field shared by all events of a file is tested once per batch.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from log_shipper.config.text.patterns import column_searcher, searcher
from log_shipper.shipper.options.conditions import ConditionConfig, flat, number_of
from log_shipper.shipper.processor.base import Condition
from log_shipper.shipper.processor.events import Events
from log_shipper.shipper.processor.fields import MISSING, Path, path_of, roots
from log_shipper.shipper.processor.networks import within

MESSAGE = ("message",)
Texts = list[str]


@dataclass(frozen=True, slots=True)
class Field:
    """`test` is true for a value (or MISSING) that meets the condition; `column` returns the indices of matching texts,
    none of which is empty."""

    path: Path
    test: Callable[[Any], bool]
    column: Callable[[Texts, Sequence[int]], Sequence[int]]

    def select(self, events: Events, indices: Sequence[int]) -> Sequence[int]:
        if not indices:
            return indices
        test, path, get = self.test, self.path, events.get
        if path == MESSAGE:
            return self._messages(events, indices)
        if not events.shadows(roots(path)):
            return indices if test(get(indices[0], path)) else ()
        return [index for index in indices if test(get(index, path))]

    def _messages(self, events: Events, indices: Sequence[int]) -> Sequence[int]:
        texts = events.texts
        if events.messages.docs is None:
            return self.column(texts, indices)
        filled = [index for index in indices if texts[index]]
        matching = self.column(texts, filled)
        if len(filled) == len(indices):
            return matching
        others = [index for index in indices if not texts[index] and self.test(events.get(index, MESSAGE))]
        return sorted((*matching, *others))


@dataclass(frozen=True, slots=True)
class AllOf:
    conditions: Sequence[Condition]

    def select(self, events: Events, indices: Sequence[int]) -> Sequence[int]:
        for condition in self.conditions:
            indices = condition.select(events, indices)
        return indices


@dataclass(frozen=True, slots=True)
class AnyOf:
    conditions: Sequence[Condition]

    def select(self, events: Events, indices: Sequence[int]) -> Sequence[int]:
        met: set[int] = set()
        for condition in self.conditions:
            met.update(condition.select(events, [index for index in indices if index not in met]))
        return [index for index in indices if index in met]


@dataclass(frozen=True, slots=True)
class NoneOf:
    condition: Condition

    def select(self, events: Events, indices: Sequence[int]) -> Sequence[int]:
        met = set(self.condition.select(events, indices))
        return [index for index in indices if index not in met]


def build(config: ConditionConfig) -> Condition:
    if config.all_of:
        return AllOf([build(nested) for nested in config.all_of])
    if config.any_of:
        return AnyOf([build(nested) for nested in config.any_of])
    if config.none_of:
        return NoneOf(build(config.none_of))
    if config.has_fields:
        return AllOf([_field(path_of(name), lambda value: value is not MISSING) for name in config.has_fields])
    if config.range:
        return AllOf([_within_bound(name, value) for name, value in flat(config.range)])
    make, given = next((make, given) for name, make in _MAKERS.items() if (given := getattr(config, name)))
    return AllOf([make(path_of(name), value) for name, value in flat(given)])


def meets(condition: Condition, value_of: Callable[[Path], Any]) -> bool:
    """Return True if a thing other than an event meets the condition; `value_of` returns None for a missing field."""
    match condition:
        case AllOf(conditions):
            return all(meets(nested, value_of) for nested in conditions)
        case AnyOf(conditions):
            return any(meets(nested, value_of) for nested in conditions)
        case NoneOf(nested):
            return not meets(nested, value_of)
        case Field(path, test):
            value = value_of(path)
            return test(MISSING if value is None else value)
    raise TypeError(f"{condition} is not made by build()")


def _field(path: Path, test: Callable[[Any], bool]) -> Field:
    return Field(path, test, lambda texts, indices: [index for index in indices if test(texts[index])])


def _equals(path: Path, expected: Any) -> Field:
    """Return a test for equality: 1 equals the text "1", but not true or 1.0."""
    if isinstance(expected, bool):
        return Field(path, lambda value: value is expected, lambda texts, indices: ())
    text = str(expected)
    return Field(
        path,
        lambda value: _text_of(value) == text,
        lambda texts, indices: [index for index in indices if texts[index] == text],
    )


def _contains(path: Path, part: str) -> Field:
    return Field(
        path,
        _of_texts(lambda text: part in text),
        lambda texts, indices: [index for index in indices if part in texts[index]],
    )


def _regexp(path: Path, pattern: str) -> Field:
    search_all = column_searcher([pattern])

    def column(texts: Texts, indices: Sequence[int]) -> Sequence[int]:
        return [
            index
            for index, matches in zip(indices, search_all([texts[index] for index in indices]), strict=True)
            if matches
        ]

    return Field(path, _of_texts(searcher([pattern])), column)


def _network(path: Path, networks: str | list[str]) -> Field:
    return _field(path, _of_texts(within([networks] if isinstance(networks, str) else networks)))


def _text_of(value: Any) -> str | None:
    """Return a text, or a number as text; None for anything else. A JSON number becomes a text after dissect."""
    return str(value) if type(value) in (str, int, float) else None


def _of_texts(test: Callable[[str], object]) -> Callable[[Any], bool]:
    """Return a test for a text or number that passes, or a list with one."""

    def of_any(value: Any) -> bool:
        values = value if isinstance(value, list) else (value,)
        return any((text := _text_of(item)) is not None and test(text) for item in values)

    return of_any


_BOUNDS: dict[str, Callable[[float, float], bool]] = {
    "lt": lambda value, limit: value < limit,
    "lte": lambda value, limit: value <= limit,
    "gt": lambda value, limit: value > limit,
    "gte": lambda value, limit: value >= limit,
}


def _within_bound(name: str, value: Any) -> Field:
    """Return a test for numbers within a bound; `name` is the field and the bound."""
    *path, kind = path_of(name)
    limit, compare = number_of(value), _BOUNDS[kind]
    assert limit is not None, "checked with the configuration"
    return _field(tuple(path), lambda value: (number := number_of(value)) is not None and compare(number, limit))


_MAKERS: dict[str, Callable[[Path, Any], Field]] = {
    "equals": _equals,
    "contains": _contains,
    "regexp": _regexp,
    "network": _network,
}
