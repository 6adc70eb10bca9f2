"""A model's options, read from its dataclasses.

A field's metadata, all optional:
    key       the YAML name where it differs, it may be dotted; a tuple of names where several mean the same, the first
              is the one we print; None for a field that no YAML sets
    doc       one sentence for the reference page
    unit      what a bare number counts
    min, max  bounds, both allowed
    check     value -> iterator of (path below the value, message)
    split     what separates items of a list that is written as one scalar
    missing   what to say more when a required option is absent

A model may have `check(self) -> Iterator[(field, message)]` for what concerns several fields, and two class variables,
dotted name -> why: `not_yet` (an error: the option is real, we do not have it) and `ignored` (a note: no harm is done).
"""

import dataclasses
import difflib
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Check = Callable[[Any], Iterable[tuple[str, str]]]


@dataclass(frozen=True, slots=True)
class Option:
    """One field that YAML can set."""

    name: str
    keys: tuple[str, ...]
    hint: Any
    required: bool
    default: Any
    about: Mapping[str, Any]

    @property
    def section(self) -> Any:
        """The dataclass of a nested section, None for any other option."""
        return next((hint for hint in (self.hint, *typing.get_args(self.hint)) if dataclasses.is_dataclass(hint)), None)

    @property
    def many(self) -> bool:
        return typing.get_origin(self.hint) is tuple

    @property
    def always(self) -> bool:
        """Whether the section is there also when nothing is written of it."""
        return dataclasses.is_dataclass(self.hint)


def options(model: Any) -> tuple[Option, ...]:
    """The options of a dataclass, in its order."""
    hints = typing.get_type_hints(model, include_extras=True)
    return tuple(
        _option(field, hints[field.name])
        for field in dataclasses.fields(model)
        if field.metadata.get("key", "") is not None
    )


def _option(field: "dataclasses.Field[Any]", hint: Any) -> Option:
    key = field.metadata.get("key", field.name)
    keys = (key,) if isinstance(key, str) else tuple(key)
    default = field.default
    if field.default_factory is not dataclasses.MISSING:
        default = field.default_factory()
    return Option(field.name, keys, hint, default is dataclasses.MISSING, default, field.metadata)


@dataclass(frozen=True, slots=True)
class Names:
    """Every name that can stand in a section, dotted, relative to it."""

    options: Mapping[str, Option]
    not_yet: Mapping[str, str]
    ignored: Mapping[str, str]

    @classmethod
    def of(cls, model: Any) -> "Names":
        by_key = {key: option for option in options(model) for key in option.keys}
        return cls(by_key, getattr(model, "not_yet", {}), getattr(model, "ignored", {}))

    def foreign(self, name: str) -> bool:
        """Whether it is a name of Filebeat's that we do not have."""
        return name in self.not_yet or name in self.ignored

    def beneath(self, name: str) -> bool:
        """Whether some name goes on below this one."""
        return any(known.startswith(name + ".") for known in self._all())

    def unknown(self, name: str) -> str:
        """The message for a name that is none of ours."""
        candidates = list(dict.fromkeys(_spellings(self.options)))
        close = difflib.get_close_matches(name, candidates, n=1, cutoff=0.6)
        if close:
            return f"unknown option; did you mean {close[0]!r}?"
        known = ", ".join(key for key, option in self.options.items() if key == option.keys[0])
        return f"unknown option; known here: {known}"

    def _all(self) -> Iterator[str]:
        yield from self.options
        yield from self.not_yet
        yield from self.ignored


def _spellings(names: Iterable[str]) -> Iterator[str]:
    """Each dotted name and its beginnings: `shipper.inputs` and `shipper`."""
    for name in names:
        parts = name.split(".")
        yield from (".".join(parts[:end]) for end in range(1, len(parts) + 1))
