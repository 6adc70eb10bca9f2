"""Configuration errors and their places."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """Where something was written; line 0 if there is none (-E, a missing file)."""

    file: str
    line: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


@dataclass(frozen=True, slots=True)
class Problem:
    """One error: its place, the option's dotted path ("" for the file itself), and what would be right.

    A lapse is only a warning in a configuration whose dialect ignores it (`tolerates` in `schema`).
    """

    file: str
    line: int
    path: str
    message: str
    lapse: bool = False

    def __str__(self) -> str:
        return ": ".join(part for part in (str(Place(self.file, self.line)), self.path, self.message) if part)


class ConfigError(Exception):
    """Raised with all errors of a configuration; str() has one line per problem, then one per warning."""

    def __init__(self, problems: Iterable[Problem], warnings: Iterable[Problem] = ()) -> None:
        self.problems = tuple(problems)
        lines = [*map(str, self.problems), *(f"warning: {warning}" for warning in warnings)]
        super().__init__("\n".join(lines))

    @property
    def findings(self) -> list[dict[str, object]]:
        """Return the problems for JSON output."""
        return [
            {"file": problem.file, "line": problem.line, "option": problem.path, "message": problem.message}
            for problem in self.problems
        ]
