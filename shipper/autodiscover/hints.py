"""Hints: annotations of a pod, or labels of a Docker container, about how a container is read.

`co.elastic.logs/NAME` applies to all containers of a pod, `co.elastic.logs.CONTAINER/NAME` to one, whose own hints take
precedence. Numbered hints form sets, each of which creates an input; all others form one more set.

Users who may annotate a pod must not read the agent's environment: variables in hints refer only to the container.
`allowed_hints` lists what a hint may set; anything else is left out with a warning, and the container is read without
it.
"""

import difflib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

import orjson

from log_shipper.config.yaml.composing import MAX_DEPTH
from log_shipper.config.yaml.errors import Place
from log_shipper.config.yaml.schema import NamedItems
from log_shipper.config.yaml.templates import LateVariables
from log_shipper.config.yaml.tree import Entry, ListNode, Node, Scalar, Section
from log_shipper.config.yaml.variables import expand
from log_shipper.shipper.autodiscover.allowed_hints import refusal_of
from log_shipper.shipper.options.parsers import PARSERS
from log_shipper.shipper.options.processors import PROCESSORS

MAX_DIGITS = 9  # of the number of a set, or of a processor
_TRUE = ("1", "t", "true")
_FALSE = ("0", "f", "false")
_OF_WHOLE = ("enabled", "disable", "raw", "module", "fileset", "pipeline")
_OF_SET = ("multiline", "json", "include_lines", "exclude_lines", "processors")


@dataclass(frozen=True, slots=True)
class Hint:
    text: str
    annotation: str

    @property
    def place(self) -> Place:
        return Place(f"annotation {self.annotation}")


HintSet = dict[str, Hint]  # by dotted name


@dataclass(slots=True)
class Hints:
    """The hints. Each of `sets` creates an input; `enabled` is None if not set. `warnings` name hints without
    effect."""

    enabled: bool | None = None
    raw: Hint | None = None
    sets: list[HintSet] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def hints_of(annotations: Mapping[str, str], container: str, prefix: str) -> Hints:
    """Return the hints for a container of this name."""
    hints = Hints()
    whole, numbered, others = HintSet(), dict[int, HintSet](), HintSet()
    for name, hint in _named(annotations, container, prefix).items():
        first, _, rest = name.partition(".")
        if first in _OF_WHOLE:
            whole[name] = hint
        elif first.isdecimal() and len(first) <= MAX_DIGITS and rest:
            _take(numbered.setdefault(int(first), {}), rest, hint, hints.warnings)
        else:
            _take(others, name, hint, hints.warnings)
    hints.sets = [numbered[number] for number in sorted(numbered)] + ([others] if others else [])
    hints.sets = [hint_set for hint_set in hints.sets if hint_set] or [{}]
    hints.enabled = _enabled(whole, hints.warnings)
    hints.raw = whole.get("raw")
    hints.warnings += _without_effect(whole)
    return hints


def _named(annotations: Mapping[str, str], container: str, prefix: str) -> HintSet:
    named = HintSet()
    for beginning in (f"{prefix}.logs/", f"{prefix}.logs.{container}/"):
        for name, text in sorted(annotations.items()):
            if name.startswith(beginning) and name.count(".") <= MAX_DEPTH:
                named[name.removeprefix(beginning)] = Hint(text, name)
    return named


def _take(hint_set: HintSet, name: str, hint: Hint, warnings: list[str]) -> None:
    first = name.partition(".")[0]
    if first in _OF_SET:
        hint_set[name] = hint
        return
    close = difflib.get_close_matches(first, [*_OF_SET, *_OF_WHOLE], n=1)
    words = f"did you mean {close[0]!r}?" if close else f"known: {', '.join((*_OF_WHOLE, *_OF_SET))}"
    warnings.append(f"annotation {hint.annotation}: unknown hint; {words}")


def _enabled(whole: HintSet, warnings: list[str]) -> bool | None:
    for name, meaning in (("enabled", True), ("disable", False)):
        hint = whole.get(name)
        if hint is None:
            continue
        if hint.text.lower() in (*_TRUE, *_FALSE):
            return meaning if hint.text.lower() in _TRUE else not meaning
        warnings.append(f"annotation {hint.annotation}: {hint.text!r} must be true or false; ignored")
    return None


def _without_effect(whole: HintSet) -> Iterator[str]:
    for name, hint in whole.items():
        match name.partition(".")[0]:
            case "module" | "fileset":
                words = (
                    "modules are not supported; the container is read without the module: parse its lines with "
                    "processors"
                )
            case "pipeline":
                words = "ingest pipelines require Elasticsearch; lines are shipped without them"
            case _:
                continue
        yield f"annotation {hint.annotation}: {words}"


class RefusedHint(ValueError):
    """Raised for a hint that is not allowed, with the reason."""


class _NoEnvironment(dict[str, str]):
    """All variables outside the container's: hints must not use them."""

    def __contains__(self, name: object) -> bool:
        raise RefusedHint(
            f"a hint must not use the variable {name}; allowed: container metadata, as in ${{data.container.name}}"
        )


class HintNodes:
    """Creates the options of an input from hints. Raises ValueError for unknown container data and invalid JSON."""

    def __init__(self, value_of: Callable[[str], str | None], warnings: list[str]) -> None:
        """Create options; `value_of` returns container data; `warnings` collects refusals."""
        self._variables = LateVariables(value_of, _NoEnvironment())
        self._warnings = warnings

    def options(self, hints: HintSet, *, filestream: bool) -> dict[str, Node]:
        """Return the additions of a set to an input; its lists extend existing ones. `filestream` has parsers where the
        older types have options.
        """
        options: dict[str, Node] = {}
        parsers: list[Node] = []
        for name, parser in (("json", "ndjson"), ("multiline", "multiline")):
            section = self._allowed(_below(hints, name), partial(self._item, parser), PARSERS)
            if isinstance(section, Section) and filestream:
                parsers.append(section)
            elif isinstance(section, Section):
                options[name] = section.entries[0].node
        if parsers:
            options["parsers"] = ListNode(tuple(parsers), parsers[0].place)
        for name in ("include_lines", "exclude_lines"):
            if name in hints:
                listed = self._allowed({name: hints[name]}, self._listed)
                options |= {name: listed} if listed is not None else {}
        groups = self._by_processor(_below(hints, "processors"))
        made = [self._allowed(group, self._section, PROCESSORS) for group in groups]
        processors = [node for node in made if node is not None]
        if processors:
            options["processors"] = ListNode(tuple(processors), processors[0].place)
        return options

    def _allowed(self, hints: HintSet, make: Callable[[HintSet], Node], named: NamedItems | None = None) -> Node | None:
        """Return the result of hints, completely or not at all; None if there are none, or something is refused."""
        if not hints:
            return None
        try:
            node = make(hints)
        except RefusedHint as error:
            self._warnings.append(f"{error}; left out")
            return None
        refusal = refusal_of(node, named) if named is not None else ""
        if refusal:
            self._warnings.append(f"{next(iter(hints.values())).place}: {refusal}; left out")
        return None if refusal else node

    def _by_processor(self, hints: HintSet) -> list[HintSet]:
        """Return the hints of each processor: numbered ones in order, then the others by name."""
        groups: dict[tuple[int, int, str], HintSet] = {}
        for name, hint in hints.items():
            first, _, rest = name.partition(".")
            if not first.isdecimal() or len(first) > MAX_DIGITS:
                groups.setdefault((1, 0, first), {})[name] = hint
            elif rest:
                groups.setdefault((0, int(first), ""), {})[rest] = hint
            else:
                example = f"{hint.annotation}.drop_fields.fields"
                self._warnings.append(f"{hint.place}: must name a processor, as in {example}; left out")
        return [groups[key] for key in sorted(groups)]

    def raw(self, hint: Hint) -> list[Section]:
        """Return the inputs of `raw`, in JSON: one, or a list of them."""
        node = self._of_json(hint)
        items = node.items if isinstance(node, ListNode) else (node,)
        sections = [item for item in items if isinstance(item, Section)]
        if not sections or len(sections) != len(items):
            raise ValueError(f"{hint.place}: must be a JSON object of an input, or a list of them")
        return sections

    def _section(self, hints: HintSet) -> Section:
        """Return hints by dotted name as a section; a string with a JSON object becomes that object."""
        entries = [Entry(name, self._value(hint), hint.place) for name, hint in hints.items()]
        return Section(tuple(entries), entries[0].place)

    def _item(self, name: str, hints: HintSet) -> Section:
        section = self._section(hints)
        return Section((Entry(name, section, section.place),), section.place)

    def _listed(self, hints: HintSet) -> Node:
        """Return strings separated by commas, or a JSON list, whose strings may contain commas."""
        (hint,) = hints.values()
        if hint.text.lstrip().startswith('["'):
            return self._of_json(hint)
        parts = [part.strip() for part in self._filled(hint).split(",")]
        return ListNode(tuple(_scalar(part, hint) for part in parts if part), hint.place)

    def _value(self, hint: Hint) -> Node:
        return self._of_json(hint) if hint.text.lstrip().startswith("{") else _scalar(self._filled(hint), hint)

    def _of_json(self, hint: Hint) -> Node:
        try:
            return self._node(orjson.loads(hint.text), hint, MAX_DEPTH)
        except orjson.JSONDecodeError as error:
            raise ValueError(f"{hint.place}: is not JSON: {error}") from None

    def _node(self, value: object, hint: Hint, deeper: int) -> Node:
        if not deeper:
            raise ValueError(f"{hint.place}: is nested more than {MAX_DEPTH} levels deep")
        match value:
            case dict():
                entries = (
                    Entry(str(key), self._node(item, hint, deeper - 1), hint.place) for key, item in value.items()
                )
                return Section(tuple(entries), hint.place)
            case list():
                return ListNode(tuple(self._node(item, hint, deeper - 1) for item in value), hint.place)
            case str():
                return _scalar(self._filled(Hint(value, hint.annotation)), hint)
            case None:
                return Scalar("", "null", True, hint.place)
            case bool():
                return Scalar(str(value).lower(), "bool", True, hint.place)
        return Scalar(str(value), "int" if isinstance(value, int) else "float", True, hint.place)

    def _filled(self, hint: Hint) -> str:
        try:
            return expand(hint.text, self._variables)
        except ValueError as error:
            raise type(error)(f"{hint.place}: {error}") from None


def _below(hints: HintSet, name: str) -> HintSet:
    return {key.removeprefix(f"{name}."): hint for key, hint in hints.items() if key.startswith(f"{name}.")}


def _scalar(text: str, hint: Hint) -> Scalar:
    """Return a string that is read literally: values of its variables are data."""
    return Scalar(text.replace("${", "$${"), "str", False, hint.place)
