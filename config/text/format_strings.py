r"""Filebeat's format strings: text with fields and times, such as `logs-%{[fields.team]:other}-%{+yyyy.MM.dd}`.

%{[a.b]}  %{[a][b]}  the value of a field
%{[a.b]:text}        the text if an event lacks the field
%{+yyyy.MM.dd}       the event's time in UTC, in a layout of Joda-Time
\%  \\               the character itself
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

_PIECE = re.compile(r"%\{(?P<inside>[^}]*)(?P<end>\}?)|\\(?P<escaped>.)|(?P<text>[^%\\]+|.)", re.DOTALL)
_FIELD = re.compile(r"\s*((?:\[[^\[\]]+\])+)\s*(?::(.*))?", re.DOTALL)
_LAYOUT = re.compile(r"'(?P<quoted>(?:[^']|'')*)'|(?P<letters>([A-Za-z])\3*)|(?P<text>[^A-Za-z']+)|(?P<open>')")


@dataclass(frozen=True, slots=True)
class FieldPart:
    """A field; `name` is a dotted path. Without a `default`, an event that lacks it has no text."""

    name: str
    default: str | None = None


@dataclass(frozen=True, slots=True)
class TimePart:
    layout: str

    def text(self, moment: datetime) -> str:
        """Return the time, which is in UTC."""
        return "".join(_element(matched, moment) for matched in _elements(self.layout))


FormatPart = str | FieldPart | TimePart


def parse_format(text: str, example: str = "%{[fields.service]}") -> tuple[FormatPart, ...]:
    """Return the parts, with adjacent texts joined. Raises ValueError with a message for the user, which shows the
    `example`.
    """
    parts: list[FormatPart] = []
    for part in _parts(text, example):
        if isinstance(part, str) and parts and isinstance(parts[-1], str):
            parts[-1] += part
        else:
            parts.append(part)
    return tuple(parts)


def _parts(text: str, example: str) -> Iterator[FormatPart]:
    for matched in _PIECE.finditer(text):
        inside = matched["inside"]
        if inside is None:
            yield matched["escaped"] or matched["text"]
        elif not matched["end"]:
            raise ValueError(f"'%{{{inside}' has no closing brace; write '{example}'")
        else:
            yield _time(inside) if inside.startswith("+") else _field(inside, example)


def _field(inside: str, example: str) -> FieldPart:
    matched = _FIELD.fullmatch(inside)
    if matched is None:
        raise ValueError(f"'%{{{inside}}}' names no field; write '{example}' or '%{{[fields.service]:other}}'")
    name = ".".join(re.findall(r"\[([^\[\]]+)\]", matched[1]))
    if not all(part.strip() for part in name.split(".")):
        raise ValueError(f"'%{{{inside}}}': {name!r} is not a field name")
    return FieldPart(name, matched[2])


def _time(inside: str) -> TimePart:
    layout = inside.removeprefix("+")
    for matched in _LAYOUT.finditer(layout):
        if matched["open"]:
            raise ValueError(f"'%{{{inside}}}' has an unclosed quote")
        letters = matched["letters"]
        if letters and letters[0] not in _ELEMENTS:
            known = ", ".join(sorted(_ELEMENTS))
            raise ValueError(
                f"'%{{{inside}}}': {letters!r} is not a time element; write '%{{+yyyy.MM.dd}}' (known: {known})"
            )
    if not layout.strip():
        raise ValueError(f"'%{{{inside}}}' has no date pattern; write '%{{+yyyy.MM.dd}}', for example")
    return TimePart(layout)


def _year(value: int, count: int) -> str:
    return f"{value % 100:02d}" if count == 2 else f"{value:0{count}d}"


def _name(layout: str) -> Callable[[datetime, int], str]:
    """Return a time element; `layout` is strftime's for the short name, its capital for the full name."""
    return lambda moment, count: moment.strftime(layout.upper() if count > 3 else layout)


def _number(value: Callable[[datetime], int]) -> Callable[[datetime, int], str]:
    return lambda moment, count: f"{value(moment):0{count}d}"


def _month(moment: datetime, count: int) -> str:
    return f"{moment.month:0{count}d}" if count < 3 else _name("%b")(moment, count)


_ELEMENTS: dict[str, Callable[[datetime, int], str]] = {
    "y": lambda moment, count: _year(moment.year, count),
    "Y": lambda moment, count: _year(moment.year, count),
    "x": lambda moment, count: _year(moment.isocalendar().year, count),
    "w": _number(lambda moment: moment.isocalendar().week),
    "e": _number(lambda moment: moment.isoweekday()),
    "E": _name("%a"),
    "D": _number(lambda moment: moment.timetuple().tm_yday),
    "M": _month,
    "d": _number(lambda moment: moment.day),
    "a": lambda moment, count: "AM" if moment.hour < 12 else "PM",
    "H": _number(lambda moment: moment.hour),
    "k": _number(lambda moment: moment.hour or 24),
    "K": _number(lambda moment: moment.hour % 12),
    "h": _number(lambda moment: moment.hour % 12 or 12),
    "m": _number(lambda moment: moment.minute),
    "s": _number(lambda moment: moment.second),
    "S": lambda moment, count: f"{moment.microsecond:06d}".ljust(count, "0")[:count],
    "z": lambda moment, count: "UTC",
    "Z": lambda moment, count: "+0000" if count == 1 else "+00:00",
}


@lru_cache(maxsize=64)  # a topic may be chosen for each event
def _elements(layout: str) -> tuple[re.Match[str], ...]:
    return tuple(_LAYOUT.finditer(layout))


def _element(matched: re.Match[str], moment: datetime) -> str:
    if letters := matched["letters"]:
        return _ELEMENTS[letters[0]](moment, len(letters))
    quoted = matched["quoted"]
    if quoted is not None:
        return quoted.replace("''", "'") or "'"
    return matched["text"]
