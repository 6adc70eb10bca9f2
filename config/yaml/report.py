"""Findings while a tree is read as a model: problems, notes, and the places of values."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Final

from log_shipper.config.yaml.errors import Place, Problem
from log_shipper.config.yaml.tree import Clash, Node, Section

FAILED: Final = object()  # a value with a problem, and everything that contains it

LEFT_OUT: Final = object()  # an item that was noted and is left out


@dataclass(frozen=True, slots=True)
class Spot:
    """A value being read: its attribute path in the model, its dotted path as written, and its place."""

    attribute: str
    path: str
    place: Place

    def option(self, attribute: str, name: str, node: Node | None = None) -> "Spot":
        place = self.place if node is None else node.place
        return Spot(dotted(self.attribute, attribute), dotted(self.path, name), place)

    def item(self, index: int, node: Node) -> "Spot":
        named = node.name if isinstance(node, Section) else ""
        return Spot(f"{self.attribute}[{index}]", named or f"{self.path}[{index}]", node.place)

    def name(self, name: str, node: Node) -> "Spot":
        """Return the spot of a name that is not an attribute."""
        return replace(self, path=dotted(self.path, name), place=node.place)


def dotted(above: str, name: str) -> str:
    return f"{above}.{name}" if above and name and not name.startswith("[") else above + name


@dataclass(frozen=True, slots=True)
class Examination:
    """Findings in files that the configuration names: (attribute path, message)."""

    problems: tuple[tuple[str, str], ...] = ()
    warnings: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class LoadReport:
    """The findings of one tree. `tolerant`: a lapse is not an error, and its value is used."""

    problems: list[Problem]
    tolerant: bool = False
    notes: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)
    # By attribute path: checks name attributes, problems name the written path.
    spots: dict[str, Spot] = field(default_factory=dict)

    def fail(self, spot: Spot, message: str) -> Any:
        self.problems.append(Problem(spot.place.file, spot.place.line, spot.path, message))
        return FAILED

    def lapse(self, spot: Spot, message: str) -> bool:
        """Report a lapse. Return True if it is an error here."""
        self.problems.append(Problem(spot.place.file, spot.place.line, spot.path, message, lapse=True))
        return not self.tolerant

    def report_ignored(self, spot: Spot, why: str) -> None:
        message = f"ignored: {spot.path} ({spot.place}): {why}"
        self.notes.append(Problem(spot.place.file, spot.place.line, spot.path, message))

    def note(self, remarks: Iterable[tuple[str, str]], spot: Spot) -> None:
        """Note something that is not an error, with its place."""
        for below, words in remarks:
            where = self._nearest(dotted(spot.attribute, below))
            message = f"{where.path} ({where.place}): {words}"
            self.notes.append(Problem(where.place.file, where.place.line, where.path, message))

    def warn(self, findings: Iterable[tuple[str, str]], spot: Spot) -> None:
        """Warn of something that is not a configuration error, with its place."""
        for below, message in findings:
            where = self._nearest(dotted(spot.attribute, below))
            self.warnings.append(Problem(where.place.file, where.place.line, where.path, message))

    def merge(self, other: "LoadReport", *, except_at: Collection[tuple[str, int]] = ()) -> bool:
        """Adopt the findings of another report, except those at these places (file, line). Return True if one is an
        error.
        """

        def taken(findings: list[Problem]) -> list[Problem]:
            return [problem for problem in findings if (problem.file, problem.line) not in except_at]

        problems = taken(other.problems)
        self.problems += problems
        self.notes += taken(other.notes)
        self.warnings += taken(other.warnings)
        return any(not (problem.lapse and self.tolerant) for problem in problems)

    def clash(self, path: str) -> Clash:
        """Return the function that sections below `path` call for a duplicate key."""

        def clash(key: str, first: Place, second: Place) -> None:
            self.fail(Spot("", dotted(path, key), second), given_twice(first))

        return clash

    def checked(self, value: Any, findings: Iterable[tuple[str, str]], spot: Spot) -> Any:
        """Return the value, or FAILED if a check found something; each finding is reported at its place."""
        findings_at = [(self._nearest(dotted(spot.attribute, below)), message) for below, message in findings]
        for where, message in findings_at:
            self.fail(where, message)
        return FAILED if findings_at else value

    def is_reported(self, path: str) -> bool:
        """Return True if the option with this path, or one of its items, has a problem."""
        return any(problem.path == path or problem.path.startswith(f"{path}[") for problem in self.problems)

    def _nearest(self, attribute: str) -> Spot:
        """Return the spot of an attribute or, if it was not written, of its section."""
        rest = ""
        while attribute not in self.spots:
            cut = max(attribute.rfind("."), attribute.rfind("["), 0)
            rest, attribute = attribute[cut:] + rest, attribute[:cut]
        spot = self.spots[attribute]
        return replace(spot, path=dotted(spot.path, rest.removeprefix(".")))


def given_twice(first: Place) -> str:
    return f"duplicate of line {first.line}; keep one" if first.line else "duplicate; keep one"
