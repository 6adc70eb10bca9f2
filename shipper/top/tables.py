"""A table in a given width: numbers right-aligned, texts wrapped."""

from collections.abc import Sequence
from itertools import zip_longest

from log_shipper.shipper.top.document import Column, Table
from log_shipper.shipper.top.text import Line, Span, columns, cut, left, right, shown, wrapped
from log_shipper.shipper.top.values import cell

GAP = 2
MIN_TEXT_WIDTH = 12  # minimum columns of a text
MAX_LINES = 4  # maximum lines of one row on a screen


def heading(table: Table, width: int | None = None) -> str:
    """Return the title, cut to `width` columns, and the number of rows."""
    title = shown(table.title)
    return f"{title if width is None else cut(title, width)} ({len(table.rows)})"


def table_lines(table: Table, width: int, now: float, *, first: int = 0, height: int | None = None) -> list[Line]:
    """Return the columns' labels and the rows from number `first` on that fit into `height` lines. `height`: None for
    all, uncut.
    """
    if not table.rows:
        return [[Span(f" {text}", "dim")] for text in wrapped(shown(table.empty), width - 1)]
    cells = [[shown(cell(value, column.kind, now)) for value, column in _zip(row, table)] for row in table.rows]
    widths = _widths(table.columns, cells, width - 1)
    labels = [(shown(column.label), column) for column in table.columns]
    lines: list[Line] = [[Span(_line([label for label, _ in labels], table.columns, widths), "dim")]]
    for row in cells[first:]:
        added = [[Span(text)] for text in _row(row, table.columns, widths, None if height is None else MAX_LINES)]
        if height is not None and len(lines) + len(added) > height:
            break
        lines += added
    return lines


def _zip(row: Sequence[object], table: Table) -> list[tuple[object, Column]]:
    return list(zip(row, table.columns, strict=True))


def _widths(wanted: Sequence[Column], cells: Sequence[Sequence[str]], width: int) -> list[int]:
    """Return the width of each column. If space is short, the widest texts are narrowed."""
    natural = [
        max(columns(shown(column.label)), *(columns(row[index]) for row in cells))
        for index, column in enumerate(wanted)
    ]
    texts = [index for index, column in enumerate(wanted) if column.kind == "text" and natural[index] > MIN_TEXT_WIDTH]
    widths = natural[:]
    excess = sum(widths) + GAP * (len(widths) - 1) - width
    while excess > 0 and texts:
        widest = max(texts, key=lambda index: widths[index])
        if widths[widest] <= MIN_TEXT_WIDTH:
            break
        widths[widest] -= 1
        excess -= 1
    return widths


def _row(row: Sequence[str], wanted: Sequence[Column], widths: Sequence[int], max_lines: int | None) -> list[str]:
    """Wrap a sentence; cut text without spaces (a path, a topic)."""
    pieces = [
        wrapped(text, width, max_lines) if " " in text and column.kind == "text" else [cut(text, width)]
        for text, column, width in zip(row, wanted, widths, strict=True)
    ]
    return [_line(list(line), wanted, widths) for line in zip_longest(*pieces, fillvalue="")]


def _line(texts: Sequence[str], wanted: Sequence[Column], widths: Sequence[int]) -> str:
    aligned = [
        left(text, width) if column.kind in ("text", "time") else right(text, width)
        for text, column, width in zip(texts, wanted, widths, strict=True)
    ]
    return f" {(' ' * GAP).join(aligned)}"
