"""The hits of all tables, newest first.

Pieces wait in the order of their newest row. A few are read at a time, each by a thread; hits are yielded once no piece
that is not read yet may have a newer one. So the first hits come before most files are opened, and their order is right
where files overlap in time, as those of one batch and those that OPTIMIZE wrote do.
"""

import heapq
import itertools
import os
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Event

import pyarrow as pa

from log_shipper.spark_sink.search.query import Selection
from log_shipper.spark_sink.search.reading import Piece, Row, piece_of, read, rows_of, split
from log_shipper.spark_sink.search.sealed import Judge
from log_shipper.spark_sink.search.tables import SearchedFile, SearchedTable, micros

_UNKNOWN = 2**63  # later than all times: a piece without bounds is read first
_NO_TIME = -(2**63)


@dataclass(frozen=True, slots=True, order=True)
class Hit:
    """A row that matches, with its table. Hits are sorted as they are shown: the newest first; those of one time by
    host and file, and of a file the last line first."""

    order: tuple[int, str, str, int]
    row: Row = field(compare=False)
    table: SearchedTable = field(compare=False)


def hit_of(row: Row, table: SearchedTable) -> Hit:
    time = _NO_TIME if row["ts"] is None else micros(row["ts"])
    return Hit((-time, row.get("host") or "", row.get("file_id") or "", -(row.get("offset") or 0)), row, table)


@dataclass(slots=True)
class Search:
    """One pass over the files, for one thread. `files_read` counts the data files of which rows were read."""

    judge: Judge
    selection: Selection
    threads: int = max(2, os.cpu_count() or 1)
    files_read: set[str] = field(default_factory=set)
    _waiting: list[tuple[int, int, Piece]] = field(default_factory=list)  # a heap
    _running: deque[tuple[int, Piece, Future[pa.Table]]] = field(default_factory=deque)
    _hits: list[tuple[Hit, int, Iterator[Hit]]] = field(default_factory=list)  # a heap: the first of each piece
    _count: Iterator[int] = field(default_factory=itertools.count)
    _over: Event = field(default_factory=Event)

    def hits(self, files: Iterable[SearchedFile]) -> Generator[Hit, None, None]:
        """Yield what matches. Raises SearchError."""
        self._wait(map(piece_of, files))
        pool = ThreadPoolExecutor(self.threads, "search")
        try:
            while self._waiting or self._running:
                self._start(pool)
                if self._running:
                    self._finish()
                yield from self._settled()
        finally:
            self._over.set()
            pool.shutdown(cancel_futures=True)

    def _wait(self, pieces: Iterable[Piece]) -> None:
        for piece in pieces:
            newest = _UNKNOWN if piece.newest is None else piece.newest
            heapq.heappush(self._waiting, (-newest, next(self._count), piece))

    def _start(self, pool: ThreadPoolExecutor) -> None:
        """Have the next pieces read. A large file is split first, and its row groups wait for their turn."""
        while self._waiting and len(self._running) < self.threads:
            newest, _, piece = heapq.heappop(self._waiting)
            if piece.is_large:
                self._wait(split(piece))
                continue
            self.files_read.add(piece.file.path)
            reading = pool.submit(read, piece, self.selection, self.judge, self._over)
            self._running.append((-newest, piece, reading))

    def _finish(self) -> None:
        """Take the hits of the piece that was started first."""
        _, piece, reading = self._running.popleft()
        table = piece.file.table
        self._push(hit_of(row, table) for row in rows_of(reading.result()))

    def _push(self, hits: Iterator[Hit]) -> None:
        if (hit := next(hits, None)) is not None:
            heapq.heappush(self._hits, (hit, next(self._count), hits))

    def _settled(self) -> Iterator[Hit]:
        """Yield the hits that are newer than all that is not read yet."""
        bounds = [newest for newest, *_ in itertools.islice(self._running, 1)]
        bounds += [-newest for newest, *_ in self._waiting[:1]]
        while self._hits and (not bounds or -self._hits[0][0].order[0] > max(bounds)):
            hit, _, others = heapq.heappop(self._hits)
            yield hit
            self._push(others)
