"""Where messages end in a run of lines: one rule for each `type` of multiline.

What a rule decides must not depend on where the reads ended. So all that it may know of the lines before the run is how
many the pending message has, and whether the last of them asked for another.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

from config.shipper.multiline import MultilineConfig
from config.text.patterns import column_searcher

# The texts of a run's lines, each line being shown once, and how many lines the pending message has -> the indices
# before which a message ends, ascending: 0 for the pending one, the number of lines for one that ends with the run.
Rule = Callable[[Sequence[str], int], Iterable[int]]
_Search = Callable[[Sequence[str]], list[bool]]


def rule_of(config: MultilineConfig) -> Rule:
    if config.type == "count":
        return counting(config.count_lines or 1)
    found, negate = column_searcher([config.pattern or ""]), config.negate
    if config.type == "while_pattern":
        return alike(found, negate)
    if config.flush_pattern is not None:
        return Flushed(found, negate, column_searcher([config.flush_pattern]), before=config.match == "before")
    return before(found, negate) if config.match == "before" else after(found, negate)


def after(search: _Search, negate: bool) -> Rule:
    """A line belongs to the one before it if (found) != `negate`."""
    return lambda texts, pending: [index for index, found in enumerate(search(texts)) if found == negate]


def before(search: _Search, negate: bool) -> Rule:
    """A line belongs to the one behind it if (found) != `negate`."""
    return lambda texts, pending: [index for index, found in enumerate(search(texts), 1) if found == negate]


def alike(search: _Search, negate: bool) -> Rule:
    """Lines in a row with (found) != `negate` belong together; any other is a message by itself."""

    def ends(texts: Sequence[str], pending: int) -> list[int]:
        row = [found != negate for found in search(texts)]
        # A pending message is one of such lines; behind the run there may be more of them.
        return [index for index, both in enumerate(pairwise([True, *row, True])) if both != (True, True)]

    return ends


def counting(lines: int) -> Rule:
    return lambda texts, pending: range(lines - pending, len(texts) + 1, lines)


class Flushed:
    """As `after` or `before`, but a line in which the flush pattern is found ends the message too. Of a message's first
    line that is not asked, and it is asked first, as in Filebeat: a line that would begin a message and has the pattern
    ends the one before. So with `before` a message waits for the next line, although its own last line asks for none.
    """

    def __init__(self, search: _Search, negate: bool, flush: _Search, *, before: bool) -> None:
        self._search = search
        self._negate = negate
        self._flush = flush
        self._before = before
        self._wants_more = True  # with `before`: the last line belongs to the one behind it

    def __call__(self, texts: Sequence[str], pending: int) -> list[int]:
        begins = [found == self._negate for found in self._search(texts)]
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
