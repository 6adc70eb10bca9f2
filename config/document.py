"""YAML text -> tree. `yaml.compose` is used, not `yaml.load`: only its nodes still know their lines."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from config import scalars
from config.errors import ConfigError, Place, Problem
from config.report import given_twice
from config.tree import Entry, Listing, Node, Scalar, Table

OVERRIDE = "-E"
_INDEX = re.compile(r"\[(\d+)\]")  # of an item: inputs[0].id means inputs.0.id
_STR = "tag:yaml.org,2002:str"
_MERGE = "tag:yaml.org,2002:merge"


def read(file: Path, problems: list[Problem], rank: int = 0) -> Table:
    """The tree of a file. Keys given twice go to `problems`; raises ConfigError where there is no tree."""
    return parse(_text(file), str(file), problems, rank)


def read_all(files: Sequence[Path], problems: list[Problem]) -> Table:
    """The tree of several files, of which the later ones win. Raises ConfigError where one of them is no tree."""
    first, *others = (read(file, problems, rank) for rank, file in enumerate(files, start=1 - len(files)))
    return replace(first, entries=sum((each.entries for each in others), first.entries))


def read_list(file: Path, problems: list[Problem]) -> Listing:
    """The items of a file that holds a list, none of an empty one. Raises ConfigError where it holds something else."""
    place = Place(str(file), 1)
    root = _compose(_text(file), str(file))
    node = None if root is None else _Builder(str(file), problems).node(root, place, "", ())
    if node is None or (isinstance(node, Scalar) and node.kind == "null"):
        return Listing((), place)
    if not isinstance(node, Listing):
        raise _failure(place, "must hold a list of inputs, each beginning with '- type:', and nothing else")
    return node


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise _failure(Place(str(file), line), f"is not UTF-8 text: {error.reason}") from error
    except OSError as error:
        raise _failure(Place(str(file)), f"cannot be read: {error.strerror}") from error


def parse(text: str, name: str, problems: list[Problem], rank: int = 0) -> Table:
    """As `read`, from text; `name` is the file that problems point to."""
    root = _compose(text, name)
    top = Place(name, 1)
    if root is None:
        return Table((), top)
    node = _Builder(name, problems, rank).node(root, top, "", ())
    if isinstance(node, Table):
        return node
    if isinstance(node, Scalar) and node.kind == "null":
        return Table((), top)
    kind = "a list" if isinstance(node, Listing) else "a single value"
    raise _failure(Place(name, root.start_mark.line + 1), f"must hold options (key: value), not {kind}")


def override(root: Table, overrides: Sequence[str], problems: list[Problem]) -> Table:
    """The tree with `-E key=value` laid over it; the value is YAML, so that lists can be given; the last one wins."""
    entries = list(root.entries)
    place = Place(OVERRIDE)
    for rank, text in enumerate(overrides, start=1):
        key, equals, value = text.partition("=")
        key = _INDEX.sub(r".\1", key)
        if not equals or not all(key.strip().split(".")):
            problems.append(Problem(OVERRIDE, 0, "", f"{text!r} must be key=value, as in name=web-1"))
            continue
        try:
            composed = _compose(value, OVERRIDE) or yaml.ScalarNode("tag:yaml.org,2002:null", "")
        except ConfigError as error:
            problems.extend(replace(problem, line=0, path=key.strip()) for problem in error.problems)
            continue
        node = _Builder(OVERRIDE, problems, rank).node(composed, place, key.strip(), ())
        entries.append(Entry(key.strip(), node, place, rank))
    return replace(root, entries=tuple(entries))


def _compose(text: str, name: str) -> yaml.Node | None:
    try:
        composed: yaml.Node | None = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.reader.ReaderError as error:
        line = text[: error.position].count("\n") + 1
        raise _failure(Place(name, line), f"is not YAML: character {error.character!r} is not allowed") from error
    except yaml.MarkedYAMLError as error:
        raise _failure(Place(name, _line(error)), _reason(error)) from error
    return composed


def _line(error: yaml.MarkedYAMLError) -> int:
    return error.problem_mark.line + 1 if error.problem_mark else 1


def _reason(error: yaml.MarkedYAMLError) -> str:
    if error.problem and r"'\t'" in error.problem:
        return "is not YAML: a tab cannot indent; use spaces"
    if error.problem == "mapping values are not allowed here":
        return f"is not YAML: {error.problem}: the line above may lack its colon, or a text with ': ' its quotes"
    return "is not YAML: " + " ".join(part for part in (error.context, error.problem) if part)


def _failure(place: Place, message: str) -> ConfigError:
    return ConfigError([Problem(place.file, place.line, "", message)])


class _Builder:
    """One file's nodes. A section or list begins where its key stands; a scalar where it stands itself."""

    def __init__(self, name: str, problems: list[Problem], rank: int = 0) -> None:
        self._name = name
        self._problems = problems
        self._rank = rank

    def node(self, node: yaml.Node, start: Place, path: str, above: tuple[yaml.Node, ...]) -> Node:
        if any(node is other for other in above):
            self._problem(start, path, "the alias refers to a section that it is part of")
            return Table((), start)
        if isinstance(node, yaml.MappingNode):
            return Table(tuple(self._entries(node, path, (*above, node))), start)
        if isinstance(node, yaml.SequenceNode):
            items = enumerate(node.value)
            return Listing(tuple(self.node(n, self._place(n), f"{path}[{i}]", (*above, node)) for i, n in items), start)
        return self._scalar(node)

    def _scalar(self, node: Any) -> Scalar:
        # Explicit tags (!!int x) are not trusted: what is no number by its text could not be made one.
        text = str(node.value)
        kind = "str" if node.tag == _STR else scalars.kind(text)
        return Scalar(text, kind, node.style is None and kind == scalars.kind(text), self._place(node))

    def _entries(self, node: yaml.MappingNode, path: str, above: tuple[yaml.Node, ...]) -> list[Entry]:
        entries: dict[str, Entry] = {}
        merged: list[Entry] = []
        for key, value in node.value:
            place = self._place(key)
            written = f"{path}.{key.value}" if path else str(key.value)
            if key.tag == _MERGE:
                merged += self._merged(value, place, path, above)
            elif not isinstance(key, yaml.ScalarNode) or not all(key.value.split(".")):
                self._problem(place, path, "a key must be a name, or names joined by dots")
            elif key.value in entries:
                self._problem(place, written, given_twice(entries[key.value].place))
            else:
                entries[key.value] = Entry(key.value, self.node(value, place, written, above), place, self._rank)
        return [*(entry for entry in merged if entry.key not in entries), *entries.values()]

    def _merged(self, value: yaml.Node, place: Place, path: str, above: tuple[yaml.Node, ...]) -> list[Entry]:
        """`<<: *anchor`: what the anchor's section says and this one does not."""
        node = self.node(value, place, path, above)
        if isinstance(node, Table):
            return list(node.entries)
        self._problem(place, path, "'<<' takes the alias of one section")
        return []

    def _place(self, node: yaml.Node) -> Place:
        # Nodes of -E stand in no file: their line would say nothing.
        return Place(self._name, 0 if self._name == OVERRIDE else node.start_mark.line + 1)

    def _problem(self, place: Place, path: str, message: str) -> None:
        self._problems.append(Problem(place.file, place.line, path, message))
