"""Lines of a terminal: styled pieces of text with known widths."""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from log_shipper.runtime.logs.visible import visible

Style = Literal["plain", "bold", "dim", "good", "warn", "bad", "selected", "first", "second", "third"]
ELLIPSIS = "…"


@dataclass(frozen=True, slots=True)
class Span:
    text: str
    style: Style = "plain"


Line = Sequence[Span]


def plain(lines: Iterable[Line]) -> str:
    return "".join("".join(span.text for span in line).rstrip() + "\n" for line in lines)


def columns(text: str) -> int:
    """Return the width of a text in columns: East Asian characters take two, combining ones none."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(character: str) -> int:
    if unicodedata.east_asian_width(character) in "WF":
        return 2
    return 0 if unicodedata.category(character) in ("Mn", "Me", "Cf") else 1


def shown(value: object) -> str:
    """Return external text on one line, without control characters."""
    return visible(str(value))


def cut(text: str, width: int) -> str:
    """Return the beginning that fits; of a path the end, which is more informative."""
    if columns(text) <= width:
        return text
    if width < 1:
        return ""
    if text.startswith("/"):
        return ELLIPSIS + _beginning(text[::-1], width - 1)[::-1]
    return _beginning(text, width - 1) + ELLIPSIS


def _beginning(text: str, width: int) -> str:
    taken = 0
    for index, character in enumerate(text):
        taken += _columns(character)
        if taken > width:
            return text[:index]
    return text


def left(text: str, width: int) -> str:
    """Return the text, left-aligned, cut or padded to exactly this width."""
    fitting = cut(text, width)
    return fitting + " " * (width - columns(fitting))


def right(text: str, width: int) -> str:
    fitting = cut(text, width)
    return " " * (width - columns(fitting)) + fitting


def wrapped(text: str, width: int, max_lines: int | None = None) -> list[str]:
    """Return the text wrapped at spaces where possible, on at most `max_lines` lines, the last of which is cut."""
    lines = list(_wrap(text, max(width, 1)))
    if max_lines is None or len(lines) <= max_lines:
        return lines
    return [*lines[: max_lines - 1], cut(" ".join(lines[max_lines - 1 :]), width)]


def _wrap(text: str, width: int) -> Iterator[str]:
    line = ""
    for word in text.split(" "):
        if line and columns(line) + 1 + columns(word) <= width:
            line = f"{line} {word}"
            continue
        if line:
            yield line
        line = word
        while columns(line) > width:
            piece = _beginning(line, width) or line[0]
            yield piece
            line = line[len(piece) :]
    yield line


def fitting(line: Line, width: int) -> Line:
    """Return the line cut to the width."""
    spans, free = [], width
    for span in line:
        text = _beginning(span.text, free)
        spans.append(Span(text, span.style))
        free -= columns(text)
    return spans


def rule_off(first: Line, last: Line, width: int) -> Line:
    """Return one text at the left, cut if necessary, and one at the right."""
    free = width - sum(columns(span.text) for span in last)
    beginning = fitting(first, max(free - 1, 0))
    blanks = free - sum(columns(span.text) for span in beginning)
    return fitting([*beginning, Span(" " * max(blanks, 0)), *last], width)
