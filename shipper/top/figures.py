"""Figures side by side: label, value, and rate per second."""

from collections.abc import Sequence

from log_shipper.shipper.top.document import Figure
from log_shipper.shipper.top.text import Line, Span, columns, left, right, shown
from log_shipper.shipper.top.values import figure, rate

MAX_STACKS = 5
MIN_LABEL_WIDTH = 20  # minimum columns of a label

Cell = tuple[str, str, str]


def figure_lines(figures: Sequence[Figure], width: int, max_lines: int | None = None) -> list[Line]:
    """Return an empty line and the figures in as many stacks as fit, read column by column. For at most `max_lines`
    lines, figures that are 0 are left out first, then labels are cut, so that more stacks fit.
    """
    for count in range(MAX_STACKS, 0, -1):
        chosen = figures if max_lines is None else _chosen(figures, max_lines * count)
        height = -(-len(chosen) // count)
        cells = [_cell(item) for item in chosen]
        stacks = [cells[start : start + height] for start in range(0, len(cells), max(height, 1))]
        labels = _labels(stacks, width, MIN_LABEL_WIDTH if max_lines or count == 1 else width)
        if labels is not None:
            break
    else:
        labels = [MIN_LABEL_WIDTH]  # and lines are cut at the width
    drawn = [_stack(stack, label) for stack, label in zip(stacks, labels, strict=True)]
    rows = [[span for stack in drawn if number < len(stack) for span in stack[number]] for number in range(height)]
    return [[], *rows] if rows else []


def _chosen(figures: Sequence[Figure], max_lines: int) -> Sequence[Figure]:
    if len(figures) <= max_lines:
        return figures
    nonzero = [item for item in figures if item.value]
    room = max(max_lines - len(nonzero), 0)
    kept = set(map(id, nonzero[:max_lines])) | set(map(id, [item for item in figures if not item.value][:room]))
    return [item for item in figures if id(item) in kept]


def _cell(item: Figure) -> Cell:
    return shown(item.label), figure(item.value, item.unit), rate(item.rate, item.unit)


def _labels(stacks: Sequence[Sequence[Cell]], width: int, min_width: int) -> list[int] | None:
    """Return the label width of each stack, cutting the widest down to `min_width`; None if that is not enough."""
    labels = [max(columns(label) for label, _, _ in stack) for stack in stacks]
    excess = sum(labels) + sum(_beside(stack) for stack in stacks) - width
    while excess > 0 and max(labels) > min_width:
        labels[labels.index(max(labels))] -= 1
        excess -= 1
    return None if excess > 0 else labels


def _beside(stack: Sequence[Cell]) -> int:
    """Return the columns of a stack besides its labels."""
    value, change = (max(columns(cell[part]) for cell in stack) for part in (1, 2))
    return 1 + 1 + value + (1 + change if change else 0) + 1


def _stack(stack: Sequence[Cell], label: int) -> list[list[Span]]:
    value, change = (max(columns(cell[part]) for cell in stack) for part in (1, 2))
    return [
        [
            Span(f" {left(cell[0], label)} "),
            Span(right(cell[1], value), "bold"),
            Span(f" {right(cell[2], change)}" if change else "", "dim"),
            Span(" "),
        ]
        for cell in stack
    ]
