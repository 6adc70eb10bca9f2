"""YAML text -> tree, within bounds: a file with a mistake, or one that is not a configuration at all, must neither end
the agent nor exhaust its memory.

The parser's events are processed one by one. The parser does not use Python's stack, so text that is nested too deeply
is rejected here, with its line; and other threads can run between two events, unlike while `yaml.compose` runs in C.

- Depth: every pass over the tree recurses for each level, with up to ten frames of the 1,000 that Python allows.
  Configurations nest about ten levels; MAX_DEPTH leaves room for generated conditions.
- Values: an alias stands for everything below its anchor, and aliases of aliases multiply. They count as if they were
  written out, because every later pass treats them so. 4,000 inputs of 30 values each are half of the limit.
"""

import re
from dataclasses import dataclass, replace
from typing import Any

import yaml

from log_shipper.config.yaml import scalars
from log_shipper.config.yaml.errors import ConfigError, Place, Problem
from log_shipper.config.yaml.report import dotted, given_twice
from log_shipper.config.yaml.tree import Entry, ListNode, Node, Scalar, Section

MAX_DEPTH = 64
MAX_VALUES = 250_000
_STR = "tag:yaml.org,2002:str"
_MERGE = "tag:yaml.org,2002:merge"
_KINDS = ("str", "int", "float", "bool", "null", "timestamp", "map", "seq", "merge")
_KNOWN_TAGS = frozenset((None, "!", *(f"tag:yaml.org,2002:{kind}" for kind in _KINDS)))
# libyaml is 20 times as fast. Text that it rejects is parsed again by PyYAML itself, which accepts some of it
# (`[ndjson:]`) and has clearer messages; without libyaml, PyYAML is the only loader.
_LOADERS: tuple[Any, ...] = (*((yaml.CSafeLoader,) if yaml.__with_libyaml__ else ()), yaml.SafeLoader)
_FORBIDDEN: "re.Pattern[str]" = yaml.reader.Reader.NON_PRINTABLE
_QUOTES = "quote strings that begin with *, & or !"
_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'")
_TOKEN = re.compile(r".{0,2}|<[a-z ]+>")  # what a message quotes of YAML itself
_NO_START = re.compile("found character '(.)' that cannot start any token")
_SURROGATE = re.compile("[\ud800-\udfff]")  # `"\\uD800"`: cannot be encoded


@dataclass(slots=True)
class Budget:
    """The number of values that a configuration may still contain, shared by files that are read together."""

    values: int = MAX_VALUES


@dataclass(frozen=True, slots=True)
class _Anchored:
    node: Node
    values: int  # below it
    height: int  # levels below it


class Composer:
    """Composes the nodes of a text. The place of a section or list is that of its key; a scalar has its own."""

    def __init__(self, name: str, problems: list[Problem], rank: int = 0, budget: Budget | None = None) -> None:
        """Compose a text; `name` is the file in problems."""
        self._name = name
        self._problems = problems
        self._rank = rank
        self._budget = budget or Budget()
        self._events: Any = iter(())
        self._anchors: dict[str, _Anchored | None] = {}  # None until the anchor's node is complete
        self._deepest = 0
        self._places: dict[int, Place] = {}

    def compose(self, text: str, path: str = "", depth: int = 0) -> Node | None:
        """Return the node of the text, or None if it is empty; `path` and `depth` are its place in the tree.

        Raises ConfigError if there is no tree. Other errors, such as duplicate keys, are added to the problems.
        """
        if forbidden := _FORBIDDEN.search(text):
            line = text.count("\n", 0, forbidden.start()) + 1
            raise self._failure(line, f"is not YAML: character {ord(forbidden.group())} is not allowed")
        *before, last = _LOADERS
        for loader in before:
            known, values = len(self._problems), self._budget.values
            try:
                return self._document(yaml.parse(text, Loader=loader), path, depth)
            except yaml.MarkedYAMLError:
                del self._problems[known:]
                self._budget.values = values
        try:
            return self._document(yaml.parse(text, Loader=last), path, depth)
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line + 1 if error.problem_mark else 1
            raise self._failure(line, _reason(error, text)) from error

    def _document(self, events: Any, path: str, depth: int) -> Node | None:
        self._events, self._anchors, self._deepest = events, {}, 0
        self._next()  # start of the stream
        if isinstance(self._next(), yaml.StreamEndEvent):
            return None
        node = self._node(self._next(), None, path, depth)
        self._next()  # end of the document
        if not isinstance(event := self._next(), yaml.StreamEndEvent):
            raise self._failure(_line(event), "is not YAML: expected a single document, but found another one")
        return node

    def _next(self) -> Any:
        return next(self._events)

    def _node(self, event: Any, start: Place | None, path: str, depth: int) -> Node:
        self._check_depth(event, depth)
        self._count_values(event, 1)
        if type(event) is yaml.AliasEvent:
            return self._aliased(event, start or self._place(event), path, depth)
        self._check_tag(event, path)
        if event.anchor is None:
            return self._unanchored(event, start, path, depth)
        return self._anchored(event, start, path, depth)

    def _unanchored(self, event: Any, start: Place | None, path: str, depth: int) -> Node:
        if type(event) is yaml.ScalarEvent:
            return self._scalar(event)
        start = start or self._place(event)
        if type(event) is yaml.SequenceStartEvent:
            return ListNode(tuple(self._items(path, depth + 1)), start)
        return Section(tuple(self._entries(path, depth)), start)

    def _anchored(self, event: Any, start: Place | None, path: str, depth: int) -> Node:
        """Return a node with an anchor, and store it."""
        self._anchors[event.anchor] = None
        values, deepest = self._budget.values, self._deepest
        self._deepest = depth
        node = self._unanchored(event, start, path, depth)
        self._anchors[event.anchor] = _Anchored(node, values - self._budget.values, self._deepest - depth)
        self._deepest = max(deepest, self._deepest)
        return node

    def _aliased(self, event: Any, start: Place, path: str, depth: int) -> Node:
        """Return the node of an alias."""
        if event.anchor not in self._anchors:
            raise self._failure(_line(event), f"is not YAML: found undefined alias; {_QUOTES}")
        anchored = self._anchors[event.anchor]
        if anchored is None:
            self._problem(start, path, "the alias refers to a section that contains it")
            return Section((), start)
        self._check_depth(event, depth + anchored.height)
        self._count_values(event, anchored.values)
        return anchored.node if isinstance(anchored.node, Scalar) else replace(anchored.node, place=start)

    def _check_depth(self, event: Any, depth: int) -> None:
        if depth > self._deepest:
            self._deepest = depth
            if depth > MAX_DEPTH:
                raise self._failure(_line(event), f"is nested deeper than the limit of {MAX_DEPTH} levels")

    def _check_tag(self, event: Any, path: str) -> None:
        if event.tag not in _KNOWN_TAGS:
            # The tag is not shown: it may be an unquoted password.
            self._problem(
                self._place(event), path, "YAML tags (!name) are not supported; quote a string that begins with !"
            )

    def _count_values(self, event: Any, values: int) -> None:
        self._budget.values -= values
        if self._budget.values < 0:
            words = f"exceeds the limit of {MAX_VALUES:,} values here"
            raise self._failure(_line(event), f"{words}; an alias counts as all the values it stands for")

    def _scalar(self, event: Any) -> Scalar:
        # Explicit tags (!!int x) are not trusted: the text may not be a number.
        text: str = event.value
        if not text.isascii() and _SURROGATE.search(text):
            raise self._failure(_line(event), "is not YAML: an escape stands for half a character (a lone surrogate)")
        if event.tag is None or event.tag == "!":
            plain: bool = event.implicit[0]
            return Scalar(text, scalars.kind(text) if plain else "str", plain, self._place(event))
        natural = scalars.kind(text)
        kind = "str" if event.tag == _STR else natural
        return Scalar(text, kind, not event.style and kind == natural, self._place(event))

    def _items(self, path: str, depth: int) -> list[Node]:
        items: list[Node] = []
        while type(event := self._next()) is not yaml.SequenceEndEvent:
            items.append(self._node(event, None, f"{path}[{len(items)}]", depth))
        return items

    def _entries(self, path: str, depth: int) -> list[Entry]:
        entries: dict[str, Entry] = {}
        merged: list[Entry] = []
        while type(event := self._next()) is not yaml.MappingEndEvent:
            place = self._place(event)
            if _is_merge(event):
                merged += self._merged(place, path, depth)
                continue
            key = self._key(event, path, depth)
            # A dotted key counts as one level per name.
            below = depth + 1 + (key.count(".") if key else 0)
            written = dotted(path, key or "?")
            value = self._node(self._next(), place, written, below)
            if key is None:
                self._problem(place, path, "a key must be a name, or names joined by dots")
            else:
                if key in entries:
                    self._problem(place, written, given_twice(entries[key].place), lapse=True)
                # The last of two duplicates wins, as in Filebeat's YAML.
                entries[key] = Entry(key, value, place, self._rank)
        return [*(entry for entry in merged if entry.key not in entries), *entries.values()]

    def _key(self, event: Any, path: str, depth: int) -> str | None:
        """Return the text of a key; None if it is not a name."""
        if type(event) is yaml.ScalarEvent and event.anchor is None:
            self._check_tag(event, path)
            text: str = event.value
        else:
            node = self._node(event, None, path, depth + 1)
            text = node.text if isinstance(node, Scalar) else ""
        return text if all(text.split(".")) else None

    def _merged(self, place: Place, path: str, depth: int) -> list[Entry]:
        """Return the entries of `<<: *anchor`, which apply unless the section has the key itself."""
        node = self._node(self._next(), place, path, depth + 1)
        if isinstance(node, Section):
            return list(node.entries)
        self._problem(place, path, "'<<' must be an alias of one section")
        return []

    def _place(self, event: Any) -> Place:
        line = 0 if is_option(self._name) else _line(event)
        place = self._places.get(line)
        if place is None:
            place = self._places[line] = Place(self._name, line)
        return place

    def _problem(self, place: Place, path: str, message: str, *, lapse: bool = False) -> None:
        self._problems.append(Problem(place.file, place.line, path, message, lapse))

    def _failure(self, line: int, message: str) -> ConfigError:
        return ConfigError([Problem(self._name, line, "", message)])


def is_option(name: str) -> bool:
    """Return True for a command-line override (-E) instead of a file: a line number would mean nothing."""
    return name.startswith("-")


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1


def _is_merge(event: Any) -> bool:
    if type(event) is not yaml.ScalarEvent:
        return False
    return (event.value == "<<" and event.tag is None and event.implicit[0]) or event.tag == _MERGE


def _reason(error: yaml.MarkedYAMLError, text: str) -> str:
    if error.problem and r"'\t'" in error.problem:
        return "is not YAML: found a tab in the indentation; use spaces"
    if error.problem == "mapping values are not allowed here":
        return (
            f"is not YAML: {error.problem}: add a missing colon to the line above, or quote a string that contains ': '"
        )
    if error.problem and error.problem.endswith("got '{'") and _follows_dollar(error.problem_mark, text):
        return "is not YAML: '${' is not quoted; quote variables inside [ ] and { }, as in [\"${NAME}\"]"
    words = " ".join(part for part in (error.context, error.problem) if part)
    if start := _NO_START.search(words):
        return f"is not YAML: {words}; quote strings that begin with {start[1]}"
    # The quoted text may be an unquoted password that begins with * or !. A single character is none.
    shown = _QUOTED.sub(lambda quoted: quoted[0] if _TOKEN.fullmatch(quoted[1]) else "'...'", words)
    return f"is not YAML: {shown}" + (f"; {_QUOTES}" if shown != words else "")


def _follows_dollar(mark: Any, text: str) -> bool:
    return text[max(mark.index - 1, 0) : mark.index] == "$"
