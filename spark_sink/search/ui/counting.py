"""The counts that the page draws: a histogram, and the values of a field."""

import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from log_shipper.spark_sink.search import terms
from log_shipper.spark_sink.search.counts import Count, Counting, Counts
from log_shipper.spark_sink.search.query import Query
from log_shipper.spark_sink.search.tables import EPOCH, SearchedFile, micros
from log_shipper.spark_sink.search.ui.answers import Asked
from log_shipper.spark_sink.search.ui.questions import number
from log_shipper.spark_sink.search.ui.stream import Stream

MAX_BARS, MAX_TOP = 400, 50
MAX_VALUES = 10_000  # that are counted one by one
_PACE = 0.25  # seconds between two counts that are drawn
_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30)
_SPANS = (*_SECONDS, *(60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 604800))


def counts(asked: Asked, stream: Stream) -> None:
    """Send how many rows there are in each span of time, by a value; again and again, until all are counted."""
    parameters = asked.parameters
    bars = number(parameters, "bars", 120, MAX_BARS) if "bars" in parameters else 0
    top = number(parameters, "top", 4, MAX_TOP)
    snapshot, query = asked.begin(stream)
    value = terms.expression(parameters["by"], snapshot.schema) if parameters.get("by") else ""
    counting, number_of_bars = _counting(query, value, snapshot.files, bars)
    count = Count(counting, snapshot.schema, asked.judge)
    stream.cancel_by(count.scan.cancel)
    tally, due = Tally(counting, number_of_bars, top), 0.0
    with closing(count.answers(snapshot.files)) as answers:
        for part in answers:
            tally.add(part)
            if time.monotonic() >= due:
                stream.send(counts=tally.drawn(len(count.scan.files_read) / max(len(snapshot.files), 1)))
                due = time.monotonic() + _PACE
    stream.send(counts=tally.drawn(1))
    stream.send(end={"seconds": asked.seconds})


@dataclass(slots=True)
class Tally:
    """Counts that are added up. Of many values the rarest are counted together, and then none is exact."""

    counting: Counting
    bars: int
    top: int
    total: int = 0
    _values: dict[str | None, list[int]] = field(default_factory=dict)
    _others: list[int] = field(init=False)
    _folded: int = 0  # values among the others

    def __post_init__(self) -> None:
        self._others = [0] * self.bars

    def add(self, part: Counts) -> None:
        for (span, value), count in part.items():
            if value not in self._values:
                self._values[value] = [0] * self.bars
            self._values[value][min(max(span, 0), self.bars - 1)] += count
            self.total += count
        if len(self._values) > MAX_VALUES:
            for value, bars in self._largest()[MAX_VALUES // 2 :]:
                self._others = [one + other for one, other in zip(self._others, bars, strict=True)]
                self._folded += 1
                del self._values[value]

    def drawn(self, read: float) -> dict[str, Any]:
        """Return what is drawn, when this share of the files is read."""
        largest = self._largest()
        shown, rest = largest[: self.top], [bars for _, bars in largest[self.top :]]
        others = [sum(column) for column in zip(self._others, *rest, strict=True)]
        span = (self.counting.span or timedelta(0)).total_seconds()
        return {
            "total": self.total,
            "start": self.counting.start / 1e6,
            "span": span,
            "bars": self.bars if span else 0,
            "series": [{"value": value, "rows": sum(bars), "bars": bars if span else []} for value, bars in shown],
            "others": {"values": len(rest) + self._folded, "rows": sum(others), "bars": others if span else []},
            "exact": not self._folded,
            "read": read,
        }

    def _largest(self) -> list[tuple[str | None, list[int]]]:
        return sorted(self._values.items(), key=lambda item: (-sum(item[1]), item[0] or ""))


def _counting(query: Query, value: str, files: Sequence[SearchedFile], bars: int) -> tuple[Counting, int]:
    """Return what is counted, in at most so many spans of time, and how many these are; one without a length for 0."""
    if not bars:
        return Counting(query, None, value), 1
    now = micros(datetime.now(UTC))
    oldest = min((file.oldest for file in files if file.oldest is not None), default=now)
    newest = max((file.newest for file in files if file.newest is not None), default=now)
    since = query.since or EPOCH + timedelta(microseconds=oldest)
    until = query.until or EPOCH + timedelta(microseconds=max(newest, micros(since)))
    length = (until - since).total_seconds()
    week = _SPANS[-1]
    seconds = next((span for span in _SPANS if length / span <= bars - 1), week * (length // (week * (bars - 1)) + 1))
    counting = Counting(replace(query, since=since, until=until), timedelta(seconds=seconds), value)
    return counting, int((micros(until) - counting.start) / 1e6 // seconds) + 1
