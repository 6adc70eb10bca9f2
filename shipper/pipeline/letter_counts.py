"""Counts of rejected events by reason, for the status page."""

import re
from dataclasses import dataclass, replace

from log_shipper.shipper.event import Batch, Rejection

MAX_REASONS = 50
OTHERS = "other reasons"
NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class LetterCount:
    """`last`: unix time of the last event, with its path and offset."""

    reason: str
    count: int
    last: float
    path: str
    offset: int


class LetterCounts:
    """Used by the publishing thread; `rows` is callable from any thread."""

    def __init__(self) -> None:
        self._rows: dict[str, LetterCount] = {}  # by the reason without its numbers: sizes would make each unique

    def add(self, batch: Batch, rejection: Rejection, now: float) -> None:
        kind = NUMBER.sub("#", rejection.reason)
        if kind not in self._rows and len(self._rows) >= MAX_REASONS:
            kind = OTHERS
        reason = OTHERS if kind == OTHERS else rejection.reason
        offset = batch.messages.offsets[rejection.index]
        row = LetterCount(reason, 1, now, batch.source.path, offset)
        before = self._rows.get(kind)
        self._rows[kind] = row if before is None else replace(row, count=before.count + 1)

    def rows(self) -> list[LetterCount]:
        """Return the rows, the most frequent reason first."""
        return sorted(list(self._rows.values()), key=lambda row: -row.count)  # noqa: C414 - one call, not interrupted
