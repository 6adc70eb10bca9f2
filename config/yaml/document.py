"""Merges the files of a configuration and the -E overrides into one tree."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from log_shipper.config.yaml.composing import Budget, Composer
from log_shipper.config.yaml.errors import ConfigError, Place, Problem
from log_shipper.config.yaml.files import read_bytes
from log_shipper.config.yaml.tree import Entry, ListNode, Scalar, Section, is_null

_NAME = re.compile(r"[\w.\[\]-]*")
_INDEX = re.compile(r"\[(\d+)\]")  # of an item: inputs[0].id means inputs.0.id
LIST_DEPTH = 2  # of the inputs of an included file: below filebeat.inputs


def read(file: Path, problems: list[Problem], rank: int = 0) -> Section:
    """Return the tree of a file. Duplicate keys are added to `problems`. Raises ConfigError if there is no tree."""
    return parse(_text(file), str(file), problems, rank)


def read_all(files: Sequence[Path], problems: list[Problem]) -> Section:
    """Return the tree of several files; later ones win. Raises ConfigError if one of them has no tree."""
    first, *others = (read(file, problems, rank) for rank, file in enumerate(files, start=1 - len(files)))
    return replace(first, entries=sum((other.entries for other in others), first.entries))


def read_list(file: Path, problems: list[Problem], budget: Budget, what: str) -> ListNode:
    """Return the items of a file that contains a list of `what`; empty for an empty file. Raises ConfigError for
    anything else.
    """
    place = Place(str(file), 1)
    node = Composer(str(file), problems, budget=budget).compose(_text(file), depth=LIST_DEPTH)
    if node is None or is_null(node):
        return ListNode((), place)
    if not isinstance(node, ListNode):
        raise _failure(place, f"must contain only a list of {what}")
    return node


def _text(file: Path) -> str:
    content = read_bytes(file)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _failure(Place(str(file), line), f"is not UTF-8 text: {error.reason}") from error


def parse(text: str, name: str, problems: list[Problem], rank: int = 0) -> Section:
    """Return the same as `read`, from text; `name` is the file in problems."""
    node = Composer(name, problems, rank).compose(text)
    top = Place(name, 1)
    if node is None or is_null(node):
        return Section((), top)
    if isinstance(node, Section):
        return replace(node, place=top)
    kind = "a list" if isinstance(node, ListNode) else "a single value"
    raise _failure(node.place, f"must contain options (key: value), not {kind}")


@dataclass(frozen=True, slots=True)
class Override:
    """A command-line option with the effect of `-E key=value`; problems name that option."""

    text: str = field(repr=False)  # it may be a secret
    option: str


Overrides = Sequence[str | Override]  # a string is the value of -E


def override(root: Section, overrides: Overrides, problems: list[Problem]) -> Section:
    """Return the tree with each `-E key=value` applied, the last one winning. Values are YAML, which allows lists."""
    entries = list(root.entries)
    for rank, given in enumerate(overrides, start=1):
        text, option = (given, "-E") if isinstance(given, str) else (given.text, given.option)
        place = Place(option)
        key, equals, value = text.partition("=")
        key = _INDEX.sub(r".\1", key)
        if not equals or not all(key.strip().split(".")):
            shown = _NAME.match(text)  # shown only in part: text without '=' may be a password
            named = f"{shown[0]!r}" if shown and shown[0] else "an override"
            problems.append(Problem(option, 0, "", f"{named} must be key=value, as in name=web-1"))
            continue
        key = key.strip()
        try:
            node = Composer(option, problems, rank).compose(value, key, key.count(".") + 1)
        except ConfigError as error:
            problems.extend(replace(problem, line=0, path=key) for problem in error.problems)
            continue
        entries.append(Entry(key, node or Scalar("", "null", True, place), place, rank))
    return replace(root, entries=tuple(entries))


def _failure(place: Place, message: str) -> ConfigError:
    return ConfigError([Problem(place.file, place.line, "", message)])
