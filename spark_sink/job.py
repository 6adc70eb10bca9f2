"""The sink's composition root: which part gets which, from the configuration to the running query.

    Kafka ─► source ─► transform.parse ─► good ─► the table of lines     one append a batch and table,
                                       └► bad ──► the dead-letter table  named by query id and batch number

Runs as a plain process (`spark-sink run -c sink.yml`), or on whatever `spark-submit` is told. From a checkout:

    python -m zipfile -c sink.zip spark_sink config
    spark-submit --master 'local[2]' \\
        --packages io.delta:delta-spark_2.13:4.0.1,org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0 \\
        --py-files sink.zip spark_sink/__main__.py run -c sink.yml --available-now

The versions are those of `versions.py`. The driver's Python needs pyspark and PyYAML, the executors need no Python.
"""

import threading
import time
from dataclasses import dataclass, field
from functools import cached_property

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from config.sink import SinkConfig
from spark_sink import guard, source
from spark_sink.checkpoint import Checkpoint
from spark_sink.errors import SPARK_ERRORS, translate
from spark_sink.progress import Progress, Report
from spark_sink.schema import BAD_RECORDS, LINES
from spark_sink.session import open_session
from spark_sink.sink import Sink
from spark_sink.stop import StopSignals
from spark_sink.tables import Table
from spark_sink.topics import Admin, wait_for

LOOK_SECONDS = 0.2  # between two looks at the stop signal
TOPIC_SECONDS = 2.0
# After the batch's last append Spark still writes its commit. It may be cut short (the batch is then skipped at the
# next start), so this is only a courtesy. The same for the last report.
COMMIT_SECONDS = 5.0


def run(config: SinkConfig, available_now: bool, report: Report) -> None:
    """Blocks until a signal, or with `available_now` until what is in the topics now is landed. Raises SinkError."""
    stopping = threading.Event()
    doing = "starting Spark"
    try:
        spark = open_session(config)
        doing = f"landing {', '.join(config.kafka.topics)} in {config.table.path}"
        try:
            with StopSignals(stopping):
                Job(spark, config, report, stopping).run(available_now)
        finally:
            spark.stop()
    except SPARK_ERRORS as error:
        raise translate(str(error), doing) from error


class Stopped(Exception):
    """Ends the query before a batch that is not wanted any more; one that returned undone would be committed."""


@dataclass
class Batches:
    """Called by Spark for each batch, on a thread of Spark's. A new query has its id only when the first one comes."""

    checkpoint: Checkpoint
    lines: Table
    dead_letter: Table
    progress: Progress
    stopping: threading.Event
    idle: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.idle.set()

    def __call__(self, records: DataFrame, batch: int) -> None:
        self.idle.clear()
        try:
            if self.stopping.is_set():
                raise Stopped
            self.progress.landed(self.sink.write_batch(records, batch))
        finally:
            self.idle.set()

    @cached_property
    def sink(self) -> Sink:
        query_id = self.checkpoint.query_id()
        if query_id is None:
            raise translate("its file metadata is gone", f"cannot go on with the checkpoint {self.checkpoint.path}")
        return Sink(self.lines, self.dead_letter, query_id)


class Job:
    """One run of the sink in a session."""

    def __init__(self, spark: SparkSession, config: SinkConfig, report: Report, stopping: threading.Event) -> None:
        self._spark = spark
        self._config = config
        self._report = report
        self._stopping = stopping
        self._lines = Table(spark, config.table.path)
        self._dead_letter = Table(spark, config.dead_letter_path)
        self._checkpoint = Checkpoint(spark, config.checkpoint.path)
        self._progress = Progress(report)

    def run(self, available_now: bool) -> None:
        if self._topics_are_there():
            self._prepare()
            self._land(available_now)
        self._report.say(
            f"stopped: {self._progress.summary()}", landed_total=self._progress.rows, bad_total=self._progress.bad
        )

    def _topics_are_there(self) -> bool:
        with Admin(self._spark, source.client_options(self._config)) as admin:
            return wait_for(
                admin.names, self._config.kafka.topics, self._report.say, lambda: self._stopping.wait(TOPIC_SECONDS)
            )

    def _prepare(self) -> None:
        guard.check(self._checkpoint, (self._lines, self._dead_letter), self._config.kafka.topics)
        self._lines.create(LINES, "Lines of log files, each once", partitioned_by="date")
        self._dead_letter.create(BAD_RECORDS, "Kafka records that are no lines, as they came")

    def _land(self, available_now: bool) -> None:
        batches = Batches(self._checkpoint, self._lines, self._dead_letter, self._progress, self._stopping)
        self._spark.streams.addListener(self._progress)
        try:
            query = self._start(batches, available_now)
            self._report.say(f"landing {', '.join(self._config.kafka.topics)} in {self._config.table.path}")
            while not self._stopping.is_set():
                # Its type says whole seconds, but it is made for parts of one.
                if query.awaitTermination(LOOK_SECONDS):  # type: ignore[arg-type]
                    break
            stop(query, batches.idle)
            self._progress.ended.wait(COMMIT_SECONDS)
        finally:
            self._spark.streams.removeListener(self._progress)

    def _start(self, batches: Batches, available_now: bool) -> StreamingQuery:
        writer = source.stream(self._spark, self._config).writeStream.foreachBatch(batches)
        writer = writer.option("checkpointLocation", self._config.checkpoint.path)
        if available_now:
            return writer.trigger(availableNow=True).start()
        return writer.trigger(processingTime=f"{round(self._config.trigger.interval * 1000)} milliseconds").start()


def stop(query: StreamingQuery, idle: threading.Event) -> None:
    """Lets the running batch end first: Spark's own stop interrupts it."""
    idle.wait()
    deadline = time.monotonic() + COMMIT_SECONDS
    while query.isActive and query.status["isTriggerActive"] and time.monotonic() < deadline:
        time.sleep(0.05)
    query.stop()
