"""A model's options, read from its dataclasses.

A field's metadata, all optional:
    key       the YAML name if it differs, possibly dotted; a tuple of names that mean the same, of which the first is
              printed; None for a field that YAML cannot set
    doc       one sentence for the reference page
    unit      what a bare number counts
    min, max  bounds, both allowed
    check     value -> iterator of (path below the value, message)
    split     what separates items of a list that is written as one scalar
    missing   what the message for an absent required option adds
    wanted    the same for an option that is required where lapses are mistakes, and has its default elsewhere
    model     the place of a section's model, which is imported when it is needed: "package.module:Class"
    read_as   the model that YAML is matched against, if it is not the hint's; or Kinds or NamedItems, which choose one
    null      "absent" if a section without a value (`json:`) means no section, and not one of defaults
    unused    why the value, although checked like any other, has no effect: logged as a note
    template_of  of a Template: the Kinds that it is read as, once for trial and then again and again, and
    prepared  section, problems, tolerant -> the section that is read then
    recursive the section, or list of sections, may contain sections of the same model: lists of options stop there

A model may have `check(self) -> Iterator[(field, message)]` for what concerns several fields; `remarks(self)` and
`cautions(self)`, in the same form, for what is not a mistake but should be known (a note) or looked at (a warning);
`converted(self)`, the value that the program gets; and class variables by dotted name: `not_yet` -> why (an error: a
real option that is not supported), `ignored` -> why (a note: ignoring it does no harm), `here`, the name of another
kind's option -> its name in this kind, and `explain`, the names of which a problem explains why options are missing.
`strict = True` says that an unknown name is a mistake in every dialect.

The model of a whole file may have `prepared(raw: load.RawConfig) -> load.RawConfig`, which its tree passes through
before it is read, `folders(file) -> {name: text}`, the variables that are set by default, `secrets(variables) ->
{name: text}`, those that take precedence over the environment, and `tolerates(root: Section) -> bool`: whether it is
written in a dialect in which unknown names are ignored. These are lapses then: warnings, and not mistakes. Of an option
with several names the last one is that dialect's.
"""

import dataclasses
import difflib
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

from log_shipper.config.yaml.deferred import model_at

Check = Callable[[Any], Iterable[tuple[str, str]]]


@dataclass(frozen=True, slots=True, eq=False)  # compared by identity, as a key of `Names.for_model`
class Kinds:
    """The models of a section whose kind is given by one of its keys; the first is the default. `not_yet` maps known
    but unsupported kinds to alternatives.
    """

    key: str
    models: Mapping[str, Any]
    not_yet: Mapping[str, str] = field(default_factory=dict)

    @property
    def default(self) -> str:
        """Return the kind of a section that does not give one."""
        return next(iter(self.models))

    def unknown(self, kind: str) -> str:
        """Return the message for an unknown kind."""
        known = f"known: {', '.join(self.models)}"
        if kind in self.not_yet:
            return f"{kind!r} is not supported; {self.not_yet[kind] or known}"
        close = difflib.get_close_matches(kind, [*self.models, *self.not_yet], n=1, cutoff=0.6)
        return f"{kind!r} is unknown; did you mean {close[0]!r}?" if close else f"{kind!r} is unknown; {known}"

    def owners(self, name: str) -> list[str]:
        """Return the kinds that have an option of this name, or below it."""
        return [kind for kind, model in self.models.items() if any(_covers(name, leaf) for leaf in leaves(model))]


@dataclass(frozen=True, slots=True)
class NamedItems:
    """The models of list items that are each a section under its own name: `- add_fields: {...}`.

    `whole` holds models of items that are a section themselves, recognised by a key (`if`); `not_yet` maps known
    but unsupported names to the reason; `ignored`: names left out with a note, with the reason. `shown`: an example
    name for messages.
    """

    what: str
    shown: str
    models: Mapping[str, Any]
    whole: Mapping[str, Any] = field(default_factory=dict)
    not_yet: Mapping[str, str] = field(default_factory=dict)
    ignored: Mapping[str, str] = field(default_factory=dict)

    def wrong_shape(self, keys: Sequence[str] | None = None) -> str:
        """Return the message for an item that is not one name with a section; `keys` are its keys, None if it has
        none."""
        example = f"each item must be a single {self.what}, as in '- {self.shown}: {{...}}'"
        if keys is None:
            return example
        ours = [key for key in keys if key in self.models]
        others = [key for key in keys if key not in self.models]
        indent = f"; indent {', '.join(others)} further to make it part of {ours[0]}" if len(ours) == 1 else ""
        return f"{example}; found {len(keys)}: {', '.join(keys) or 'none'}{indent}"

    def without_colon(self, text: str) -> str:
        """Return the message for an item that is a string."""
        if text in self.models:
            return f"{text!r} has no colon: write '- {text}:', with its options below it, indented further"
        return f"{text!r} is not a {self.what}; {self.wrong_shape()}"

    def unknown(self, name: str) -> str:
        """Return the message for an unknown name."""
        if name in self.not_yet:
            return f"not supported; {self.not_yet[name]}" if self.not_yet[name] else "not supported"
        close = difflib.get_close_matches(name, [*self.models, *self.not_yet, *self.ignored], n=1, cutoff=0.6)
        hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(self.models)}"
        return f"unknown {self.what}; {hint}"


@dataclass(frozen=True)  # without slots: values derived from the hint are cached instead of computed for each section
class Option:
    """A field that YAML can set."""

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
        """Return a new default each time, because dicts must not be shared."""
        return dataclasses.MISSING if self.make_default is None else self.make_default()

    @cached_property
    def kinds(self) -> Kinds | None:
        """Return the possible kinds of a section that gives its own kind."""
        read_as = self.about.get("read_as")
        return read_as if isinstance(read_as, Kinds) else None

    @cached_property
    def named_items(self) -> NamedItems | None:
        """Return the possible items of a list of named items."""
        read_as = self.about.get("read_as")
        return read_as if isinstance(read_as, NamedItems) else None

    @cached_property
    def section(self) -> Any:
        """Return the dataclass of a nested section (the first of `kinds`); None for other options."""
        if self.kinds:
            return self.kinds.models[self.kinds.default]
        if self.named_items:
            return None
        if "model" in self.about:
            return model_at(self.about["model"])
        hinted = (hint for hint in (self.hint, *typing.get_args(self.hint)) if dataclasses.is_dataclass(hint))
        return self.about.get("read_as") or next(hinted, None)

    @cached_property
    def many(self) -> bool:
        return typing.get_origin(self.hint) is tuple

    @cached_property
    def always(self) -> bool:
        """Return True if the section exists even when nothing of it is written."""
        return dataclasses.is_dataclass(self.hint)


@cache  # called for all sections of each input
def options(model: Any) -> tuple[Option, ...]:
    """Return the options of a dataclass, in order."""
    hints = typing.get_type_hints(model, include_extras=True)
    return tuple(
        _option(declared, hints[declared.name])
        for declared in dataclasses.fields(model)
        if declared.metadata.get("key", "") is not None
    )


def beginning(model: Any) -> str:
    """Return an example of a section's first line, with a required option if there is one."""
    given = sorted(options(model), key=lambda option: not option.required)
    return f"{given[0].keys[0]}: ..." if given else "{}"


def _option(declared: "dataclasses.Field[Any]", hint: Any) -> Option:
    key = declared.metadata.get("key", declared.name)
    keys = (key,) if isinstance(key, str) else tuple(key)
    return Option(declared.name, keys, hint, _maker(declared), declared.metadata)


def _maker(declared: "dataclasses.Field[Any]") -> Callable[[], Any] | None:
    if declared.default_factory is not dataclasses.MISSING:
        return declared.default_factory
    default = declared.default
    return None if default is dataclasses.MISSING else lambda: default


@cache  # called by each input for every other kind
def leaves(model: Any) -> tuple[str, ...]:
    """Return the dotted names of a model's options; options of sections replace the sections."""
    return tuple(name for option in options(model) for key in option.keys for name in ends(option, key))


def ends(option: Option, key: str) -> Iterator[str]:
    """Yield the dotted names of the options below one; the key itself if there are none."""
    inside = option.section and not option.many and not option.about.get("recursive")
    below = leaves(option.section) if inside else ()
    yield from (f"{key}.{name}" for name in below) if below else (key,)


def _covers(name: str, leaf: str) -> bool:
    return leaf == name or leaf.startswith(name + ".")
