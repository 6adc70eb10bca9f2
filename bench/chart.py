"""The picture of the figures of files: bars with their spread, as SVG, made from the tables that `script/bench` prints.

    python -m bench.chart docs/explained/figures.md docs/explained/figures.svg      from the tables of a page

Each table becomes a row of panels, each of its columns a panel. The same tables always give the same picture.
"""

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from bench.table import PrintedTable, parse

PANELS = 3  # in a row of the picture, from as many columns of the table
PANEL_WIDTH = 330
LABEL_WIDTH = 132
BAR_WIDTH = 130  # of the longest bar, its spread included
BAR_HEIGHT = 15
LINE_HEIGHT = 24
HEAD_HEIGHT = 58  # of a row: the title of its table, and that of the panel
MARGIN = 16

# The first column of figures by which a table is known to be one of the picture, and the columns where more is better.
DRAWN = ("k events/s", "% of a core")
MORE_IS_BETTER = ("k events/s",)
OURS = "shipper"
FLOOR = ("floor", "librdkafka alone")
FLOOR_IS = "the same records handed to Kafka's client library, without reading files or saving positions"
RIVALS = ("Filebeat", "Fluent Bit")  # whose absence is said

OUR_COLOUR = "#1565c0"
OTHER_COLOUR = "#a9b4c0"
TEXT_COLOUR = "#24292f"
QUIET_COLOUR = "#57606a"

CELL = re.compile(r"([\d.]+) \(([\d.]+)-([\d.]+)\)")


@dataclass(frozen=True, slots=True)
class Figure:
    """A cell of a table: the median of the runs, the smallest and the largest."""

    median: float
    smallest: float
    largest: float
    text: str


def figure(cell: str) -> Figure:
    """Parse a cell. Raises ValueError if the cell is not a median with its spread."""
    if (match := CELL.fullmatch(cell)) is None:
        raise ValueError(f"{cell!r} is not a median with the smallest and the largest in brackets, as 3.2 (3.0-4.1)")
    median, smallest, largest = map(float, match.groups())
    return Figure(median, smallest, largest, match[1])


def picture(text: str) -> str:
    """Return the SVG of all tables in a text that begin with a column of DRAWN. Raises ValueError if none does."""
    tables = [table for table in parse(text) if table.columns[:1] and table.columns[0] in DRAWN]
    if not tables:
        raise ValueError(f"there is no table whose first column is {' or '.join(DRAWN)}")
    elements: list[str] = []
    top = MARGIN
    for table in tables:
        elements += _row(table, top)
        top += HEAD_HEIGHT + LINE_HEIGHT * len(table.rows) + MARGIN
    for note in _notes({row[0] for table in tables for row in table.rows}):
        elements.append(_text(MARGIN, top + 4, note, colour=QUIET_COLOUR))
        top += LINE_HEIGHT
    width = 2 * MARGIN + PANELS * PANEL_WIDTH
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {top}" role="img" '
            'font-family="system-ui, sans-serif" font-size="13">',
            f'<rect width="{width}" height="{top}" rx="6" fill="white"/>',
            *elements,
            "</svg>\n",
        )
    )


def _notes(names: set[str]) -> Iterator[str]:
    """Yield what the names of the rows do not show: what the floor is, and who is not among them."""
    if floors := [name for name in FLOOR if name in names]:
        yield f"{', '.join(floors)}: {FLOOR_IS}"
    if missing := [rival for rival in RIVALS if not any(name.startswith(rival) for name in names)]:
        yield f"Not in these runs, because the machine did not have them: {', '.join(missing)}"


def _row(table: PrintedTable, top: int) -> Iterator[str]:
    yield _text(MARGIN, top + 16, table.title, weight="bold")
    for number, column in enumerate(table.columns[:PANELS]):
        cells = [(row[0], figure(row[number + 1])) for row in table.rows]
        yield from _panel(column, cells, MARGIN + number * PANEL_WIDTH, top + 40)


def _panel(column: str, cells: Sequence[tuple[str, Figure]], left: int, top: int) -> Iterator[str]:
    better = "more" if column in MORE_IS_BETTER else "less"
    yield _text(left, top, f"{column} ({better} is better)", colour=QUIET_COLOUR)
    scale = BAR_WIDTH / max(value.largest for _, value in cells)
    for line, (name, value) in enumerate(cells):
        yield from _bar(name, value, scale, (left, top + 12 + line * LINE_HEIGHT))


def _bar(name: str, value: Figure, scale: float, corner: tuple[int, int]) -> Iterator[str]:
    left, top = corner
    start, middle = left + LABEL_WIDTH, top + BAR_HEIGHT / 2
    ours = name.startswith(OURS)
    yield _text(left, top + 12, name, weight="bold" if ours else "normal")
    colour = OUR_COLOUR if ours else OTHER_COLOUR
    width = value.median * scale
    yield f'<rect x="{start}" y="{top}" width="{width:.1f}" height="{BAR_HEIGHT}" fill="{colour}"/>'
    low, high = start + value.smallest * scale, start + value.largest * scale
    yield f'<path d="M{low:.1f} {middle}H{high:.1f}" stroke="{TEXT_COLOUR}" stroke-width="2"/>'
    yield _text(round(max(high, start + width)) + 6, top + 12, value.text)


def _text(left: int, baseline: int, text: str, colour: str = TEXT_COLOUR, weight: str = "normal") -> str:
    return f'<text x="{left}" y="{baseline}" fill="{colour}" font-weight="{weight}">{escape(text)}</text>'


def main(arguments: Sequence[str]) -> None:
    page, svg = map(Path, arguments)
    svg.write_text(picture(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
