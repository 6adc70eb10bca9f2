"""The sink's composition root, from the configuration to the running query.

    kafka.planning ─► landing.batch_handler ─► landing.batch_writer ─┬► the tables of lines ─► views
     (where a batch ends)                              │  ▲          ├► the dead-letter table
                                          ranges       ▼  │ files    └► the marks: the batch has landed
                              Kafka ─► landing.range_task, one for each core

Runs as a plain process (`spark-sink run -c sink.yml`), or on the cluster that `spark-submit` names
(docs/guides/cluster.md).
"""

import logging
import math
import threading
import time
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from py4j.protocol import Py4JNetworkError  # type: ignore[import-untyped]  # it ships no types
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from log_shipper.runtime.systemd import Notifier
from log_shipper.spark_sink.errors import SinkError, translate
from log_shipper.spark_sink.kafka import bounds, client, planned_source, planning, start, topics
from log_shipper.spark_sink.kafka.admin import Admin
from log_shipper.spark_sink.kafka.bounds import Bounds
from log_shipper.spark_sink.kafka.group import MonitoringGroup
from log_shipper.spark_sink.kafka.offsets import Offsets, describe_partitions
from log_shipper.spark_sink.kafka.planning import PlannerOptions
from log_shipper.spark_sink.landing import deleted_topics, guard, marks
from log_shipper.spark_sink.landing.batch_handler import BatchHandler
from log_shipper.spark_sink.landing.batch_writer import BatchResult, BatchWriter
from log_shipper.spark_sink.landing.deleted_topics import DeletedTopics
from log_shipper.spark_sink.landing.kafka_reader import OpenReader
from log_shipper.spark_sink.landing.startup import KafkaTopics, StartResult, Startup
from log_shipper.spark_sink.landing.tasks import SparkTasks
from log_shipper.spark_sink.maintenance.rounds import Rounds
from log_shipper.spark_sink.monitor.document import Program
from log_shipper.spark_sink.monitor.http import Monitored, MonitorServer, silence_limit
from log_shipper.spark_sink.monitor.liveness import Liveness
from log_shipper.spark_sink.monitor.progress import QUERY, BatchProgress
from log_shipper.spark_sink.monitor.table_sizes import TableSizes
from log_shipper.spark_sink.options.model import SinkConfig
from log_shipper.spark_sink.platform.running_tasks import RunningTasks
from log_shipper.spark_sink.platform.spark_errors import SPARK_ERRORS
from log_shipper.spark_sink.platform.stop_signals import stop_signals
from log_shipper.spark_sink.service import Service
from log_shipper.spark_sink.spark_session import sink_session
from log_shipper.spark_sink.storage.checkpoint import Checkpoint
from log_shipper.spark_sink.storage.conditional_puts import check_conditional_puts
from log_shipper.spark_sink.storage.locations import location_of
from log_shipper.spark_sink.storage.paths import check_shared
from log_shipper.spark_sink.storage.power_cuts import mend_checkpoint, mend_table
from log_shipper.spark_sink.storage.tables import NO_BATCH, Table
from log_shipper.spark_sink.views.views import Views

logger = logging.getLogger(__name__)

POLL_SECONDS = 0.2  # between two checks of the stop signal
TOPIC_SECONDS = 2.0
# After the batch's last append Spark still writes `commits/N`. If that is interrupted, the next start retries the batch
# and recognises it as landed, so waiting is optional. The same holds for the last progress event.
COMMIT_SECONDS = 5.0


def run(config: SinkConfig, program: Program) -> int:
    """Run the sink until a signal, or until the end in `stop`. Returns the exit code: 1 if a view has failed.

    Raises SinkError.
    """
    stopping = threading.Event()
    doing = f"landing {topics.describe(config.kafka)} in {config.table.path}"
    try:
        # After the session, which installs its own handler of SIGINT.
        with sink_session(config) as spark, stop_signals(stopping):
            return Job(spark, config, stopping, program).run()
    except (Py4JNetworkError, ConnectionError) as error:
        if stopping.is_set():  # a signal to the whole process group, or the end of a container
            logger.info("stopped; the JVM received the signal too. The next start repeats an unfinished batch")
            return 0
        raise SinkError(
            f"{doing}: Spark's JVM has exited, perhaps killed (out of memory?). Start the sink again"
        ) from error
    except SPARK_ERRORS as error:
        raise translate(str(error), doing) from error


class Job:
    """One run of the sink in a session."""

    def __init__(self, spark: SparkSession, config: SinkConfig, stopping: threading.Event, program: Program) -> None:
        self._spark = spark
        self._config = config
        self._stopping = stopping
        self._program = program
        self._checkpoint = Checkpoint(config.checkpoint.path, config.storage_options)
        self._client = client.latest(config.kafka)
        self._progress = BatchProgress()
        self._views = Views(spark, config)
        self._limit = silence_limit(config.trigger.interval)
        self._tasks = RunningTasks(spark)
        rounds = self._progress.metrics.maintenance_rounds
        self._rounds = Rounds(config, lambda well: rounds.labels("ok" if well else "failed").inc())
        self._service = Service(Notifier.from_environment(), self._progress.metrics.stalled_for, self._limit)

    def run(self) -> int:
        check_shared(self._spark, self._config)
        check_conditional_puts(self._config)
        mend_checkpoint(self._checkpoint.path, logger.warning)
        mend_table(self._config.state_path, logger.warning)
        with ExitStack() as opened:
            opened.enter_context(self._liveness())
            if self._config.http.enabled:
                opened.enter_context(self._server())
            admin = opened.enter_context(Admin(self._client))
            deleted = self._deleted_topics(admin)
            if self._await_topics(admin, deleted.names):
                self._land(admin, deleted)
        totals = {
            "landed_total": self._progress.rows,
            "bad_total": self._progress.bad,
            "repeats_total": self._progress.repeats,
        }
        logger.info(f"stopped: {self._progress.summary()}", extra=totals)
        return 1 if self._views.failed() else 0

    def _liveness(self) -> Liveness:
        service = self._service
        return Liveness(self._progress.metrics, self._tasks.read_stages, service.watch, service.interval)

    def _server(self) -> MonitorServer:
        progress, http = self._progress, self._config.http
        monitored = Monitored(progress.metrics, progress.observations, self._limit, self._program)
        return MonitorServer(monitored, http.host, http.port)

    def _deleted_topics(self, admin: Admin) -> DeletedTopics:
        """Return the planned offsets of topics deleted since. Raises Refused if `lost_offsets` is `fail`."""
        state = Table(location_of(self._config, self._config.state_path))
        # Loads only the ends, and no files.
        deleted = deleted_topics.find(
            self._checkpoint, admin.topic_names, lambda: marks.load(state.snapshot(), math.inf).ends
        )
        deleted_topics.check(deleted, self._config, logger.warning)
        return deleted

    def _await_topics(self, admin: Admin, deleted: Collection[str]) -> bool:
        """Wait until all topics except the deleted ones exist. Returns False at a stop before that."""

        def missing() -> list[str]:
            names = topics.missing(self._config.kafka, admin, deleted)
            self._progress.metrics.topics_missing.set(len(names))
            self._progress.observations.set_missing(names)
            return names

        return topics.wait_for(missing, logger.info, self._pause)

    def _pause(self) -> bool:
        self._progress.metrics.alive()  # waiting is not stalling
        self._service.report_waiting()
        return self._stopping.wait(TOPIC_SECONDS)

    def _land(self, admin: Admin, deleted: DeletedTopics) -> None:
        partitions = topics.present(self._config.kafka, admin)
        kafka = KafkaTopics(admin.ids({topic for topic, _ in partitions}), admin.earliest(partitions))
        may_lose = self._config.lost_offsets == "continue"

        def new_reader() -> OpenReader:
            return OpenReader(self._client(), may_lose)

        progressed = self._progress.metrics.progressed
        startup = Startup(
            SparkTasks(self._spark), self._config, self._checkpoint, kafka, new_reader, time.time, logger.info
        )
        started = replace(startup, progressed=progressed).run()
        writer = started.writer
        limits = bounds.resolve(self._config, admin, partitions)
        if limits is not None:
            limits = replace(limits, ends={**limits.ends, **deleted.ends})  # lost offsets are recorded in any case
        self._begin(admin, kafka.earliest, started)
        for note in limits.notes if limits else ():
            logger.info(note)
        group = MonitoringGroup(admin, self._config.kafka.group_id, logger.warning, self._progress.group_commit_failed)
        sizes = TableSizes(progressed=progressed)

        def on_landed(batch: BatchResult) -> None:
            self._progress.landed(batch, self._latest(admin, batch.ends))
            group.commit(batch.ends)
            if self._config.http.enabled:
                self._progress.observations.tables(sizes.update(writer.tables.written()))

        batches = BatchHandler(self._checkpoint, writer, self._stopping, on_landed, admin, limits)
        progressed()
        self._views.check()
        progressed()
        self._catch_up(admin, deleted, batches, limits)
        if limits and limits.reached(writer.marks.ends, admin.earliest(partitions)):
            batches.ended.set()  # without new records there is no batch to detect that the end is reached
        writer.garbage.keep()
        ends = None if limits is None else limits.ends
        planned = planning.resume(self._planned(writer), writer.marks.ends, partitions)
        self._stream(batches, PlannerOptions.from_config(self._config, planned, writer.marks.topics, ends))
        group.close()

    def _latest(self, admin: Admin, ends: Offsets) -> Offsets:
        """Return Kafka's current ends, for the lag; the ends of the batch if Kafka is not responding."""
        try:
            return admin.latest(list(ends))
        except SinkError:
            return ends

    def _begin(self, admin: Admin, partitions: Offsets, started: StartResult) -> None:
        """Save the start offsets of a new checkpoint, or of topics that are new to an existing one. `partitions`: with
        Kafka's first offsets."""
        planned, writer = self._checkpoint.last_planned(), started.writer
        if planned == NO_BATCH:
            config = replace(self._config, start="table") if started.continues else self._config
            starts = start.resolve(config, admin, partitions.keys(), writer.marks.ends)
            for note in starts.notes:
                logger.info(note)
            writer.begin_at(starts.offsets)
            return
        new = planning.begin_new_topics(partitions, writer.marks.ends, self._checkpoint.ends(planned))
        if any(new.values()):  # 0 is the default without an end in the marks
            logger.info(f"{describe_partitions(new.keys())}: new; reading from the first record")
            writer.begin_at(new)

    def _planned(self, writer: BatchWriter) -> Offsets:
        """Return the ends of the last planned batch."""
        planned = self._checkpoint.last_planned()
        return dict(writer.marks.ends) if planned == NO_BATCH else self._checkpoint.ends(planned)

    def _catch_up(self, admin: Admin, deleted: DeletedTopics, batches: BatchHandler, limits: Bounds | None) -> None:
        """Land the records that an earlier run planned but did not land, because they were beyond its bounds."""
        read, landed = self._checkpoint.resume_offsets(), batches.writer.marks.ends
        ends = bounds.not_landed(landed, read)
        if ends:
            latest = admin.latest([place for place in ends if place[0] not in deleted.names])
            guard.check_behind(self._checkpoint.path, ends, latest)
        if limits is not None:
            ends = bounds.not_landed(landed, limits.cut(read, landed))
        if ends:
            logger.info("landing records that the previous run read beyond its stop")
            batches.land_until(ends)

    def _stream(self, batches: BatchHandler, planner: PlannerOptions) -> None:
        self._spark.streams.addListener(self._progress)
        try:
            with self._running_views():
                # With a new checkpoint the query always starts: Spark writes the query id, which marks it as begun.
                if not batches.ended.is_set() or self._checkpoint.query_id() is None:
                    self._query(batches, planner)
        finally:
            self._spark.streams.removeListener(self._progress)

    def _query(self, batches: BatchHandler, planner: PlannerOptions) -> None:
        query = self._start(batches, planner)
        self._tasks.include(str(query.runId))
        self._progress.metrics.progressed()
        logger.info(f"landing {topics.describe(self._config.kafka)} in {self._config.table.path}")
        try:
            while not batches.closing and not ended(query, batches):
                self._views.supervise()
                self._progress.views(self._views.figures())
                self._rounds.step()
                self._service.step(self._progress.summary)
        finally:
            self._rounds.stop()
        if self._stopping.is_set():
            self._service.stopping()
        else:
            self._service.ended()
        stop(query, batches.idle)
        self._progress.ended.wait(COMMIT_SECONDS)

    @contextmanager
    def _running_views(self) -> Iterator[None]:
        """Run the views during the query, or after it if the run has an end."""
        if self._config.stop == "never":
            self._views.start()
        try:
            yield
        finally:
            self._views.stop()
        if self._config.stop != "never" and not self._stopping.is_set():
            self._views.catch_up(self._stopping.is_set)

    def _start(self, batches: BatchHandler, planner: PlannerOptions) -> StreamingQuery:
        planned = planned_source.stream(self._spark, planner)
        writer = planned.writeStream.queryName(QUERY).foreachBatch(batches)
        writer = writer.option("checkpointLocation", self._checkpoint.location.in_spark)
        return writer.trigger(processingTime=f"{round(self._config.trigger.interval * 1000)} milliseconds").start()


def ended(query: StreamingQuery, batches: BatchHandler) -> bool:
    """Return True if the query ended within POLL_SECONDS. Raises the error of the query, unless it should end
    anyway."""
    try:
        # The annotation allows only whole seconds, but fractions work.
        return bool(query.awaitTermination(POLL_SECONDS))  # type: ignore[arg-type]
    except SPARK_ERRORS:
        if batches.closing:
            return True
        raise


def stop(query: StreamingQuery, idle: threading.Event) -> None:
    """Stop the query after its running batch: Spark's own stop would interrupt the batch."""
    idle.wait()
    deadline = time.monotonic() + COMMIT_SECONDS
    while query.isActive and query.status["isTriggerActive"] and time.monotonic() < deadline:
        time.sleep(0.05)
    query.stop()
