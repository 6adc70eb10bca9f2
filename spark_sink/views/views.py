"""Derived tables: a streaming query of its own for each entry of `views:`, beside the one that lands the lines.

                     ┌► view a: SQL ─► its table    a trigger, a checkpoint and a table each
    the table of lines                              exactly once: Delta's source knows which commits were read,
                     └► view b: SQL ─► its table    Delta's sink which batches were written

A view reads what has landed, so nothing that a view does can hold up or end the landing; one that fails is reported,
and stays stopped until the next start.

Groups and joins are kept in RocksDB, bounded and outside the JVM's heap: with Spark's own store a view by a column of
many values would take the memory of the landing with it. A batch takes slightly longer in it. The number of parts is
`spark.sql.shuffle.partitions` at the view's first start, for good: Spark keeps that in the checkpoint.
"""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from config.sink.model import SinkConfig
from spark_sink.errors import SPARK_ERRORS, SinkError
from spark_sink.logs import trace
from spark_sink.views import catalyst
from spark_sink.views.failures import translated
from spark_sink.views.place import Place, place
from spark_sink.views.progress import PREFIX, Figures, ViewProgress
from spark_sink.views.query import Named, query

logger = logging.getLogger(__name__)

SETTINGS = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    # A batch saves what it changed, instead of all of the store's files.
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.stateStore.rocksdb.boundedMemoryUsage": "true",
    "spark.sql.streaming.stateStore.rocksdb.maxMemoryUsageMB": "128",
    # `start: latest` begins at a version that may not be there yet.
    "spark.databricks.delta.changeDataFeed.timestampOutOfRange.enabled": "true",
}
LOOK_SECONDS = 0.1
# Spark's stop interrupts a batch, which is then run again at the next start. So waiting is only a courtesy.
STOP_SECONDS = 30.0
EVENT_SECONDS = 5.0


@dataclass(slots=True)
class Running:
    """One view from its check to its end."""

    place: Place
    rows: DataFrame
    query: StreamingQuery | None = None
    error: SinkError | None = None
    details: str = ""  # Spark's whole text of the error

    @property
    def name(self) -> str:
        return self.place.named.view.name

    def start(self, available_now: bool) -> None:
        view = self.place.named.view
        writer = self.rows.writeStream.format("delta").outputMode(view.mode).queryName(PREFIX + view.name)
        writer = writer.option("checkpointLocation", self.place.checkpoint.path)
        if available_now:
            writer = writer.trigger(availableNow=True)
        else:
            writer = writer.trigger(processingTime=f"{round(view.trigger.interval * 1000)} milliseconds")
        try:
            self.query = writer.start(self.place.table.path)
        except SPARK_ERRORS as error:
            self._fail(str(error))

    def look(self) -> bool:
        """Return True if it still runs."""
        if self.query is None or self.error is not None:
            return False
        if self.query.isActive:
            return True
        if failure := catalyst.failure(self.query):
            self._fail(failure)
        return False

    def busy(self) -> bool:
        return self.look() and self.query is not None and bool(self.query.status["isTriggerActive"])

    def stop(self) -> None:
        if self.query is not None:
            self.query.stop()

    def _fail(self, text: str) -> None:
        self.details = text
        self.error = translated(text, self.name, self.place.table.path, self.place.ways_out)


@dataclass
class Views:
    """All views of the configuration. Used from one thread: `check`, then `start` ... `stop`, or `catch_up`."""

    spark: SparkSession
    config: SinkConfig
    _running: list[Running] = field(default_factory=list)
    _reported: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        for name, value in SETTINGS.items() if self.config.views else ():
            if name not in self.config.spark_conf:
                self.spark.conf.set(name, value)
        self._progress = ViewProgress([view.name for view in self.config.views])

    def check(self) -> None:
        """Makes the tables of new views. Raises SinkError for what cannot run, before anything of the views is made;
        Refused where a view's table or checkpoint is not what it was. The tables of lines must be there."""
        places = [place(self.spark, self.config, Named(view, index)) for index, view in enumerate(self.config.views)]
        self._running = self._queries(places)
        for each in self._running:
            if changed := each.place.prepare(each.rows):
                logger.warning(changed, extra={"view": each.name})

    def start(self) -> None:
        """Returns at once. What fails then is reported by `failed`."""
        if self._running:
            self.spark.streams.addListener(self._progress)
        with _pool(self.spark):
            for each in self._running:
                each.start(available_now=False)
                view = each.place.named.view
                logger.info(f"view {each.name}: {each.place.table.path}, every {view.trigger.interval:g} s")

    def failed(self) -> list[tuple[str, SinkError]]:
        """Return the views that have ended by themselves; each is reported once."""
        for each in self._running:
            each.look()
            if each.error is not None and each.name not in self._reported:
                self._reported.add(each.name)
                self._progress.failed(each.name)
                logger.error(str(each.error), extra=trace(each.details))
        return [(each.name, each.error) for each in self._running if each.error is not None]

    def figures(self) -> dict[str, Figures]:
        """Return the figures by the view's name."""
        return self._progress.figures()

    def stop(self) -> None:
        """Lets running batches end first, for STOP_SECONDS at most."""
        deadline = time.monotonic() + STOP_SECONDS
        while any(each.busy() for each in self._running) and time.monotonic() < deadline:
            time.sleep(LOOK_SECONDS)
        for each in self._running:
            each.stop()
        self.failed()
        if self._running:
            self._progress.await_ends({str(each.query.runId) for each in self._running if each.query}, EVENT_SECONDS)
            self.spark.streams.removeListener(self._progress)

    def catch_up(self, stopped: Callable[[], bool] = lambda: False) -> None:
        """Brings each view, one after the other, to where the table of lines ends now. Returns early when `stopped`."""
        if self._running:
            self.spark.streams.addListener(self._progress)
        with _pool(self.spark):
            for each in self._running:
                if stopped():
                    break
                each.start(available_now=True)
                while each.look() and not stopped():
                    time.sleep(LOOK_SECONDS)
        self.stop()

    def _queries(self, places: list[Place]) -> list[Running]:
        """Return a query for each view. Raises SinkError with all that is wrong."""
        running, problems = [], []
        for each in places:
            try:
                running.append(Running(each, self._query(each)))
            except SinkError as error:
                problems.append(error)
        if problems:
            raise SinkError("\n".join(map(str, problems))) from problems[0].__cause__
        return running

    def _query(self, each: Place) -> DataFrame:
        if not each.lines.exists():
            raise SinkError(
                f"{each.named.option('source')}: there is no table {each.lines.path} yet: nothing of its topic has "
                "landed. Start without this view until something has"
            )
        behind = each.begins_behind()
        return query(self.spark, each.named, each.lines.path, None if behind is None else behind + 1)


@contextmanager
def _pool(spark: SparkSession) -> Iterator[None]:
    """With spark.scheduler.mode=FAIR, all views together get half of the cores while lines are landed, and not what
    came first. A query's thread has the pool of the thread that starts it."""
    spark.sparkContext.setLocalProperty("spark.scheduler.pool", "views")
    try:
        yield
    finally:
        spark.sparkContext.setLocalProperty("spark.scheduler.pool", None)  # type: ignore[arg-type]  # None clears it
