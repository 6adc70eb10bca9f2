"""The syntax of `grok`: regular expressions in which `%{PATTERN:field:type}` stands for a named pattern.

`(?<field>...)` also captures; an unnamed group does not, as in other grok implementations. Everything is compiled to
one RE2 expression, so matching is linear in the text. Features of backtracking engines (look-around, back-references)
are rejected.
"""

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass

from log_shipper.config.text.grok_patterns import PATTERNS
from log_shipper.config.text.patterns import parse_pattern
from log_shipper.config.text.tokenizer import clashing

TYPES = ("int", "integer", "long", "float", "double", "boolean", "string")
# Definitions that use each other twice double at every step; no sensible expression reaches this size.
_MAX_CHARACTERS = 200_000

_SPLIT = re.compile(
    r"\\Q.*?(?:\\E|$)"  # quoted
    r"|\\."
    r"|%\{(?P<use>[^{}]*)\}"
    r"|\(\?P?<(?P<field>[^!=>][^>]*)>"
    r"|(?P<atomic>\(\?>)"
    r"|\(\?"
    r"|(?P<bare>\()"
    r"|\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*+\]",  # a set of characters
    re.DOTALL,
)
_USE = re.compile(r"(?P<name>[\w.-]+)(?::(?P<field>[^:]+))?(?::(?P<type>\w+))?", re.ASCII)
_BRACKETS = re.compile(r"(?:\[[^\[\]]+\])+")


@dataclass(frozen=True, slots=True)
class Capture:
    path: tuple[str, ...]
    type: str


@dataclass(frozen=True, slots=True)
class Expression:
    """A compiled expression; `regexp` has one group for each capture, in order."""

    regexp: str
    captures: tuple[Capture, ...]


def parse_expression(pattern: str, own: Mapping[str, str], *, named_only: bool = True) -> Expression:
    """Compile an expression; definitions in `own` take precedence over the library's. Raises ValueError with a message
    for the user."""
    expansion = _Expansion({**PATTERNS, **own}, named_only)
    regexp = expansion.expand(pattern, ())
    try:
        parse_pattern(regexp)
    except ValueError as error:  # show the original text, not its expansion
        raise ValueError(str(error).replace(repr(regexp), repr(pattern))) from error
    if clash := clashing([".".join(capture.path) for capture in expansion.captures]):
        raise ValueError(clash)
    return Expression(regexp, tuple(expansion.captures))


class _Expansion:
    def __init__(self, definitions: Mapping[str, str], named_only: bool) -> None:
        self.captures: list[Capture] = []
        self._definitions = definitions
        self._named_only = named_only
        self._length = 0

    def expand(self, pattern: str, within: tuple[str, ...]) -> str:
        """Replace the named patterns; `within` holds the enclosing patterns."""
        self._length += len(pattern)
        if self._length > _MAX_CHARACTERS:
            raise ValueError(
                f"expands to more than {_MAX_CHARACTERS} characters; check how the definitions refer to each other"
            )
        done, position = [], 0
        for token in _SPLIT.finditer(pattern):
            done += [_plain(pattern[position : token.start()]), self._piece(token, within)]
            position = token.end()
        return "".join([*done, _plain(pattern[position:])])

    def _piece(self, token: re.Match[str], within: tuple[str, ...]) -> str:
        if token["use"] is not None:
            return self._use(token["use"], within)
        if token["field"] is not None:
            self.captures.append(Capture(_path(token["field"]), ""))
            return "("
        return "(?:" if token["atomic"] or token["bare"] else token[0]

    def _use(self, text: str, within: tuple[str, ...]) -> str:
        use = _USE.fullmatch(text)
        if use is None:
            raise ValueError(f"%{{{text}}} is not of the form %{{PATTERN:field:type}}")
        name, field, kind = use["name"], use["field"], use["type"] or ""
        if kind and kind not in TYPES:
            raise ValueError(f"%{{{text}}}: the type must be one of: {', '.join(TYPES)}")
        if name not in self._definitions:
            raise ValueError(self._unknown(name))
        if name in within:
            raise ValueError(f"pattern {name} refers to itself: {' > '.join((*within, name))}")
        if not field and not self._named_only:
            field = name
        if field:
            self.captures.append(Capture(_path(field), kind))
        return f"{'(' if field else '(?:'}{self.expand(self._definitions[name], (*within, name))})"

    def _unknown(self, name: str) -> str:
        close = difflib.get_close_matches(name, self._definitions, n=1, cutoff=0.6)
        return f"no pattern is named {name}" + (f"; did you mean {close[0]}?" if close else "; define it")


def _plain(text: str) -> str:
    if "%{" in text:
        raise ValueError(f"{text[text.index('%{') :]!r} has no closing brace; write %{{PATTERN:field:type}}")
    return text


def _path(field: str) -> tuple[str, ...]:
    """Return the dotted name of a field; `a.b` and `[a][b]` are the same."""
    path = tuple(field[1:-1].split("][")) if _BRACKETS.fullmatch(field) else tuple(field.split("."))
    if not all(path):
        raise ValueError(f"{field!r} is not a field name; write a.b or [a][b]")
    return path
