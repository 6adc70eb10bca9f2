"""Loads a configuration: files, overrides and variables -> model, with `document`, `tree` and `walk` in between."""

import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from config.yaml import document
from config.yaml.composing import OVERRIDE
from config.yaml.errors import ConfigError, Problem
from config.yaml.report import FAILED, LoadReport, Spot
from config.yaml.tree import Node, Section
from config.yaml.variables import Variables
from config.yaml.walk import Walk

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RawConfig:
    """A tree before it is read as a model, from `file` and perhaps others: the argument and result of `prepared`."""

    file: Path
    root: Section
    env: Mapping[str, str]
    problems: list[Problem]

    def part(self, model: type[T], node: Node) -> T | None:
        """Return one section ahead of the others; None if it has a mistake, which is reported when the whole is
        read."""
        report = LoadReport([])
        value = Walk(self.env, report).section(model, node, Spot("", "", node.place))
        return None if value is FAILED or report.problems else value


def read(
    files: Sequence[Path], model: Any, overrides: Sequence[str], env: Mapping[str, str], problems: list[Problem]
) -> RawConfig:
    """Return what is written, merged and overridden, before the model sees it. Raises ConfigError for what is not
    YAML."""
    root = document.override(document.read_all(files, problems), overrides, problems)
    folders: Callable[[Path], Mapping[str, str]] = getattr(model, "folders", lambda _: {})
    return RawConfig(files[0], root, Variables(root, env, folders(files[0])), problems)


def load(
    files: Path | Sequence[Path], model: type[T], overrides: Sequence[str] = (), env: Mapping[str, str] = os.environ
) -> T:
    """Return the files, merged and with each `-E key=value` applied, as a `model`; the last of equal keys wins.

    The model's field `notes`, where it has one, lists what was accepted and ignored. Raises ConfigError with all
    problems at once.
    """
    named = (files,) if isinstance(files, Path) else tuple(files)
    report = LoadReport([])
    raw = read(named, model, overrides, env, report.problems)
    prepare: Callable[[RawConfig], RawConfig] | None = getattr(model, "prepared", None)
    root = (prepare(raw) if prepare else raw).root
    value: Any = Walk(raw.env, report).section(model, root, Spot("", "", root.place))
    if report.problems:
        raise ConfigError(_in_order(report.problems, named))
    if any(field.name == "notes" for field in dataclasses.fields(value)):
        value = replace(value, notes=tuple(note.message for note in _in_order(report.notes, named)))
    loaded: T = value
    return loaded


def _in_order(problems: list[Problem], files: Sequence[Path]) -> list[Problem]:
    """Return problems in the order of the files, then of included files, overrides last."""
    rank = {str(file): index for index, file in enumerate(files)} | {OVERRIDE: len(files) + 1}
    return sorted(problems, key=lambda problem: (rank.get(problem.file, len(files)), problem.file, problem.line))
