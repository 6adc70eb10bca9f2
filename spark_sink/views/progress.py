"""Turns the progress events of the views' queries into figures for the log and the metrics."""

import logging
import threading
from dataclasses import dataclass, replace

from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

logger = logging.getLogger(__name__)

PREFIX = "view "  # of the queries' names


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of one view, since the start of the process.

    `late`: rows dropped behind the watermark. Spark counts them after it has grouped the rows of a batch, so the number
    of lines is equal or higher. `state_rows`: groups and rows in the current state.
    """

    batches: int = 0
    rows_in: int = 0
    late: int = 0
    state_rows: int = 0
    seconds: float = 0.0  # of the last batch
    failed: bool = False  # not running
    failures: int = 0  # of its queries


class ViewProgress(StreamingQueryListener):
    """The listener of all views' queries. Thread-safe: Spark calls it on its own thread."""

    def __init__(self, names: list[str]) -> None:
        super().__init__()
        self._lock = threading.Condition()
        self._ended: set[str] = set()  # runs of queries
        self._well: set[str] = set()  # runs that have completed a batch, or found no new rows
        self._figures = {name: Figures() for name in names}

    def figures(self) -> dict[str, Figures]:
        with self._lock:
            return dict(self._figures)

    def await_ends(self, runs: set[str], seconds: float) -> None:
        """Block until the last events of these runs have arrived, shortly after their queries ended; at most
        `seconds`."""
        with self._lock:
            self._lock.wait_for(lambda: runs <= self._ended, seconds)

    def is_well(self, run: str) -> bool:
        """Return True if the run of a query has completed a batch, or found no new rows."""
        with self._lock:
            return run in self._well

    def failed(self, name: str) -> None:
        with self._lock:
            before = self._figures[name]
            self._figures[name] = replace(before, failed=True, failures=before.failures + 1)

    def recovered(self, name: str) -> None:
        with self._lock:
            self._figures[name] = replace(self._figures[name], failed=False)

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        pass

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        progress = event.progress
        name = (progress.name or "").removeprefix(PREFIX)
        if name not in self._figures or progress.name == name:
            return
        operators = progress.stateOperators
        late = sum(operator.numRowsDroppedByWatermark for operator in operators)
        with self._lock:
            self._well.add(str(progress.runId))
            before = self._figures[name]
            self._figures[name] = replace(
                before,
                batches=before.batches + 1,
                rows_in=before.rows_in + progress.numInputRows,
                late=before.late + late,
                state_rows=sum(operator.numRowsTotal for operator in operators),
                seconds=progress.durationMs.get("triggerExecution", 0) / 1000,
            )
        if late:
            logger.warning(
                f"view {name}: dropped {late:,} rows older than the watermark; their lines are in the table of lines",
                extra={"view": name, "late": late, "late_total": before.late + late},
            )

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        with self._lock:
            self._well.add(str(event.runId))

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        with self._lock:
            self._ended.add(str(event.runId))
            self._lock.notify_all()
