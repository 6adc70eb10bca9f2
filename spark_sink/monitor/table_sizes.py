"""The sizes of the sink's tables. Counting a large one takes a while, and the thread that lands does it, because a
table's log is for one thread: so it is done at the start, and rarely again."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.storage.table_size import TableSize

MIN_SECONDS = 60.0
SHARE = 0.01  # of the time at most


class SizedLog(Protocol):
    """The log of a table. `CommitLog` is the implementation. For the thread that lands."""

    @property
    def size(self) -> TableSize | None:
        """The size; None where another process has changed the table since it was counted."""
        ...

    def count_size(self) -> TableSize:
        """Count the size. Takes as long as the table has many files. Raises SinkError."""
        ...


@dataclass(slots=True)
class TableSizes:
    """Knows when a table is counted again. Its own commits are added without that. `progressed` is called after each
    count: with a template there may be a thousand large tables."""

    monotonic: Callable[[], float] = time.monotonic
    progressed: Callable[[], None] = lambda: None
    _sizes: dict[str, TableSize] = field(default_factory=dict)
    _due: dict[str, float] = field(default_factory=dict)

    def update(self, logs: Mapping[str, SizedLog]) -> Mapping[str, TableSize]:
        """Return the size of each table, by its path; of one that is not to be counted yet, as it was."""
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
        except SinkError:  # what is shown must not end the landing, and its next commit reports what is wrong
            self._sizes.pop(path, None)
        self.progressed()
        ended = self.monotonic()
        self._due[path] = ended + max(MIN_SECONDS, (ended - began) / SHARE)
