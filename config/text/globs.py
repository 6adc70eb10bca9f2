r"""Globs in Filebeat's syntax, which is that of Go's filepath.Match.

In a segment, `*` matches any characters (including a leading dot), `?` one, `[a-z]` and `[^a-z]` one of a set; `\`
makes the next character literal. `{a,b}`, `[!a]` and `[:digit:]` have no special meaning. A segment `**` matches any
number of directories. Segments without a wildcard are looked up by name, so their directories need not be readable.
"""

import os
import re
from dataclasses import dataclass, field
from functools import lru_cache

_MAGIC = re.compile(r"[*?\[\\]")
_CHARACTER = r"(?:\\.|[^]\\-])"
_TOKEN = re.compile(
    rf"""(?P<stars>\*+) | (?P<one>\?) | \[(?P<negated>\^?+)(?P<set>(?:{_CHARACTER}(?:-{_CHARACTER})?)+)\]
    | \\(?P<escaped>.) | (?P<plain>[^\\\[])""",
    re.DOTALL | re.VERBOSE,
)
_RANGE = re.compile(rf"({_CHARACTER})(?:-({_CHARACTER}))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class FixedName:
    """A segment without a wildcard."""

    name: str


@dataclass(frozen=True, slots=True)
class Wildcard:
    """A segment with wildcards. `ending`: the final characters of all names that it matches."""

    text: str
    regex: re.Pattern[str] = field(compare=False)
    ending: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A part of a segment: stars, or the expression of one character, with that character if only one matches."""

    stars: bool = False
    regex: str = ""
    literal: str | None = None


@dataclass(frozen=True, slots=True)
class AnyDepth:
    """`**`: the directory itself and all directories below it. The segment after it is a Wildcard."""


Segment = FixedName | Wildcard | AnyDepth


@dataclass(frozen=True, slots=True)
class PathPattern:
    """A parsed glob. `root` is the deepest directory without a wildcard, `middle` leads from there to the directories
    of `last`.
    """

    path: str
    root: str
    middle: tuple[Segment, ...]
    last: FixedName | Wildcard

    @property
    def is_literal(self) -> bool:
        return not self.middle and isinstance(self.last, FixedName)


def parse(text: str, *, recursive: bool) -> PathPattern:
    """Parse a glob; relative ones start at the current directory. `recursive`: `**` matches any depth, otherwise it is
    `*`. Raises ValueError for an invalid one.
    """
    if "\0" in text:
        raise ValueError(f"{text!r} is not a path: it contains a NUL character")
    path = os.path.abspath(text)
    names = path.split("/")[1:]
    fixed = next((index for index, name in enumerate(names) if _MAGIC.search(name)), len(names))
    fixed = min(fixed, len(names) - 1)
    *middle, last = _segments(names[fixed:], recursive)
    assert not isinstance(last, AnyDepth)
    return PathPattern(path, "/" + "/".join(names[:fixed]), tuple(middle), last)


def matches(pattern: PathPattern, path: str) -> bool:
    """Return True if a file with this path, which need not exist, would be found."""
    above = pattern.root.rstrip("/") + "/"
    path = os.path.abspath(path)
    return path.startswith(above) and _match([*pattern.middle, pattern.last], path[len(above) :].split("/"))


def _match(segments: list[Segment], names: list[str]) -> bool:
    # The counts of names that the segments so far can match: trying each choice for each `**` is exponential.
    matched = {0}
    for segment in segments:
        if isinstance(segment, AnyDepth):
            matched = set(range(min(matched), len(names) + 1))
        else:
            matched = {count + 1 for count in matched if count < len(names) and _fits(segment, names[count])}
        if not matched:
            return False
    return len(names) in matched


def _fits(segment: FixedName | Wildcard, name: str) -> bool:
    return segment.name == name if isinstance(segment, FixedName) else segment.regex.fullmatch(name) is not None


def _segments(names: list[str], recursive: bool) -> list[Segment]:
    segments: list[Segment] = []
    for name in names:
        deep = bool(segments) and isinstance(segments[-1], AnyDepth)
        if name == "**" and recursive:
            segments += [] if deep else [AnyDepth()]
        elif deep or _MAGIC.search(name):
            # Below `**` every directory is listed anyway, so names need not be looked up in each.
            segments.append(wild(name))
        else:
            segments.append(FixedName(name))
    if isinstance(segments[-1], AnyDepth):
        segments.append(wild("*"))
    return segments


@lru_cache(maxsize=1024)  # an input's patterns are parsed for its scanner, and for comparison with others
def wild(text: str) -> Wildcard:
    pieces = [""]  # text between the stars
    ending = ""
    for token in tokens(text):
        ending = "" if token.literal is None else ending + token.literal
        if token.stars:
            pieces.append("")
        else:
            pieces[-1] += token.regex
    first, *middle = pieces
    last = middle.pop() if middle else None
    # Atomic: otherwise, a name that does not match takes time exponential in the number of stars.
    regex = first + "".join(f"(?>.*?{piece})" for piece in middle) + (f".*{last}" if last is not None else "")
    return Wildcard(text, re.compile(regex, re.DOTALL), ending)


def tokens(text: str) -> list[Token]:
    """Return the parts of a segment. Raises ValueError."""
    parts: list[Token] = []
    position = 0
    while position < len(text):
        token = _TOKEN.match(text, position)
        if token is None:
            raise ValueError(
                f"{text!r} is not a valid glob: a set must be complete, as in [a-z], and a character must follow \\"
            )
        parts.append(_token(token))
        position = token.end()
    return parts


def _token(token: re.Match[str]) -> Token:
    if token["stars"]:
        return Token(stars=True)
    if token["set"]:
        return Token(regex=_set(token["set"], bool(token["negated"])))
    literal = token["escaped"] or token["plain"]
    return Token(regex=".") if literal is None else Token(regex=re.escape(literal), literal=literal)


def _set(text: str, negated: bool) -> str:
    ranges = []
    for first, last in _RANGE.findall(text):
        low = first[-1]
        high = last[-1] if last else low
        if low <= high:  # a reversed range is empty
            ranges.append(f"{re.escape(low)}-{re.escape(high)}")
    if not ranges:
        return "." if negated else "(?!)"
    return f"[{'^' if negated else ''}{''.join(ranges)}]"
