"""Scans data files in threads, those with the newest rows first."""

import heapq
import itertools
import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Event
from typing import Generic, TypeVar

from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.search.query import Query
from log_shipper.spark_sink.search.reading import FilePiece, piece_of, split
from log_shipper.spark_sink.search.sealed import ConditionFilter
from log_shipper.spark_sink.search.tables import SearchedFile, overlaps

_UNKNOWN = 2**63  # later than all times: a piece without bounds is read first
T = TypeVar("T")


@dataclass(slots=True)
class Scan(Generic[T]):
    """One scan, used by one thread; any thread may call `cancel`. `work` returns the answer for a piece, in a thread of
    the scan, and ends early once the event is set. `judge`: used by `work`, and not by other scans at the same time.
    `files_read`: the data files with read rows."""

    work: Callable[[FilePiece, Event], T]
    judge: ConditionFilter
    query: Query
    threads: int = max(2, os.cpu_count() or 1)
    files_read: set[str] = field(default_factory=set)
    _waiting: list[tuple[int, int, FilePiece]] = field(default_factory=list)  # a heap
    _running: deque[tuple[int, FilePiece, Future[T]]] = field(default_factory=deque)
    _count: Iterator[int] = field(default_factory=itertools.count)
    _over: Event = field(default_factory=Event)

    def answers(self, files: Iterable[SearchedFile]) -> Generator[tuple[FilePiece, T, int | None], None, None]:
        """Yield each piece with its answer and the time of the newest unread row, None after the last one. Raises
        SinkError."""
        self._wait(map(piece_of, files))
        pool = ThreadPoolExecutor(self.threads, "search")
        try:
            while not self._over.is_set() and self._start(pool):
                _, piece, reading = self._running.popleft()
                answer = reading.result()
                yield piece, answer, self._newest_unread()
        except SinkError:
            if not self._over.is_set():
                raise
        finally:
            self.cancel()
            pool.shutdown(cancel_futures=True)

    def cancel(self) -> None:
        """End the scan within milliseconds, whatever its threads are doing, without further answers."""
        self._over.set()
        self.judge.interrupt()

    def _wait(self, pieces: Iterable[FilePiece]) -> None:
        for piece in pieces:
            if overlaps(piece, self.query.since, self.query.until):
                newest = _UNKNOWN if piece.newest is None else piece.newest
                heapq.heappush(self._waiting, (-newest, next(self._count), piece))

    def _start(self, pool: ThreadPoolExecutor) -> bool:
        """Start to read the next pieces. A large file is split first, and its row groups are queued. Returns True if
        any piece is being read."""
        while self._waiting and len(self._running) < self.threads:
            newest, _, piece = heapq.heappop(self._waiting)
            if piece.is_large:
                self._wait(split(piece))
                continue
            self.files_read.add(piece.file.path)
            self._running.append((-newest, piece, pool.submit(self.work, piece, self._over)))
        return bool(self._running)

    def _newest_unread(self) -> int | None:
        bounds = [newest for newest, *_ in itertools.islice(self._running, 1)]
        bounds += [-newest for newest, *_ in self._waiting[:1]]
        return max(bounds, default=None)
