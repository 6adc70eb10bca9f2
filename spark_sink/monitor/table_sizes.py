"""The sizes of the sink's tables. The landing thread counts them, because a table's log is for one thread. Counting a
large table is slow, so it happens at the start, and rarely later."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.storage.table_size import TableSize

MIN_SECONDS = 60.0
SHARE = 0.01  # maximum share of the time


class SizedLog(Protocol):
    """The part of `CommitLog` that is needed here. For the landing thread."""

    @property
    def size(self) -> TableSize | None:
        """The size; None if another process has changed the table since the last count."""
        ...

    def count_size(self) -> TableSize:
        """Count the size. Slow for many files. Raises SinkError."""
        ...


@dataclass(slots=True)
class TableSizes:
    """Decides when to count a table again; the sink's own commits are added without a count. `progressed` is called
    after each count: with a template there may be a thousand large tables."""

    monotonic: Callable[[], float] = time.monotonic
    progressed: Callable[[], None] = lambda: None
    _sizes: dict[str, TableSize] = field(default_factory=dict)
    _due: dict[str, float] = field(default_factory=dict)

    def update(self, logs: Mapping[str, SizedLog]) -> Mapping[str, TableSize]:
        """Return the size of each table by path; the previous size if a new count is not due."""
        for path, log in logs.items():
            if log.size is not None:
                self._sizes[path] = log.size
            elif self.monotonic() >= self._due.get(path, float("-inf")):
                self._count(path, log)
        return dict(self._sizes)

    def _count(self, path: str, log: SizedLog) -> None:
        began = self.monotonic()
        try:
            self._sizes[path] = log.count_size()
        except SinkError:  # monitoring must not stop the landing; the next commit reports the error
            self._sizes.pop(path, None)
        self.progressed()
        ended = self.monotonic()
        self._due[path] = ended + max(MIN_SECONDS, (ended - began) / SHARE)
