"""Loads a configuration: files, overrides and variables -> model, by way of `document`, `tree` and `walk`."""

import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from log_shipper.config.yaml import document
from log_shipper.config.yaml.composing import is_option
from log_shipper.config.yaml.document import Overrides
from log_shipper.config.yaml.errors import ConfigError, Problem
from log_shipper.config.yaml.report import FAILED, Examination, LoadReport, Spot
from log_shipper.config.yaml.tree import Node, Section
from log_shipper.config.yaml.variables import Variables
from log_shipper.config.yaml.walk import Walk

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RawConfig:
    """A tree before it is read as a model, from `file` and perhaps others: the argument and result of `prepared`.
    `tolerant`: in its dialect, lapses are not errors. `secrets` are values that must not be shown.
    """

    file: Path
    root: Section = field(repr=False)
    env: Mapping[str, str] = field(repr=False)
    problems: list[Problem]
    tolerant: bool = False
    secrets: frozenset[str] = field(default=frozenset(), repr=False)

    @property
    def mistakes(self) -> list[Problem]:
        return [problem for problem in self.problems if not (problem.lapse and self.tolerant)]

    @property
    def warnings(self) -> list[Problem]:
        return [problem for problem in self.problems if problem.lapse and self.tolerant]

    def part(self, model: type[T], node: Node) -> T | None:
        """Return one section before the others; None if it has an error, which is reported when everything is read."""
        report = LoadReport([], tolerant=self.tolerant)
        value = Walk(self.env, report).section(model, node, Spot("", "", node.place))
        has_mistake = any(not (problem.lapse and self.tolerant) for problem in report.problems)
        return None if value is FAILED or has_mistake else value


def read(files: Sequence[Path], model: Any, overrides: Overrides, env: Mapping[str, str]) -> RawConfig:
    """Return the merged files and overrides before the model sees them. Raises ConfigError for invalid YAML."""
    problems: list[Problem] = []
    written = document.read_all(files, problems)
    root = document.override(written, overrides, problems)
    tolerates: Callable[[Section], bool] = getattr(model, "tolerates", lambda _: False)
    secrets: Callable[[Mapping[str, str]], Mapping[str, str]] = getattr(model, "secrets", lambda _: {})
    kept = secrets(_variables(files, model, root, env))
    variables = _variables(files, model, root, {**env, **kept} if kept else env)
    return RawConfig(files[0], root, variables, problems, tolerates(written), frozenset(kept.values()))


def variables_of(files: Sequence[Path], model: Any, overrides: Overrides, env: Mapping[str, str]) -> Variables:
    """Return the variables without secrets, even if the configuration has errors. Raises ConfigError for invalid
    YAML."""
    problems: list[Problem] = []
    root = document.override(document.read_all(files, problems), overrides, problems)
    return _variables(files, model, root, env)


def _variables(files: Sequence[Path], model: Any, root: Section, env: Mapping[str, str]) -> Variables:
    folders: Callable[[Path], Mapping[str, str]] = getattr(model, "folders", lambda _: {})
    return Variables(root, env, folders(files[0]))


def load(
    files: Path | Sequence[Path],
    model: type[T],
    overrides: Overrides = (),
    env: Mapping[str, str] = os.environ,
    examine: Callable[[T], Examination] | None = None,
) -> T:
    """Return the files, merged and with each `-E key=value` applied, as a `model`; the last of equal keys wins.

    `examine` checks what the options refer to, once the configuration itself is valid; its findings get the places
    of the options.

    The model's field `notes`, if any, lists options accepted and ignored, and `warnings` the lapses and the
    warnings of `examine`. Raises ConfigError with all problems at once.
    """
    named = (files,) if isinstance(files, Path) else tuple(files)
    raw = read(named, model, overrides, env)
    report = LoadReport(raw.problems, tolerant=raw.tolerant)
    prepare: Callable[[RawConfig], RawConfig] | None = getattr(model, "prepared", None)
    root = (prepare(raw) if prepare else raw).root
    spot = Spot("", "", root.place)
    value: Any = Walk(raw.env, report).section(model, root, spot)
    if examine is not None and not raw.mistakes:
        examination = examine(value)
        report.checked(value, examination.problems, spot)
        report.warn(examination.warnings, spot)
    shown = _without_secrets(raw, root)
    warnings = _in_order(shown(raw.warnings + report.warnings), named)
    if raw.mistakes:
        raise ConfigError(_in_order(shown(raw.mistakes), named), warnings)
    findings = {
        "notes": tuple(note.message for note in _in_order(shown(report.notes), named)),
        "warnings": tuple(map(str, warnings)),
    }
    names = {field.name for field in dataclasses.fields(value)}
    loaded: T = replace(value, **{name: texts for name, texts in findings.items() if name in names})
    return loaded


def _without_secrets(raw: RawConfig, root: Section) -> Callable[[list[Problem]], list[Problem]]:
    """Return a function that removes from problems the secrets that their messages may quote."""

    def shown(problems: list[Problem]) -> list[Problem]:
        if not problems:
            return []
        from log_shipper.config.yaml.secrets import without_secrets  # not needed for a valid configuration

        return without_secrets(problems, root, raw.env, raw.secrets)

    return shown


def _in_order(problems: list[Problem], files: Sequence[Path]) -> list[Problem]:
    """Return problems in the order of the files, then of included files, overrides last."""
    ranks = {str(file): index for index, file in enumerate(files)}

    def rank(file: str) -> int:
        return len(files) + 1 if is_option(file) else ranks.get(file, len(files))

    return sorted(problems, key=lambda problem: (rank(problem.file), problem.file, problem.line))
