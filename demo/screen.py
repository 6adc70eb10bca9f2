"""The output of the demo: one line of progress, and tables."""

import sys
import time
from collections.abc import Sequence
from typing import Any, TextIO

EVERY = 5.0  # seconds between progress lines without a terminal


class Screen:
    """Prints progress, on a terminal in place, else as a line every EVERY seconds."""

    def __init__(self, out: TextIO = sys.stdout) -> None:
        self._out = out
        self._live = out.isatty()
        self._open = False  # True while the last line is progress, without a line end
        self._shown = float("-inf")

    def write(self, text: str = "") -> None:
        if self._open:
            self._out.write("\n")
            self._open = False
        print(text, file=self._out, flush=True)

    def progress(self, text: str) -> None:
        if self._live:
            self._out.write(f"\r\x1b[K{text}")
            self._out.flush()
            self._open = True
        elif time.monotonic() - self._shown >= EVERY:
            self._shown = time.monotonic()
            print(text, file=self._out, flush=True)

    def table(self, head: Sequence[str], rows: Sequence[Sequence[Any]], width: int = 60) -> None:
        for line in table(head, rows, width):
            self.write(line)


def table(head: Sequence[str], rows: Sequence[Sequence[Any]], width: int = 60) -> list[str]:
    """Return the lines of a plain table: numbers right-aligned, texts truncated to `width`, None empty."""
    cells = [list(head), *([_cell(value, width) for value in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    right = [all(isinstance(row[column], int | float) for row in rows) for column in range(len(head))]
    cells.insert(1, ["-" * size for size in widths])
    return [
        "  ".join(
            cell.rjust(size) if to_right else cell.ljust(size)
            for cell, size, to_right in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in cells
    ]


def _cell(value: Any, width: int) -> str:
    if value is None:
        return ""
    if isinstance(value, int):
        return f"{value:,}"
    text = str(value)
    return text if len(text) <= width else text[: width - 1] + "…"
