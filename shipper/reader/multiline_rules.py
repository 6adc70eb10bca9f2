"""Rules that decide where messages end in a run of lines, one per `type` of multiline.

A decision must not depend on where reads end. So a rule may know only two things about earlier lines: how many the
pending message has, and whether the next line continues the last one.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

# The texts of a run's lines, each given once, and the number of lines of the pending message -> the ascending indices
# before which a message ends: 0 for the pending one, the number of lines for one that ends with the run.
Rule = Callable[[Sequence[str], int], Iterable[int]]
Search = Callable[[Sequence[str]], list[bool]]


def after(search: Search, negate: bool) -> Rule:
    """Return the rule that joins a matching line (with `negate`: a non-matching one) to the previous line."""
    return lambda texts, pending: [index for index, matches in enumerate(search(texts)) if matches == negate]


def before(search: Search, negate: bool) -> Rule:
    """Return the rule that joins a matching line (with `negate`: a non-matching one) to the next line."""
    return lambda texts, pending: [index for index, matches in enumerate(search(texts), 1) if matches == negate]


def alike(search: Search, negate: bool) -> Rule:
    """Return the rule that joins consecutive matching lines (with `negate`: non-matching ones); any other line is a
    separate message."""

    def ends(texts: Sequence[str], pending: int) -> list[int]:
        row = [matches != negate for matches in search(texts)]
        # A pending message consists of such lines; more may follow the run.
        return [index for index, both in enumerate(pairwise([True, *row, True])) if both != (True, True)]

    return ends


def counting(lines: int) -> Rule:
    return lambda texts, pending: range(lines - pending, len(texts) + 1, lines)


class Flushed:
    """The rule `after` or `before` with a flush pattern: a line that matches it also ends the message.

    As in Filebeat, the flush pattern is not applied to the first line of a message, and is applied before the other
    pattern: a line that would begin a message and matches it ends the previous message. So with `before` a message
    waits for the next line although its last line is not continued.
    """

    def __init__(self, search: Search, negate: bool, flush: Search, *, before: bool) -> None:
        self._search = search
        self._negate = negate
        self._flush = flush
        self._before = before
        self._wants_more = True  # with `before`: the last line belongs to the next one

    def __call__(self, texts: Sequence[str], pending: int) -> list[int]:
        begins = [matches == self._negate for matches in self._search(texts)]
        if self._before and begins:
            begins.insert(0, not self._wants_more)
            self._wants_more = not begins.pop()
        first = -1 if pending else 0
        ends = []
        for index, (begins_message, flushed) in enumerate(zip(begins, self._flush(texts), strict=True)):
            if index != first and (flushed or begins_message):
                first = index + 1 if flushed else index
                ends.append(first)
        return ends
