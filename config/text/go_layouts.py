"""Go's time layouts: an example that shows how one fixed time (Mon Jan 2 15:04:05 MST 2006) is written.

A layout is compiled to one regular expression. Each element takes as much as it can and never backtracks, as in Go's
parser, so matching is linear in the text. The elements: https://pkg.go.dev/time#pkg-constants
"""

import re
from dataclasses import dataclass

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_LONG_MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_LONG_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

_ONE_OR_TWO = "[0-9]{1,2}+"
_TWO = "[0-9]{2}"
_FRACTION = "(?:[.,]([0-9]++))?+"
_NAMED_ZONE = "(?>UTC|ChST|MeST|GMT(?:[+-][0-9]{1,2}+)?+|[+-][0-9]{2}|(?:[A-Z]{3,4}T|WITA|[A-Z]{3})(?![A-Z]))"


def _one_of(names: tuple[str, ...]) -> str:
    return f"(?i:{'|'.join(names)})"


def _offset(minutes: str, seconds: str = "") -> str:
    return f"[+-][0-9]{{2}}{minutes}{seconds}"


def _zones() -> dict[str, tuple[str, str]]:
    """Return the elements for zones; in those that begin with `Z`, a Z stands for UTC."""
    digits = {
        "070000": _offset(_TWO, _TWO),
        "07:00:00": _offset(":" + _TWO, ":" + _TWO),
        "0700": _offset(_TWO),
        "07:00": _offset(":" + _TWO),
        "07": _offset(""),
    }
    plain = {f"-{text}": ("offset", f"({pattern})") for text, pattern in digits.items()}
    return plain | {f"Z{text}": ("offset", f"(Z|{pattern})") for text, pattern in digits.items()}


# Element of a layout -> its kind and pattern; the first one that fits applies.
_PIECES: dict[str, tuple[str, str]] = {
    "January": ("month name", f"({_one_of(_LONG_MONTHS)})"),
    "Jan": ("month name", f"({_one_of(MONTHS)})"),
    "Monday": ("", _one_of(_LONG_DAYS)),
    "Mon": ("", _one_of(_DAYS)),
    "MST": ("zone", f"({_NAMED_ZONE})"),
    "002": ("day of year", "([0-9]{3})"),
    "01": ("month", f"({_TWO})"),
    "02": ("day", f"({_TWO})"),
    "03": ("hour of 12", f"({_TWO})"),
    "04": ("minute", f"({_TWO})"),
    "05": ("second", f"({_TWO})"),
    "06": ("short year", f"({_TWO})"),
    "15": ("hour", f"({_ONE_OR_TWO})"),
    "1": ("month", f"({_ONE_OR_TWO})"),
    "2006": ("year", "([0-9]{4})"),
    "2": ("day", f"({_ONE_OR_TWO})"),
    "__2": ("day of year", " {0,2}+([0-9]{1,3}+)"),
    "_2": ("day", f" ?+({_ONE_OR_TWO})"),
    "3": ("hour of 12", f"({_ONE_OR_TWO})"),
    "4": ("minute", f"({_ONE_OR_TWO})"),
    "5": ("second", f"({_ONE_OR_TWO})"),
    "PM": ("half", "([AP]M)"),
    "pm": ("half", "([ap]m)"),
    **_zones(),
}
_IN_LAYOUT = re.compile("|".join(re.escape(piece) for piece in _PIECES))
_FRACTION_IN_LAYOUT = re.compile(r"[.,](0+|9+)(?![0-9])")


@dataclass(frozen=True, slots=True)
class GoLayout:
    """A compiled layout; `kinds` is the kind of each group of the pattern."""

    pattern: re.Pattern[str]
    kinds: tuple[str, ...]

    def match(self, text: str) -> dict[str, str | None] | None:
        """Return the parts of a text by kind, the last one of each; None if the text does not match."""
        matched = self.pattern.fullmatch(text)
        return None if matched is None else dict(zip(self.kinds, matched.groups(), strict=True))


def compile_layout(layout: str) -> GoLayout:
    """Compile a layout. Any text is valid: anything but an element of the example is literal."""
    kinds: list[str] = []
    patterns: list[str] = []
    position = literal = 0
    while position < len(layout):
        piece = _piece(layout, position)
        if piece is None:
            position += 1
            continue
        patterns.append(_literal(layout[literal:position]))
        text, kind, pattern = piece
        position += len(text)
        literal = position
        if kind == "second" and not _fraction_is_next(layout, position):
            pattern += _FRACTION  # Go accepts a fraction after the seconds, even if the layout has none
            kinds.append(kind)
            kind = "fraction"
        if kind:
            kinds.append(kind)
        patterns.append(pattern)
    patterns.append(_literal(layout[literal:]))
    return GoLayout(re.compile("".join(patterns), re.ASCII), tuple(kinds))


def _piece(layout: str, position: int) -> tuple[str, str, str] | None:
    """Return the element that begins here: its text, kind and pattern."""
    if fraction := _FRACTION_IN_LAYOUT.match(layout, position):
        digits = fraction[1]
        pattern = f"[.,]([0-9]{{{len(digits)}}})" if digits[0] == "0" else _FRACTION
        return fraction[0], "fraction", pattern
    if layout.startswith("_2006", position):
        return None  # an underscore followed by a year
    matched = _IN_LAYOUT.match(layout, position)
    if matched is None:
        return None
    text = matched[0]
    if text in ("Jan", "Mon") and "a" <= layout[position + 3 : position + 4] <= "z":
        return None  # the beginning of another word
    return text, *_PIECES[text]


def _fraction_is_next(layout: str, position: int) -> bool:
    """Return True if the next element is a fraction of a second."""
    while position < len(layout):
        piece = _piece(layout, position)
        if piece is not None:
            return piece[1] == "fraction"
        position += 1
    return False


def _literal(text: str) -> str:
    """Return a pattern for literal text. Spaces match any number of spaces, and none only at the end of the text."""
    return "".join(_blanks(part) for part in re.split("( +)", text))


def _blanks(part: str) -> str:
    return r"(?: ++|\Z)" if part.startswith(" ") else re.escape(part)
