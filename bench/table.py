"""Results as text: the median of the runs, and their spread."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import median


def spread(values: Sequence[float], form: str, scale: float = 1.0) -> str:
    """Return the median, with minimum and maximum in brackets."""
    low, high = min(values) * scale, max(values) * scale
    return f"{median(values) * scale:{form}} ({low:{form}}-{high:{form}})"


def show(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown, its columns aligned for a terminal."""
    table = [list(header), *map(list, rows)]
    widths = [max(len(row[column]) for row in table) for column in range(len(header))]
    table.insert(1, ["-" * width for width in widths])
    return "\n".join(
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in table
    )


@dataclass(frozen=True, slots=True)
class PrintedTable:
    """A printed table. `title`: the heading of the first column; `columns`: the headings of the others."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def parse(text: str) -> Iterator[PrintedTable]:
    """Return the tables of a Markdown text that `show` wrote, in order."""
    for is_table, lines in groupby(text.splitlines(), lambda line: line.startswith("|")):
        if is_table:
            (title, *columns), _, *rows = ([cell.strip() for cell in line.split("|")[1:-1]] for line in lines)
            yield PrintedTable(title, tuple(columns), tuple(map(tuple, rows)))


class Sheet:
    """Figures by row and contender, in order of arrival, with the aims."""

    def __init__(self, aims: Mapping[str, str]) -> None:
        self._aims = aims
        self._values: dict[str, dict[str, list[float]]] = {}
        self._forms: dict[str, str] = {}

    def add(self, row: str, contender: str, value: float, form: str) -> None:
        self._forms[row] = form
        self._values.setdefault(row, {}).setdefault(contender, []).append(value)

    def show(self, title: str) -> str:
        names = list(dict.fromkeys(name for figures in self._values.values() for name in figures))
        rows = [
            (row, self._aims.get(row, ""), *(spread(figures[name], form) if name in figures else "" for name in names))
            for (row, figures), form in zip(self._values.items(), self._forms.values(), strict=True)
        ]
        return show((title, "aim", *names), rows)
