"""The picture of the figures of files: bars with their spread, as SVG, made from the tables that `script/bench` prints.

    python -m bench.chart docs/explained/figures.md docs/explained/figures.svg      from the tables of a page

Each table is a row of panels, each column a panel. Equal tables give equal pictures.
"""

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from bench.table import PrintedTable, parse

PANELS = 3  # per row: the first columns of the table
PANEL_WIDTH = 330
LABEL_WIDTH = 132
BAR_WIDTH = 130  # maximum, including the spread
BAR_HEIGHT = 15
LINE_HEIGHT = 24
HEAD_HEIGHT = 58  # of a row: the titles of its table and panels
MARGIN = 16

DRAWN = ("k events/s", "% of a core")  # the first columns of the tables to draw
HIGHER_IS_BETTER = ("k events/s",)
OURS = "shipper"
FLOOR = ("floor", "librdkafka alone")
FLOOR_IS = "the same records sent by Kafka's client library, without reading files or saving positions"
RIVALS = ("Filebeat", "Fluent Bit")  # listed as not measured if they are missing

OUR_COLOUR = "#1565c0"
OTHER_COLOUR = "#a9b4c0"
TEXT_COLOUR = "#24292f"
QUIET_COLOUR = "#57606a"

CELL = re.compile(r"([\d.]+) \(([\d.]+)-([\d.]+)\)")


@dataclass(frozen=True, slots=True)
class Figure:
    """A cell of a table: median, minimum and maximum of the runs."""

    median: float
    minimum: float
    maximum: float
    text: str


def figure(cell: str) -> Figure:
    """Parse a cell. Raises ValueError if the cell is not a median with its spread."""
    if (match := CELL.fullmatch(cell)) is None:
        raise ValueError(f"{cell!r} is not a median with minimum and maximum, such as 3.2 (3.0-4.1)")
    median, minimum, maximum = map(float, match.groups())
    return Figure(median, minimum, maximum, match[1])


def picture(text: str) -> str:
    """Return the SVG of the tables in a text whose first column is one of DRAWN. Raises ValueError if none is."""
    tables = [table for table in parse(text) if table.columns[:1] and table.columns[0] in DRAWN]
    if not tables:
        raise ValueError(f"no table with the first column {' or '.join(DRAWN)}")
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
    """Yield the explanation of the floor, and the missing rivals."""
    if floors := [name for name in FLOOR if name in names]:
        yield f"{', '.join(floors)}: {FLOOR_IS}"
    if missing := [rival for rival in RIVALS if not any(name.startswith(rival) for name in names)]:
        yield f"Not measured, because they are not installed: {', '.join(missing)}"


def _row(table: PrintedTable, top: int) -> Iterator[str]:
    yield _text(MARGIN, top + 16, table.title, weight="bold")
    for number, column in enumerate(table.columns[:PANELS]):
        cells = [(row[0], figure(row[number + 1])) for row in table.rows]
        yield from _panel(column, cells, MARGIN + number * PANEL_WIDTH, top + 40)


def _panel(column: str, cells: Sequence[tuple[str, Figure]], left: int, top: int) -> Iterator[str]:
    better = "higher" if column in HIGHER_IS_BETTER else "lower"
    yield _text(left, top, f"{column} ({better} is better)", colour=QUIET_COLOUR)
    scale = BAR_WIDTH / max(value.maximum for _, value in cells)
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
    low, high = start + value.minimum * scale, start + value.maximum * scale
    yield f'<path d="M{low:.1f} {middle}H{high:.1f}" stroke="{TEXT_COLOUR}" stroke-width="2"/>'
    yield _text(round(max(high, start + width)) + 6, top + 12, value.text)


def _text(left: int, baseline: int, text: str, colour: str = TEXT_COLOUR, weight: str = "normal") -> str:
    return f'<text x="{left}" y="{baseline}" fill="{colour}" font-weight="{weight}">{escape(text)}</text>'


def main(arguments: Sequence[str]) -> None:
    page, svg = map(Path, arguments)
    svg.write_text(picture(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
