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
    read_as   the model that YAML is matched against, where it is not the hint's; or Kinds or Named, which choose one
    null      "absent" where a section without a value (`json:`) is none at all, and not one of defaults
    unused    why the value, which is checked as any other, changes nothing: a note to whoever writes it
    recursive the section, or list of them, may hold sections of the same model: whoever lists options stops there

A model may have `check(self) -> Iterator[(field, message)]` for what concerns several fields, `remarks(self)`, alike,
for what is no mistake and should be known, `becomes(self)` for what the program gets in its place, and class variables
by dotted name: `not_yet` -> why (an error: the option is real, we do not have it), `ignored` -> why (a note: no harm is
done), and `here`, by the name of another kind's option -> what this kind calls it.

The model of a whole file may have `prepared(reading: load.Reading) -> load.Reading`, that its tree passes through
before it is read, and `folders(file) -> {name: text}`, variables that are there without being written.
"""

import dataclasses
import difflib
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

Check = Callable[[Any], Iterable[tuple[str, str]]]


@dataclass(frozen=True, slots=True, eq=False)  # each is one of a kind, and a key of `Names.of`
class Kinds:
    """Models of a section that says by one of its keys which it is; the first is meant where it does not. `not_yet`
    are kinds that are real and not ours -> what there is instead."""

    key: str
    models: Mapping[str, Any]
    not_yet: Mapping[str, str] = field(default_factory=dict)

    @property
    def default(self) -> str:
        return next(iter(self.models))

    def unknown(self, kind: str) -> str:
        """The message for a kind that is none of these."""
        there = f"known: {', '.join(self.models)}"
        if kind in self.not_yet:
            return f"{kind!r} is not supported; {self.not_yet[kind] or there}"
        close = difflib.get_close_matches(kind, [*self.models, *self.not_yet], n=1, cutoff=0.6)
        return f"{kind!r} is unknown; did you mean {close[0]!r}?" if close else f"{kind!r} is unknown; {there}"

    def owners(self, name: str) -> list[str]:
        """The kinds that have an option of this name, or below it."""
        return [kind for kind, model in self.models.items() if any(_covers(name, leaf) for leaf in leaves(model))]


@dataclass(frozen=True, slots=True)
class Named:
    """Models of the items of a list in which each is a section under its own name: `- add_fields: {...}`.

    `whole` are models of an item that is a section itself, by a key that tells it (`if`); `not_yet` are names that
    are real and not ours -> why; `ignored` are those that are left out with a note -> why.
    """

    what: str
    models: Mapping[str, Any]
    whole: Mapping[str, Any] = field(default_factory=dict)
    not_yet: Mapping[str, str] = field(default_factory=dict)
    ignored: Mapping[str, str] = field(default_factory=dict)

    def misshapen(self, keys: Sequence[str] | None = None) -> str:
        """The message for an item with these keys (None: with none at all), and not one name."""
        example = f"each item is one {self.what}, as in '- {next(iter(self.models), 'name')}: {{...}}'"
        if keys is None:
            return example
        ours = [key for key in keys if key in self.models]
        others = [key for key in keys if key not in self.models]
        indent = f"; indent {', '.join(others)} further to make it part of {ours[0]}" if len(ours) == 1 else ""
        return f"{example}; here are {len(keys)}: {', '.join(keys) or 'none'}{indent}"

    def without_colon(self, text: str) -> str:
        """The message for an item that is a text."""
        if text in self.models:
            return f"{text!r} lacks a colon: write '- {text}:', with its options below it, indented further"
        return f"{text!r} is not a {self.what}; {self.misshapen()}"

    def unknown(self, name: str) -> str:
        """The message for a name that is none of these."""
        if name in self.not_yet:
            return f"not supported; {self.not_yet[name]}" if self.not_yet[name] else "not supported"
        close = difflib.get_close_matches(name, [*self.models, *self.not_yet, *self.ignored], n=1, cutoff=0.6)
        hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(self.models)}"
        return f"unknown {self.what}; {hint}"


@dataclass(frozen=True)  # without slots: what follows from the hint is worked out once, not for each section read
class Option:
    """One field that YAML can set."""

    name: str
    keys: tuple[str, ...]
    hint: Any
    make_default: Callable[[], Any] | None
    about: Mapping[str, Any]

    @cached_property
    def required(self) -> bool:
        return self.make_default is None

    @property
    def default(self) -> Any:
        """Made each time: nobody shares a dict with somebody else."""
        return dataclasses.MISSING if self.make_default is None else self.make_default()

    @cached_property
    def kinds(self) -> Kinds | None:
        """What a section may be, where that is for the section to say."""
        read_as = self.about.get("read_as")
        return read_as if isinstance(read_as, Kinds) else None

    @cached_property
    def named(self) -> Named | None:
        """What each item of a list may be, where each stands under its name."""
        read_as = self.about.get("read_as")
        return read_as if isinstance(read_as, Named) else None

    @cached_property
    def section(self) -> Any:
        """The dataclass that a nested section is matched against (of `kinds`, the first); None for any other option."""
        if self.kinds:
            return self.kinds.models[self.kinds.default]
        if self.named:
            return None
        hinted = (hint for hint in (self.hint, *typing.get_args(self.hint)) if dataclasses.is_dataclass(hint))
        return self.about.get("read_as") or next(hinted, None)

    @cached_property
    def many(self) -> bool:
        return typing.get_origin(self.hint) is tuple

    @cached_property
    def always(self) -> bool:
        """Whether the section is there also when nothing is written of it."""
        return dataclasses.is_dataclass(self.hint)


@cache  # each input asks for those of all its sections
def options(model: Any) -> tuple[Option, ...]:
    """The options of a dataclass, in its order."""
    hints = typing.get_type_hints(model, include_extras=True)
    return tuple(
        _option(each, hints[each.name])
        for each in dataclasses.fields(model)
        if each.metadata.get("key", "") is not None
    )


def beginning(model: Any) -> str:
    """How a section begins, with an option that it must have if there is one."""
    given = sorted(options(model), key=lambda option: not option.required)
    return f"{given[0].keys[0]}: ..." if given else "{}"


def _option(of: "dataclasses.Field[Any]", hint: Any) -> Option:
    key = of.metadata.get("key", of.name)
    keys = (key,) if isinstance(key, str) else tuple(key)
    return Option(of.name, keys, hint, _maker(of), of.metadata)


def _maker(of: "dataclasses.Field[Any]") -> Callable[[], Any] | None:
    if of.default_factory is not dataclasses.MISSING:
        return of.default_factory
    default = of.default
    return None if default is dataclasses.MISSING else lambda: default


@cache  # each input asks for those of every other kind
def leaves(model: Any) -> tuple[str, ...]:
    """The dotted names of a model's options, those of its sections instead of the sections themselves."""
    return tuple(name for option in options(model) for key in option.keys for name in ends(option, key))


def ends(option: Option, key: str) -> Iterator[str]:
    """The dotted names of the options below one that stands under this key; its own where it has none below it."""
    inside = option.section and not option.many and not option.about.get("recursive")
    below = leaves(option.section) if inside else ()
    yield from (f"{key}.{name}" for name in below) if below else (key,)


def _covers(name: str, leaf: str) -> bool:
    return leaf == name or leaf.startswith(name + ".")
