"""Renders a view for a given size as lines, independent of the terminal."""

from collections.abc import Sequence
from datetime import datetime

from log_shipper.shipper.top.charts import chart_lines
from log_shipper.shipper.top.document import Table
from log_shipper.shipper.top.figures import figure_lines
from log_shipper.shipper.top.tables import heading, table_lines
from log_shipper.shipper.top.text import Line, Span, Style, columns, cut, fitting, left, rule_off, shown, wrapped
from log_shipper.shipper.top.values import duration
from log_shipper.shipper.top.view import View

STATES: dict[str, tuple[str, Style]] = {
    "ok": ("OK", "good"),
    "degraded": ("DEGRADED", "warn"),
    "failing": ("FAILING", "bad"),
    "starting": ("STARTING", "warn"),
}
MAX_STATE_WIDTH = 12
MAX_TAB_WIDTH, MIN_TAB_WIDTH = 40, 5  # columns of a table's title
TALL = 34  # minimum lines for charts with two rows and for several tables
MAX_FIGURE_LINES = 5  # on a low terminal
MIN_TABLE_LINES = 5  # lines: the titles, the columns' labels and three rows
TABLE_ROOM = 8  # left over by charts, with an empty line
KEYS = "q quit  p pause  tab next table  arrows scroll  ? help"
HELP = """\
q               quit
p, space        pause, and continue
tab, right      next table; shift-tab, left: previous; 1 to 9: that one
up, down        scroll the table; also j and k, page up and down, home, end
?               this help

OK              events are delivered
DEGRADED        events are delivered, but someone should look
FAILING         no events are delivered
NOT RESPONDING  the program has ended, or hangs

Figures are totals since the start, with rates over the last ten seconds.
All series of a chart share one scale, from 0 to its max; unknown values are
blank. The same as text, for a script or a report: --once"""


def render(view: View, width: int, height: int | None = None) -> list[Line]:
    """Return at most `height` lines, each of at most `width` columns; everything without `height`."""
    lines = _lines(view, width, height)
    return [fitting(line, width) for line in lines[:height]]


def _lines(view: View, width: int, height: int | None) -> list[Line]:
    head = [*_title(view, width), *_health(view, width, height)]
    if view.has_help:
        return _with_footer([*head, [], *([Span(f" {line}")] for line in HELP.splitlines())], view, width, height)
    document = view.document
    if document is None:
        return _with_footer(head, view, width, height)
    if height is None:
        return [
            *head,
            *figure_lines(document.figures, width),
            *_charts(view, width, 2),
            *_all(view, width),
        ]
    is_tall = height >= TALL
    top = [*head, *figure_lines(document.figures, width, None if is_tall else MAX_FIGURE_LINES)]
    top += _charts(view, width, 2 if is_tall else 1, height - len(top) - TABLE_ROOM - 1)
    return _with_footer([*top, *_tables(view, width, height - len(top) - 1)], view, width, height)


def _with_footer(lines: Sequence[Line], view: View, width: int, height: int | None) -> list[Line]:
    if height is None:
        return list(lines)
    body = [*lines[: height - 1], *[[] for _ in range(height - 1 - len(lines))]]
    return [*body, [Span(left(f" {KEYS}", width), "selected")]]


def _title(view: View, width: int) -> list[Line]:
    document = view.document
    if document is None:
        return [[Span(shown(view.asked), "bold")]]
    up = duration(max(document.now - document.started, 0))
    name = Span(f"{shown(document.program)} {shown(document.name)}", "bold")
    beside = Span(f"  {shown(document.version)}  up {up}")
    now = Span(f"{datetime.fromtimestamp(document.now):%Y-%m-%d %H:%M:%S}")
    paused = [Span(" PAUSED ", "selected"), Span(" ")] if view.is_paused else []
    return [rule_off([name, beside], [*paused, now], width)]


def _health(view: View, width: int, height: int | None) -> list[Line]:
    document = view.document
    max_lines = None if height is None or document is None else max(height // 4, 1)
    if view.problem:
        word, style, text = "NOT RESPONDING", STATES["failing"][1], shown(view.problem)
        max_lines = None
        if document is not None:
            text += f" Shown below: the state at {datetime.fromtimestamp(document.now):%H:%M:%S}."
    elif document is None:
        word, style, text = "ASKING", "dim", ""
    else:
        word, style = STATES.get(document.state, (cut(shown(document.state).upper(), MAX_STATE_WIDTH), "warn"))
        text = shown(document.text)
    lines = wrapped(text, width - len(word) - 1, max_lines)
    indent = " " * (len(word) + 1)
    return [[Span(f"{word} ", style), Span(lines[0])], *([Span(f"{indent}{line}")] for line in lines[1:])]


def _charts(view: View, width: int, rows: int, height: int | None = None) -> list[Line]:
    """Return the charts that fit completely into the height, after an empty line; all of them if charts have several
    rows.
    """
    assert view.document is not None
    lines: list[Line] = []
    is_apart = True
    for chart in view.document.charts:
        added = chart_lines(chart, width, rows, view.glyphs)
        is_apart = not lines or (rows > 1 and (is_apart or len(added) > 1))
        if height is None or len(lines) + is_apart + len(added) <= height:
            lines += [[], *added] if is_apart else added
            is_apart = len(added) > 1
    return lines


def _all(view: View, width: int) -> list[Line]:
    document = view.document
    assert document is not None
    lines: list[Line] = []
    for table in document.tables:
        lines += [[], [Span(heading(table), "bold")], *table_lines(table, width, document.now)]
    return lines


def _tables(view: View, width: int, height: int) -> list[Line]:
    """Return the titles of all tables, the selected table, and below it others with rows, if there is room."""
    document = view.document
    assert document is not None
    tables = document.tables
    if not tables:
        return []
    chosen = min(view.table, len(tables) - 1)
    others = [table for number, table in enumerate(tables) if number != chosen and table.rows]
    lines: list[Line] = [[], _tabs(view, chosen, width)] if height > MIN_TABLE_LINES else [_tabs(view, chosen, width)]
    room = height - len(lines)
    own = room if height < TALL // 2 else max(room - sum(map(_min_lines, others)), room * 2 // 5)
    lines += table_lines(tables[chosen], width, document.now, first=view.row, height=own)
    for table in others:
        room = min(height - len(lines) - 2, MIN_TABLE_LINES + 1)
        added = table_lines(table, width, document.now, height=room)
        if 1 < len(added) <= room:  # at least a row besides the labels
            lines += [[], [Span(heading(table), "bold")], *added]
    return lines


def _min_lines(table: Table) -> int:
    """Return the approximate number of lines of a table that is not selected: some of its rows are enough."""
    return min(len(table.rows), MIN_TABLE_LINES - 3) + 3


def _tabs(view: View, chosen: int, width: int) -> Line:
    """Return the tables' titles, cut if they do not fit; the selected one is always visible."""
    assert view.document is not None
    for label in range(MAX_TAB_WIDTH, MIN_TAB_WIDTH - 1, -1):
        titles = [f" {heading(table, label)} " for table in view.document.tables]
        if sum(map(columns, titles)) < width:
            break
    first = 0
    while first < chosen and sum(map(columns, titles[first : chosen + 1])) > width - 2:
        first += 1
    spans = [Span("<" if first else " ", "dim")]
    for number, title in list(enumerate(titles))[first:]:
        if sum(columns(span.text) for span in spans) + columns(title) > width - 1 and number != chosen:
            spans.append(Span(">", "dim"))
            break
        spans.append(Span(title, "selected" if number == chosen else "plain"))
    return spans
