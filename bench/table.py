"""Results as text: the median of the runs, and how far they lie apart."""

from collections.abc import Mapping, Sequence
from statistics import median


def spread(values: Sequence[float], form: str, scale: float = 1.0) -> str:
    """Median, and in brackets the smallest and the largest."""
    low, high = min(values) * scale, max(values) * scale
    return f"{median(values) * scale:{form}} ({low:{form}}-{high:{form}})"


def show(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown, its columns aligned for a terminal."""
    table = [list(header), *map(list, rows)]
    widths = [max(len(row[column]) for row in table) for column in range(len(header))]
    table.insert(1, ["-" * width for width in widths])
    return "\n".join(
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in table
    )


class Sheet:
    """Figures by row and contender, in the order in which they come, beside what is aimed at."""

    def __init__(self, aims: Mapping[str, str]) -> None:
        self._aims = aims
        self._values: dict[str, dict[str, list[float]]] = {}
        self._forms: dict[str, str] = {}

    def add(self, row: str, contender: str, value: float, form: str) -> None:
        self._forms[row] = form
        self._values.setdefault(row, {}).setdefault(contender, []).append(value)

    def show(self, title: str) -> str:
        names = list(dict.fromkeys(name for found in self._values.values() for name in found))
        rows = [
            (row, self._aims.get(row, ""), *(spread(found[name], form) if name in found else "" for name in names))
            for (row, found), form in zip(self._values.items(), self._forms.values(), strict=True)
        ]
        return show((title, "aim", *names), rows)
