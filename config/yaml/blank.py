"""Sections of which nothing is written.

Most sections of an input are like that, and thousands of inputs have them: each is read once, and what came of it is
given to all. Nothing may be reported of it, or each would have to be told of at its own place.
"""

from collections.abc import Callable
from typing import Any

from config.yaml.errors import Place
from config.yaml.report import Report, Spot

Read = Callable[[Any, Spot, Report], Any]  # model, spot, report -> the value of an empty section


class Blanks:
    def __init__(self, read: Read) -> None:
        self._read = read
        # By model: the value, and (attribute, name) of all sections in it; None if there is something to report.
        self._known: dict[Any, tuple[Any, list[tuple[str, str]]] | None] = {}

    def section(self, model: Any, spot: Spot, report: Report) -> Any:
        """The value of such a section at a spot."""
        if model not in self._known:
            self._known[model] = self._learn(model)
        known = self._known[model]
        if known is None:
            return self._read(model, spot, report)
        value, names = known
        for attribute, name in names:
            below = spot.option(attribute, name)
            report.spots[below.attribute] = below
        return value

    def _learn(self, model: Any) -> tuple[Any, list[tuple[str, str]]] | None:
        report = Report([])
        value = self._read(model, Spot("", "", Place("")), report)
        if report.problems or report.notes:
            return None
        return value, [(spot.attribute, spot.path) for spot in report.spots.values()]
