"""The counts of the page: a histogram, and the values of a field."""

import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from log_shipper.spark_sink.search import terms
from log_shipper.spark_sink.search.counts import MAX_GROUPS, OTHERS, Count, Counting, Counts, bounded
from log_shipper.spark_sink.search.query import Query
from log_shipper.spark_sink.search.tables import SearchedFile, micros
from log_shipper.spark_sink.search.ui.answers import PageRequest
from log_shipper.spark_sink.search.ui.questions import number
from log_shipper.spark_sink.search.ui.stream import Stream

MAX_BARS, MAX_TOP = 400, 50
_PACE = 0.25  # seconds between two updates of the page
_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30)
_SPANS = (*_SECONDS, *(60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 604800))


def counts(asked: PageRequest, stream: Stream) -> None:
    """Send the number of rows in each span of time, by value; repeatedly, until all rows are counted."""
    parameters = asked.parameters
    bars = number(parameters, "bars", 120, MAX_BARS) if "bars" in parameters else 0
    top = number(parameters, "top", 4, MAX_TOP)
    snapshot, query = asked.begin(stream)
    by = parameters.get("by", "")
    value, column = (terms.expression(by, snapshot.schema), terms.column(by, snapshot.schema)) if by else ("", "")
    first, span, number_of_bars = _spans(query, snapshot.files, bars)
    count = Count(Counting(query, span, value, column, first), snapshot.schema, asked.judge)
    stream.cancel_by(count.scan.cancel)
    tally, due = Tally(count.counting, number_of_bars, top), 0.0
    with closing(count.answers(snapshot.files)) as answers:
        for part in answers:
            tally.add(part)
            if time.monotonic() >= due:
                read = (count.files_done + len(count.scan.files_read)) / max(len(snapshot.files), 1)
                stream.send(counts=tally.drawn(min(read, 0.99)))
                due = time.monotonic() + _PACE
    stream.send(counts=tally.drawn(1))
    stream.send(end={"seconds": asked.seconds})


@dataclass(slots=True)
class Tally:
    """Adds up counts. Of very many values, the rarest are counted together; then no count is exact."""

    counting: Counting
    bars: int
    top: int
    total: int = 0
    _bars: Counter[tuple[int | None, str | None]] = field(default_factory=Counter)
    _is_exact: bool = True

    def add(self, part: Counts) -> None:
        for (span, value), count in part.items():
            bar = None if span is None else min(max(span, 0), self.bars - 1)
            self._bars[bar, value] += count
            self.total += count
            self._is_exact &= value != OTHERS
        if len(self._bars) > MAX_GROUPS:
            self._bars = Counter(bounded(self._bars))
            self._is_exact = False

    def drawn(self, read: float) -> dict[str, Any]:
        """Return the document for the page. `read`: share of the files read so far."""
        rows = Counter[str | None]()
        for (_, value), count in self._bars.items():
            rows[value] += count
        folded = rows.pop(OTHERS, 0)
        shown = sorted(rows.items(), key=lambda item: (-item[1], item[0] or ""))[: self.top]
        drawn = {value: [0] * self.bars for value, _ in shown}
        others = [0] * self.bars
        for (bar, value), count in self._bars.items():
            if bar is not None:
                drawn.get(value, others)[bar] += count
        span = (self.counting.span or timedelta(0)).total_seconds()
        rest = {"rows": self.total - sum(count for _, count in shown), "bars": others if span else []}
        return {
            "total": self.total,
            "start": self.counting.start / 1e6,
            "span": span,
            "bars": self.bars if span else 0,
            "series": [{"value": value, "rows": count, "bars": drawn[value] if span else []} for value, count in shown],
            "others": {**rest, "values": None if folded else len(rows) - len(shown)},
            "exact": self._is_exact,
            "read": read,
        }


def _spans(query: Query, files: Sequence[SearchedFile], bars: int) -> tuple[int | None, timedelta | None, int]:
    """Return the start, length and number of the spans of time, at most `bars`; none without bars. Rows beyond their
    ends, possible if files lack bounds, count in the first or last span."""
    if not bars:
        return None, None, 1
    now = micros(datetime.now(UTC))
    oldest = min((file.oldest for file in files if file.oldest is not None), default=now)
    newest = max((file.newest for file in files if file.newest is not None), default=now)
    first = oldest if query.since is None else micros(query.since)
    end = now if query.since is not None else newest  # shows a recent time without lines as empty bars
    end = max(first, end if query.until is None else micros(query.until))
    length, week = (end - first) / 1e6, _SPANS[-1]
    spans = max(bars - 1, 1)
    seconds = next((span for span in _SPANS if length / span <= spans), week * (length // (week * spans) + 1))
    width = round(seconds * 1e6)
    return first, timedelta(seconds=seconds), min((end - (first - first % width)) // width + 1, bars)
