"""Patterns for which the first characters of a text are decisive, such as `^\\s|^Caused by:` or `^\\d{4}-`.

Most patterns of `multiline` are of this kind, and lines begin in few ways. So the result for each beginning is cached,
which takes a sixth of RE2's time; if lines begin in too many ways, the cache turns itself off.
"""

import re
from collections.abc import Callable, Iterable

# An item that matches exactly one character (itself, an escape, a set), and its repetition.
_ONE = (
    r"(?:[^\\^$.|?*+()\[\]{}]|\\[^\w]|\\[adfnrstvwDSW]|\.|\[\^?(?:\[:\^?\w+:\]|[^\\\[\]^]|\\[^\w]|\\[adfnrstvwDSW])+\])"
)
_TIMES = r"(?:\?|\{(?P<times>\d+)(?:,(?P<most>\d+))?\})?"
_ITEM = re.compile(_ONE + _TIMES)
# If the last item may be repeated, finding it once is enough.
_ALTERNATIVE = re.compile(rf"\^(?P<items>(?:{_ONE}(?:\?|\{{\d+(?:,\d+)?\}})?)*?)(?P<more>{_ONE}[+*])?(?:\||\Z)")

MOST_CHARACTERS = 12  # longer beginnings contain the time of day
MOST_CACHED = 4096


def deciding_characters(pattern: str) -> int | None:
    """Return how many of a text's first characters decide whether the pattern matches; None if that is unknown."""
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
    """A cache by the first `size` characters: whether the pattern matches. Shared by all files, because it can grow
    large."""

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
        if len(self) >= MOST_CACHED:
            self._are_few = self._lookups > 4 * MOST_CACHED
            self._lookups = 0
            self.clear()
        self[beginning] = result = self._search_all((beginning,))[0]
        return result
