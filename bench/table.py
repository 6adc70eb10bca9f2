"""Results as text: the median of the runs, and how far they lie apart."""

from collections.abc import Sequence
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
