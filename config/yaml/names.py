"""The names that may occur in a section of a model, and messages for unknown ones."""

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from log_shipper.config.yaml.schema import Kinds, Option, ends, leaves, options

MAX_LISTED = 15  # maximum number of option names in a message


@dataclass(frozen=True)  # without slots: values needed by few sections are cached on first use
class Names:
    """All names that may occur in a section, dotted and relative to it."""

    model: Any
    kinds: Kinds | None  # the other possible kinds of the section
    options: Mapping[str, Option]
    not_yet: Mapping[str, str]
    ignored: Mapping[str, str]
    strict: bool  # unknown names are errors in every dialect

    @classmethod
    @cache  # called for each section of each input
    def for_model(cls, model: Any, kinds: Kinds | None = None) -> "Names":
        by_key = {key: option for option in options(model) for key in option.keys}
        not_yet, ignored = getattr(model, "not_yet", {}), getattr(model, "ignored", {})
        strict = getattr(model, "strict", False)
        return cls(model, kinds, by_key, not_yet, ignored, strict)

    @cached_property
    def others(self) -> Mapping[str, str]:
        """Return the option names of other kinds of section, with their kinds. Imports the models of all kinds."""
        return _others(self.model, self.kinds) if self.kinds else {}

    @cached_property
    def _beginnings(self) -> frozenset[str]:
        """Return `shipper` of `shipper.inputs`, and so on."""
        names = (*self.options, *self.not_yet, *self.ignored)
        return frozenset(beginning for name in names for beginning in _beginnings(name))

    @cached_property
    def _beginnings_of_others(self) -> frozenset[str]:
        return frozenset(beginning for name in self.others for beginning in _beginnings(name))

    def is_foreign(self, name: str) -> bool:
        """Return True for a Filebeat name that the section lacks."""
        if name in self.not_yet or name in self.ignored:
            return True
        return name not in self._beginnings and name in self.others

    def is_beginning(self, name: str) -> bool:
        """Return True if the name is a prefix of another one."""
        return name in self._beginnings or name in self._beginnings_of_others

    def meant(self, name: str) -> str | None:
        """Return the known name closest to an unknown one."""
        candidates = list(dict.fromkeys(_spellings([*self.options, *self.ignored])))
        close = difflib.get_close_matches(name, candidates, n=1, cutoff=0.6)
        last = name.rpartition(".")[2]
        deeper = [leaf for leaf in (*self._leaves(), *self.ignored) if leaf.rpartition(".")[2] == last]
        return next(iter(deeper if len(deeper) == 1 else close), None)

    def unknown(self, name: str, around: Sequence[tuple["Names", str]] = ()) -> str:
        """Return the message for an unknown name. `around` holds the names and paths of enclosing sections, the
        outermost first.
        """
        if meant := self.meant(name):
            return f"unknown option; did you mean {meant!r}?"
        for names, path in reversed(around):
            if name in names.options:
                return f"unknown option; it belongs to {path or 'the top level'}: reduce its indentation"
        for names in (self, *(names for names, _ in reversed(around))):
            for option in names.options.values():
                if option.kinds and option.kinds.owners(name):
                    return f"unknown option; it belongs to an item of {option.name}"
        known = [key for key, option in self.options.items() if key == option.keys[0]]
        if len(known) > MAX_LISTED:
            return "unknown option; it may belong to another section"
        return f"unknown option; known here: {', '.join(known) or 'none'}"

    def _leaves(self) -> Iterator[str]:
        for key, option in self.options.items():
            yield from ends(option, key)


def _others(model: Any, kinds: Kinds) -> dict[str, str]:
    here: Mapping[str, str] = getattr(model, "here", {})
    names = [*here, *(leaf for other in kinds.models.values() if other is not model for leaf in leaves(other))]
    return {name: _belongs(kinds, name, here.get(name)) for name in names}


def _belongs(kinds: Kinds, name: str, here: str | None) -> str:
    where = f"belongs to {kinds.key}: {', '.join(kinds.owners(name))}"
    return f"{where}; here, it is named {here}" if here else where


def _spellings(names: Iterable[str]) -> Iterator[str]:
    """Yield each dotted name and its prefixes: `shipper.inputs` and `shipper`."""
    for name in names:
        yield from (*_beginnings(name), name)


def _beginnings(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:end]) for end in range(1, len(parts))]
