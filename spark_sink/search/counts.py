"""How many rows match: by spans of time, by a value, or by both.

Nothing is read of a file, or of a row group, whose rows all match and lie within one span: the statistics have their
number. Those of other files are counted by DuckDB, with no more columns than the question has.
"""

from collections import Counter
from collections.abc import Generator, Iterable
from contextlib import closing
from dataclasses import dataclass, field
from datetime import timedelta
from threading import Event

import pyarrow as pa

from log_shipper.spark_sink.search.query import Query
from log_shipper.spark_sink.search.reading import Piece, ask, piece_of
from log_shipper.spark_sink.search.scan import Scan
from log_shipper.spark_sink.search.sealed import Judge
from log_shipper.spark_sink.search.tables import SearchedFile, micros

Counts = dict[tuple[int, str | None], int]  # rows by the number of the span, and the value
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Counting:
    """What is counted of the rows of a query. `span`: the length of the spans, the first of which has the query's
    `since`; without it there is one. They are multiples of it since 1970. `value`: an expression of SQL, such as a
    column; without it the value is None."""

    query: Query
    span: timedelta | None = None
    value: str = ""

    @property
    def start(self) -> int:
        """The beginning of the first span, in microseconds since 1970."""
        assert self.query.since is not None or self.span is None, "the first span has the query's `since`"
        since = 0 if self.query.since is None else micros(self.query.since)
        return since - since % self._width

    def span_of(self, piece: Piece) -> int | None:
        """Return the number of the span that has all rows of a piece, all of which match; None where its statistics do
        not show that."""
        query, oldest, newest = self.query, piece.oldest, piece.newest
        if self.value or query.text or query.hosts or query.paths or query.where or piece.rows is None:
            return None
        if oldest is None or newest is None:
            return None
        if query.since is not None and oldest < micros(query.since):
            return None
        if query.until is not None and newest > micros(query.until):
            return None
        first, last = ((bound - self.start) // self._width if self.span else 0 for bound in (oldest, newest))
        return first if first == last else None

    def sql(self, condition: str) -> str:
        span = f"(epoch_us(ts) - {self.start}) // {self._width}" if self.span else "0"
        value = f"(\n{self.value}\n)::VARCHAR" if self.value else "NULL::VARCHAR"
        return f"SELECT {span} AS span, {value} AS value, count(*) AS n FROM lines {condition} GROUP BY ALL"

    @property
    def _width(self) -> int:
        return 1 if self.span is None else self.span // _MICROSECOND


@dataclass(slots=True)
class Count:
    """Counts the rows of tables with these columns. Raises SinkError for a value or a condition that is none."""

    counting: Counting
    schema: pa.Schema
    judge: Judge
    scan: Scan[Counts] = field(init=False)

    def __post_init__(self) -> None:
        query, value = self.counting.query, self.counting.value
        chosen = self.judge.selection(query, self.schema, most=0)
        others = self.judge.columns("the value", value, self.schema) if value else set()
        columns = [name for name in self.schema.names if name in others or name in chosen.columns]
        sql = self.counting.sql(chosen.clause)

        def work(piece: Piece, over: Event) -> Counts:
            if (span := self.counting.span_of(piece)) is not None:
                return {(span, None): piece.rows or 0}
            rows = ask(piece, columns, over, lambda lines: self.judge.answer(lines, sql, chosen.parameters)).to_pylist()
            return {(row["span"], row["value"]): row["n"] for row in rows if row["span"] is not None}

        self.scan = Scan(work, self.judge, query)

    def answers(self, files: Iterable[SearchedFile]) -> Generator[Counts, None, None]:
        """Yield what is to be added up, the newest parts first, and fewer once the scan is cancelled."""
        known, others = Counter[tuple[int, str | None]](), []
        for file in files:
            if (span := self.counting.span_of(piece_of(file))) is None:
                others.append(file)
            else:
                known[span, None] += file.rows or 0
        yield known
        with closing(self.scan.answers(others)) as answers:
            for _, counts, _ in answers:
                yield counts
