"""Combines the reports of the sink and of Spark about a batch, for the log and the metrics.

The counts come from the sink, after each batch; times from Spark's progress events, which come later, on another
thread, and perhaps not at all for the last batch before a stop. So a batch is logged when its event arrives, and the
totals do not depend on events. The JSON line of a batch, explained in docs/reference/sink-metrics.md:

    {"@timestamp":"…","log.level":"info","message":"batch","ecs.version":"1.6.0","log.logger":"log_shipper.spark_sink.monitor.progress",
     "batch":7,"rows_in":1210,"landed":1199,"repeats":10,"bad":1,"tombstones":0,"suspects":12,"lost":0,"seconds":0.8,
     "rows_per_second":1498.8,"lag":0,"landed_total":90210,"repeats_total":10,"bad_total":3}

Other queries of the session (of views) have events too, with their own batch numbers: only events of the query named
QUERY count here.
"""

import logging
import threading
from collections.abc import Mapping
from uuid import UUID

from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from log_shipper.spark_sink.kafka.offsets import Offsets, lag
from log_shipper.spark_sink.landing.batch_writer import BatchResult
from log_shipper.spark_sink.landing.stages import Stage
from log_shipper.spark_sink.logs import status
from log_shipper.spark_sink.monitor.metrics import SinkMetrics
from log_shipper.spark_sink.monitor.observations import Observations
from log_shipper.spark_sink.views.progress import Figures

logger = logging.getLogger(__name__)

QUERY = "lines"  # the name of the query that lands the lines


class BatchProgress(StreamingQueryListener):
    """The listener of the query that lands the lines. Thread-safe."""

    def __init__(self) -> None:
        super().__init__()
        self.metrics = SinkMetrics()
        self.observations = Observations()
        self.metrics.lag_seconds.set_function(self.observations.lag_seconds)
        self._lock = threading.Lock()
        self._waiting: dict[int, tuple[BatchResult, Offsets]] = {}
        self._query: UUID | None = None
        self.ended = threading.Event()  # the query's last event has arrived
        self.rows = 0
        self.bad = 0
        self.repeats = 0

    def landed(self, landed: BatchResult, latest: Offsets) -> None:
        """Record a landed batch, on the sink's thread. `latest`: Kafka's ends at that time."""
        with self._lock:
            self.rows += landed.rows
            self.bad += landed.bad
            self.repeats += landed.repeats
            self._waiting[landed.batch] = landed, latest
        self.metrics.landed(landed)
        self.observations.landed(landed, latest)

    def group_commit_failed(self) -> None:
        """Record that offsets could not be committed to the monitoring group."""
        self.metrics.group_commit_failures.inc()
        self.observations.group_commit_failed()

    def views(self, figures: Mapping[str, Figures]) -> None:
        """Record the figures of the views. Call it repeatedly, with cumulative figures."""
        self.metrics.views(figures)
        self.observations.views(figures)

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        if event.name == QUERY:
            self._query = event.id

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        progress = event.progress
        if progress.id != self._query:
            return
        self.metrics.alive()
        with self._lock:
            waiting = self._waiting.pop(progress.batchId, None)
        if waiting is not None:  # an idle trigger may report the last batch again
            landed, latest = waiting
            seconds = progress.durationMs.get("triggerExecution", 0) / 1000
            stages = sparks_stages(progress.durationMs, sum(landed.stages.values()))
            self.metrics.batch(seconds, landed.ends, latest)
            self.metrics.stages(stages)
            self.observations.reported(seconds, stages)
            self._log(landed, seconds, latest)

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        if event.id == self._query:
            self.metrics.alive()
            self.observations.record_idle()

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        if event.id == self._query:
            self.ended.set()

    def summary(self) -> str:
        return f"{self.rows:,} rows landed, {self.repeats:,} repeats dropped, {self.bad:,} bad records"

    def _log(self, landed: BatchResult, seconds: float, latest: Offsets) -> None:
        rows_in = landed.rows + landed.repeats + landed.bad + landed.tombstones
        rate = landed.rows / seconds if seconds else 0.0
        behind = sum(lag(landed.ends, latest).values())
        line = (
            f"batch {landed.batch}: {rows_in:,} rows in, {landed.rows:,} landed, {landed.repeats:,} repeats, "
            f"{landed.bad:,} bad, {seconds:.1f} s, {rate:,.0f} rows/s, lag {behind:,} | {self.summary()}"
        )
        fields = status(
            line,
            batch=landed.batch,
            rows_in=rows_in,
            landed=landed.rows,
            repeats=landed.repeats,
            bad=landed.bad,
            tombstones=landed.tombstones,
            suspects=landed.suspects,
            lost=landed.lost,
            seconds=round(seconds, 3),
            rows_per_second=round(rate, 1),
            lag=behind,
            landed_total=self.rows,
            repeats_total=self.repeats,
            bad_total=self.bad,
        )
        logger.info("batch", extra=fields)


def sparks_stages(milliseconds: Mapping[str, int], measured: float) -> dict[Stage, float]:
    """Return the stages that only Spark measures. `measured`: seconds of all other stages."""
    landing = milliseconds.get("addBatch", 0) / 1000  # the call of the sink
    return {
        "planning": max(0.0, milliseconds.get("triggerExecution", 0) / 1000 - landing),
        "other": max(0.0, landing - measured),
    }
