"""Derived tables: one streaming query for each entry of `views:`, besides the one that lands the lines.

                     ┌► view a: SQL ─► its table    a trigger, a checkpoint and a table each
    the table of lines                              exactly once: Delta's source knows which commits were read,
                     └► view b: SQL ─► its table    Delta's sink which batches were written

A view reads only landed rows, so it can never stop the landing. A failed view is reported and restarted after a while,
unless it would fail again until someone acts.

The state of groups and joins is in RocksDB, bounded and outside of the JVM's heap: with Spark's default store, a view
grouped by a column with many values would use up the memory that the landing needs. A batch takes slightly longer with
RocksDB. The number of state partitions is permanently that of `spark.sql.shuffle.partitions` at the view's first start:
Spark keeps it in the checkpoint.
"""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession

from log_shipper.runtime.logs.folding import END
from log_shipper.spark_sink.errors import Refused, SinkError
from log_shipper.spark_sink.logs import trace
from log_shipper.spark_sink.options.model import SinkConfig
from log_shipper.spark_sink.platform.spark_errors import SPARK_ERRORS
from log_shipper.spark_sink.views.progress import Figures, ViewProgress
from log_shipper.spark_sink.views.query import ViewEntry, query
from log_shipper.spark_sink.views.running_view import RunningView
from log_shipper.spark_sink.views.view_storage import ViewStorage

logger = logging.getLogger(__name__)

SETTINGS = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    # A batch saves its changes, instead of all files of the store.
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.stateStore.rocksdb.boundedMemoryUsage": "true",
    "spark.sql.streaming.stateStore.rocksdb.maxMemoryUsageMB": "128",
    # `start: latest` begins at a version that may not exist yet.
    "spark.databricks.delta.changeDataFeed.timestampOutOfRange.enabled": "true",
}
POLL_SECONDS = 0.1
# Spark's stop interrupts a batch, and the next start retries it. Waiting only avoids that work.
STOP_SECONDS = 30.0
EVENT_SECONDS = 5.0


@dataclass
class Views:
    """All views of the configuration. Used from one thread: `check`, then `start`, `supervise` ... `stop`, or
    `catch_up`."""

    spark: SparkSession
    config: SinkConfig
    clock: Callable[[], float] = time.monotonic
    event_seconds: float = EVENT_SECONDS  # maximum wait of a stop for the last events of the queries
    _views: list[RunningView] = field(default_factory=list)
    _reported: dict[str, SinkError | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, value in SETTINGS.items() if self.config.views else ():
            if name not in self.config.spark_conf:
                self.spark.conf.set(name, value)
        self._progress = ViewProgress([view.name for view in self.config.views])

    def check(self) -> None:
        """Check all views and create the tables of new ones. The tables of lines must exist.

        Raises SinkError for a view that cannot run, before any table is created; Refused if a view's table and
        checkpoint do not belong together.
        """
        entries = [ViewEntry(view, index) for index, view in enumerate(self.config.views)]
        self._views = self._queries([ViewStorage.from_config(self.spark, self.config, entry) for entry in entries])
        for view in self._views:
            if changed := view.storage.prepare(view.rows):
                logger.warning(changed, extra={"view": view.name})

    def start(self) -> None:
        """Start all queries and return at once. `supervise` reports those that fail."""
        if self._views:
            self.spark.streams.addListener(self._progress)
        with _scheduler_pool(self.spark):
            for view in self._views:
                view.start(available_now=False)
                interval = view.storage.entry.view.trigger.interval
                logger.info(f"view {view.name}: {view.storage.table.path}, every {interval:g} s")

    def supervise(self) -> None:
        """Log failed and recovered views, and restart those that are due. Call it repeatedly; a restart takes a second
        or two."""
        for view in self._views:
            self._observe(view)
            if view.is_due():
                self._restart(view)

    def failed(self) -> list[tuple[str, SinkError]]:
        """Return the failed views with their errors."""
        return [(view.name, view.error) for view in self._views if view.error is not None]

    def figures(self) -> dict[str, Figures]:
        """Return the figures of each view, by name."""
        return self._progress.figures()

    def stop(self) -> None:
        """Stop all queries. Waits at most STOP_SECONDS for running batches."""
        deadline = time.monotonic() + STOP_SECONDS
        while any(view.has_running_batch() for view in self._views) and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)
        for view in self._views:
            view.stop()
        if self._views:
            self._progress.await_ends({str(view.query.runId) for view in self._views if view.query}, self.event_seconds)
            self.spark.streams.removeListener(self._progress)
        for view in self._views:
            self._observe(view, ends=True)

    def catch_up(self, stopped: Callable[[], bool] = lambda: False) -> None:
        """Run each view, one after the other, up to the end of the table of lines. Returns early when `stopped`."""
        if self._views:
            self.spark.streams.addListener(self._progress)
        with _scheduler_pool(self.spark):
            for view in self._views:
                if stopped():
                    break
                view.start(available_now=True)
                while view.poll() and not stopped():
                    time.sleep(POLL_SECONDS)
        self.stop()

    def _observe(self, view: RunningView, *, ends: bool = False) -> None:
        """Log a failure, as an error only once until the view recovers, or the recovery. `ends`: no retry."""
        view.poll()
        if view.error and view.query and self._progress.is_well(str(view.query.runId)):
            view.error = None
        before = self._reported.get(view.name)
        if view.error is before:
            return
        self._reported[view.name] = view.error
        if view.error is None:
            self._progress.recovered(view.name)
            works = f"the view {view.name} ({view.storage.table.path}) runs again"
            logger.info(works, extra={"view": view.name, **END})
            return
        self._progress.failed(view.name)
        final = view.retry_at is None
        when = "at the next start" if ends else f"in {view.wait:g} s"
        plan = "" if final else f". It restarts {when}, and resumes where it stopped"
        level = logging.ERROR if final or before is None else logging.INFO
        logger.log(level, f"{view.error}{plan}", extra=trace(view.details))

    def _restart(self, view: RunningView) -> None:
        """Restart a view like a start of the sink does, with the current columns of its table."""
        try:
            with _scheduler_pool(self.spark):
                view.rows = self._query(view.storage)
                if changed := view.storage.prepare(view.rows):
                    logger.warning(changed, extra={"view": view.name})
                view.start(available_now=False)
        except (SinkError, *SPARK_ERRORS, OSError) as error:  # none of them may end the landing
            reason = SinkError(f"cannot restart the view {view.name}: {error}")
            view.fail(reason, str(error), final=isinstance(error, Refused))

    def _queries(self, storages: list[ViewStorage]) -> list[RunningView]:
        """Return a query for each view, not started. Raises one SinkError with the problems of all views."""
        views, problems = [], []
        for storage in storages:
            try:
                views.append(RunningView(storage, self._query(storage), self.clock))
            except SinkError as error:
                problems.append(error)
        if problems:
            raise SinkError("\n".join(map(str, problems))) from problems[0].__cause__
        return views

    def _query(self, storage: ViewStorage) -> DataFrame:
        if not storage.lines.exists():
            raise SinkError(
                f"{storage.entry.option('source')}: the table {storage.lines.path} does not exist before a record of "
                "its topic has landed. Start without this view until then"
            )
        last_skipped = storage.last_skipped_version()
        first = None if last_skipped is None else last_skipped + 1
        return query(self.spark, storage.entry, storage.lines.location.in_spark, first)


@contextmanager
def _scheduler_pool(spark: SparkSession) -> Iterator[None]:
    """Start queries within one pool of Spark's scheduler.

    With spark.scheduler.mode=FAIR, all views together then get half of the cores while lines land, instead of all cores
    that they request first. A query's thread inherits the pool of the thread that starts it.
    """
    spark.sparkContext.setLocalProperty("spark.scheduler.pool", "views")
    try:
        yield
    finally:
        spark.sparkContext.setLocalProperty("spark.scheduler.pool", None)  # type: ignore[arg-type]  # None clears it
