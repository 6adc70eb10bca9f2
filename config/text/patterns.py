"""Compiles all regular expressions of a configuration with RE2, as Filebeat does.

RE2's time is linear in the text for every pattern; with Python's `re`, one log line could stall the agent. A pattern
that RE2 rejects (look-around, back-references) is a configuration error, and so is one that compiles to more than its 8
MiB. A pattern that exceeds its automaton at run time is matched by a slower algorithm, never wrongly. (`re2.Set` is
public and as fast, but reports no match when its memory is exhausted.)

RE2 reads UTF-8, so each text is encoded once; a lone surrogate, which no text should contain, becomes `?`. It is loaded
with the first pattern: it takes 2.5 MB, and many configurations have none.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from re import escape
from typing import Annotated, Any

Span = tuple[int, int]
Groups = tuple[str | None, ...]

# The public `search` creates objects for every match and maps offsets: 1.5 to 4 us a line, compared with 0.5 for the
# underlying C++ method. That is private: the version is pinned, and tests/unit/config/text/test_patterns.py calls it,
# too. Its first argument comes with it.
_Match = tuple[Callable[[Any, bytes, int, int], list[Span]], Any]
_NOWHERE: Span = (-1, -1)

_LACKING = ("(?=", "(?!", "(?<", "(?>", *(f"\\{digit}" for digit in range(1, 10)))
_LACKS = "; RE2 has no look-around, no back-references and no atomic groups"


class _Rejected(Exception):
    """Raised if RE2 rejects a pattern; the text has the reason."""


def parse_pattern(text: str) -> str:
    """Return the pattern itself. Raises ValueError with a message for the user if RE2 rejects it."""
    try:
        _compiled(text)
    except _Rejected as error:
        why = str(error)
        lacks = _LACKS if why.rpartition(": ")[2].startswith(_LACKING) else _no_glob(text)
        raise ValueError(f"{_quoted(text)} is not a regular expression in RE2 syntax: {why}{lacks}") from error
    except UnicodeEncodeError as error:
        raise ValueError(
            f"{text!r} is not a regular expression: it contains half a character (a lone surrogate)"
        ) from error
    return text


def _quoted(text: str) -> str:
    """Return the text as written, without doubled backslashes, so that it can be copied from the message."""
    return f"'{text}'" if text.isprintable() else repr(text)


def _no_glob(text: str) -> str:
    ending = text.lstrip("*")
    hint = f"; it is not a glob: for names ending in {ending}, write '{escape(ending)}$'"
    return hint if text.startswith("*") and ending else ""


# The second argument is called by the loader with the scalar's text.
Pattern = Annotated[str, parse_pattern]


def searcher(patterns: Sequence[str]) -> Callable[[str], bool]:
    """Return a function that is True for texts in which one of these valid patterns is found."""
    matches = _matches(patterns)
    if len(matches) != 1:
        return lambda text: _one_finds(matches, text.encode("utf-8", "replace"))
    match, anywhere = matches[0]

    def search(text: str) -> bool:
        raw = text.encode("utf-8", "replace")
        return match(anywhere, raw, 0, len(raw))[0] != _NOWHERE

    return search


def column_searcher(patterns: Sequence[str]) -> Callable[[Iterable[str]], list[bool]]:
    """Return the same for many texts at once, without a Python call for each."""
    return _column_searcher(tuple(patterns))


@cache
def _column_searcher(patterns: tuple[str, ...]) -> Callable[[Iterable[str]], list[bool]]:
    matches = _matches(patterns)
    if len(matches) != 1:
        return lambda texts: [_one_finds(matches, raw) for raw in _encoded(texts)]
    match, anywhere = matches[0]

    def search_all(texts: Iterable[str]) -> list[bool]:
        return [match(anywhere, raw, 0, len(raw))[0] != _NOWHERE for raw in _encoded(texts)]

    characters = deciding_characters("|".join(patterns))
    if characters is None or characters > MAX_CHARACTERS:
        return search_all
    return PrefixCache(search_all, characters).search_all


def _one_finds(matches: list[_Match], raw: bytes) -> bool:
    return any(match(anywhere, raw, 0, len(raw))[0] != _NOWHERE for match, anywhere in matches)


def _encoded(texts: Iterable[str]) -> list[bytes]:
    return [text.encode("utf-8", "replace") for text in texts]


def _matches(patterns: Sequence[str]) -> list[_Match]:
    return [_match(pattern, captures=False) for pattern in _united(patterns)]


def _united(patterns: Sequence[str]) -> list[str]:
    r"""Return one pattern that matches whatever any of these does, or all of them if they cannot be combined: `\Q`
    would quote everything after it, and together they may be too large."""
    if len(patterns) < 2 or any("\\Q" in pattern for pattern in patterns):
        return list(patterns)
    one = "|".join(f"(?:{pattern})" for pattern in patterns)
    try:
        _compiled(one, captures=False)
    except _Rejected:
        return list(patterns)
    return [one]


def group_names(pattern: str) -> dict[str, int]:
    """Return the named groups of a pattern: name -> number."""
    return dict(_compiled(pattern)[0].groupindex)


def count_groups(pattern: str) -> int:
    """Return the number of groups of a pattern, without the whole match."""
    return int(_compiled(pattern)[0].groups)


def matcher(pattern: str) -> Callable[[str], Groups | None]:
    """Return a function for the groups of the first match in a text, by number, 0 being the whole match. It returns
    None if nothing matches; a group that took no part is None.
    """
    match, anywhere = _match(pattern)

    def groups(text: str) -> Groups | None:
        raw = text.encode("utf-8", "replace")
        spans = match(anywhere, raw, 0, len(raw))
        if spans[0] == _NOWHERE:
            return None
        if len(raw) == len(text):
            return tuple([None if start < 0 else text[start:end] for start, end in spans])
        return tuple([None if start < 0 else raw[start:end].decode("utf-8", "replace") for start, end in spans])

    return groups


def finder(pattern: str) -> Callable[[str], Iterator[list[Span]]]:
    """Return a function for all non-overlapping matches in a text from the left: the span of each group, by number, in
    characters; (-1, -1) for a group that took no part. As in Go, an empty match directly after another does not count.
    """
    match = _match(pattern)

    def find(text: str) -> Iterator[list[Span]]:
        raw = text.encode("utf-8", "replace")
        matches = _all_matches(match, raw)
        return matches if len(raw) == len(text) else _in_characters(matches, raw)

    return find


def _all_matches(match: _Match, raw: bytes) -> Iterator[list[Span]]:
    find, anywhere = match
    position, before = 0, -1
    while position <= len(raw):
        spans = find(anywhere, raw, position, len(raw))
        start, end = spans[0]
        if start < 0:
            return
        if end > start or end != before:
            yield spans
        position, before = end, end
        if start == end:
            position += 1
            while position < len(raw) and raw[position] & 0xC0 == 0x80:  # inside a character
                position += 1


def _in_characters(matches: Iterator[list[Span]], raw: bytes) -> Iterator[list[Span]]:
    position = characters = 0
    for spans in matches:
        start = spans[0][0]
        characters += _count(raw, position, start)
        position = start
        yield [
            span
            if span == _NOWHERE
            else (characters + _count(raw, position, span[0]), characters + _count(raw, position, span[1]))
            for span in spans
        ]


def _count(raw: bytes, start: int, end: int) -> int:
    return len(raw[start:end].decode("utf-8", "replace"))


def _match(pattern: str, *, captures: bool = True) -> _Match:
    compiled, anywhere = _compiled(pattern, captures=captures)
    return compiled._regexp.Match, anywhere


@cache
def _compiled(pattern: str, *, captures: bool = True) -> tuple[Any, Any]:
    import re2

    options = re2.Options()
    options.log_errors = False  # would write to stderr, bypassing our log
    options.never_capture = not captures  # locating a group costs another pass over the text
    try:
        return re2.compile(pattern, options), re2._Anchor.UNANCHORED
    except re2.error as error:
        raise _Rejected(error.args[0].decode("utf-8", "replace")) from error


# An item that matches exactly one character (itself, an escape, a set), and its repetition.
_ONE = (
    r"(?:[^\\^$.|?*+()\[\]{}]|\\[^\w]|\\[adfnrstvwDSW]|\.|\[\^?(?:\[:\^?\w+:\]|[^\\\[\]^]|\\[^\w]|\\[adfnrstvwDSW])+\])"
)
_TIMES = r"(?:\?|\{(?P<times>\d+)(?:,(?P<most>\d+))?\})?"
_ITEM = re.compile(_ONE + _TIMES)
# If the last item may be repeated, finding it once is enough.
_ALTERNATIVE = re.compile(rf"\^(?P<items>(?:{_ONE}(?:\?|\{{\d+(?:,\d+)?\}})?)*?)(?P<more>{_ONE}[+*])?(?:\||\Z)")

MAX_CHARACTERS = 12  # longer prefixes contain the time of day
MAX_CACHED = 4096


def deciding_characters(pattern: str) -> int | None:
    r"""Return how many of a text's first characters decide whether the pattern matches; None if unknown.

    Most patterns of `multiline` are of this kind (`^\s|^Caused by:`, `^\d{4}-`), and lines begin in few ways. The
    result for each prefix is cached, which takes a sixth of RE2's time.
    """
    longest = position = 0
    while position < len(pattern) or pattern[-1:] == "|":
        alternative = _ALTERNATIVE.match(pattern, position)
        if alternative is None:
            return None
        items = _ITEM.finditer(alternative["items"])
        length = sum(int(item["most"] or item["times"] or 1) for item in items) + bool(alternative["more"])
        longest, position = max(longest, length), alternative.end()
    return longest if pattern else None


class PrefixCache(dict[str, bool]):
    """A cache of match results by the first `size` characters. Shared by all files, because it can grow large. It
    disables itself if lines begin in too many ways.
    """

    def __init__(self, search_all: Callable[[Iterable[str]], list[bool]], size: int) -> None:
        super().__init__()
        self._search_all = search_all
        self._size = size
        self._lookups = 0
        self._are_few = True

    def search_all(self, texts: Iterable[str]) -> list[bool]:
        if not self._are_few:
            return self._search_all(texts)
        size = self._size
        results = [self[text[:size]] for text in texts]
        self._lookups += len(results)
        return results

    def __missing__(self, beginning: str) -> bool:
        if len(self) >= MAX_CACHED:
            self._are_few = self._lookups > 4 * MAX_CACHED
            self._lookups = 0
            self.clear()
        self[beginning] = result = self._search_all((beginning,))[0]
        return result
