"""The hits of all tables, newest first.

A hit is yielded once no unread piece can have a newer one. So the first hits come before most files are opened, and the
order is correct even for files that overlap in time, like those of one batch or of OPTIMIZE.
"""

import heapq
import itertools
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field

import pyarrow as pa

from log_shipper.spark_sink.search.query import Query, Selection
from log_shipper.spark_sink.search.reading import Row, read, rows_of
from log_shipper.spark_sink.search.scan import Scan
from log_shipper.spark_sink.search.sealed import ConditionFilter
from log_shipper.spark_sink.search.tables import SearchedFile, SearchedTable, micros

_NO_TIME = -(2**63)


@dataclass(frozen=True, slots=True, order=True)
class Hit:
    """A matching row with its table. Hits are sorted newest first; for equal times by host and file, and within a file
    last line first."""

    order: tuple[int, str, str, int]
    row: Row = field(compare=False)
    table: SearchedTable = field(compare=False)


def hit_of(row: Row, table: SearchedTable) -> Hit:
    time = _NO_TIME if row["ts"] is None else micros(row["ts"])
    return Hit((-time, row.get("host") or "", row.get("file_id") or "", -(row.get("offset") or 0)), row, table)


def scan_of(query: Query, selection: Selection, judge: ConditionFilter) -> Scan[pa.Table]:
    """Return the scan for the rows of the query's selection."""
    return Scan(lambda piece, over: read(piece, selection, judge, over), judge, query)


def newest_first(scan: Scan[pa.Table], files: Iterable[SearchedFile]) -> Generator[Hit, None, None]:
    """Yield the hits; ends early if the scan is cancelled. Raises SinkError."""
    waiting: list[tuple[Hit, int, Iterator[Hit]]] = []  # a heap: the first hit of each piece
    numbers = itertools.count()

    def push(hits: Iterator[Hit]) -> None:
        if (hit := next(hits, None)) is not None:
            heapq.heappush(waiting, (hit, next(numbers), hits))

    with closing(scan.answers(files)) as answers:
        for piece, rows, unread in answers:
            push(_hits_of(rows, piece.file.table))
            while waiting and (unread is None or -waiting[0][0].order[0] > unread):
                hit, _, others = heapq.heappop(waiting)
                yield hit
                push(others)


def _hits_of(rows: pa.Table, table: SearchedTable) -> Iterator[Hit]:
    return (hit_of(row, table) for row in rows_of(rows))
