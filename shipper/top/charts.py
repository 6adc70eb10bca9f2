"""Charts of block characters: one strip per series, all of a chart on one scale from 0."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from log_shipper.shipper.top.document import Chart, Series
from log_shipper.shipper.top.text import Line, Span, Style, columns, left, right, rule_off, shown
from log_shipper.shipper.top.values import duration, figure

SERIES_STYLES: Sequence[Style] = ("first", "second", "third")
MAX_LABEL_WIDTH = 16


@dataclass(frozen=True, slots=True)
class Glyphs:
    """A set of characters; `levels` fill a cell from the bottom, the last one completely."""

    levels: str = "▁▂▃▄▅▆▇█"


BLOCKS = Glyphs()
CONSOLE = Glyphs(levels="_▄█")  # characters in fonts of the Linux console
ASCII = Glyphs(levels="_.:|#")


def chart_lines(chart: Chart, width: int, rows: int, glyphs: Glyphs) -> list[Line]:
    """Return the title, and `rows` lines for each series; only the title if all values are 0 or unknown."""
    points = max((len(series.values) for series in chart.series), default=0)
    known = [value for series in chart.series for value in series.values if value is not None]
    top, period = max(known, default=0.0), duration(points * chart.step)
    if top > 0:
        scale = f"last {period}, max {figure(top, chart.unit)}"
    else:
        scale = f"{figure(0, chart.unit)} for the last {period}" if known else "no data yet"
    lines = [rule_off([Span(shown(chart.title), "bold")], [Span(scale, "dim")], width)]
    return lines if top <= 0 else [*lines, *_strips(chart, width, rows, glyphs)]


def _strips(chart: Chart, width: int, rows: int, glyphs: Glyphs) -> list[Line]:
    lines: list[Line] = []
    top = max(value for series in chart.series for value in series.values if value is not None)
    label = min(max(columns(shown(series.label)) for series in chart.series), MAX_LABEL_WIDTH)
    value = max(columns(_newest(series, chart)) for series in chart.series)
    size = max(width - label - value - 3, 1), rows
    for index, series in enumerate(chart.series):
        style = SERIES_STYLES[index % len(SERIES_STYLES)]
        strips = strip(joined(series.values, size[0], chart.newest), size, top, glyphs)
        for row, text in enumerate(strips):
            is_last = row == len(strips) - 1
            name, newest = (shown(series.label), _newest(series, chart)) if is_last else ("", "")
            lines.append([Span(f" {left(name, label)} "), Span(text, style), Span(f" {right(newest, value)}")])
    return lines


def _newest(series: Series, chart: Chart) -> str:
    return figure(series.values[-1] if series.values else None, chart.unit)


def strip(values: Sequence[float | None], size: tuple[int, int], top: float, glyphs: Glyphs) -> list[str]:
    """Return one line per row of `size`, of exactly its width, with one column per value, the newest at the right. An
    unknown value is blank, and any other than 0 has at least the lowest level.
    """
    width, rows = size
    levels = len(glyphs.levels)
    heights = [_height(value, top, rows * levels) for value in values]
    lines = []
    for row in reversed(range(rows)):
        filled = [min(max(height - row * levels, 0), levels) for height in heights]
        lines.append("".join(glyphs.levels[level - 1] if level else " " for level in filled).rjust(width))
    return lines


def _height(value: float | None, top: float, levels: int) -> int:
    if value is None or value <= 0 or top <= 0:
        return 0
    return max(round(min(value / top, 1.0) * levels), 1)


def joined(values: Sequence[float | None], width: int, newest: int) -> list[float | None]:
    """Return at most `width` values, each the mean of an equal number. `newest` is the absolute number of the last
    value, which keeps the grouping stable while new ones arrive; otherwise, the chart would flicker.
    """
    if not values:
        return []
    step = math.ceil(len(values) / width)
    starts = [start for start in range(len(values)) if start == 0 or (newest - len(values) + 1 + start) % step == 0]
    groups = [values[start:end] for start, end in zip(starts, [*starts[1:], len(values)], strict=True)]
    return [_mean(group) for group in groups][-width:]


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
