"""The sink's metrics for Prometheus: each is an attribute of `SinkMetrics`, with its help text.

docs/reference/sink-metrics.md lists them; this command prints its table:

    python -m log_shipper.spark_sink.monitor.metrics
"""

import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Summary, disable_created_metrics
from prometheus_client.metrics_core import Metric

from log_shipper.spark_sink.kafka.offsets import Offsets, Partition, lag
from log_shipper.spark_sink.landing.batch_writer import BatchResult
from log_shipper.spark_sink.landing.stages import STAGES, Stage
from log_shipper.spark_sink.monitor.processes import Usage
from log_shipper.spark_sink.views.progress import Figures

# From an idle batch of a small local session to a batch in trouble.
SECONDS = (0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 60.0, 120.0, 300.0)
PARTITION = ("topic", "partition")
VIEW = ("view",)
STAGE = ("stage",)
RESULT = ("result",)


class SinkMetrics:
    """All metrics of a process, with their own registry. Thread-safe."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        # Otherwise each counter has a second series, with its creation time.
        disable_created_metrics()  # type: ignore[no-untyped-call]  # it has no annotation
        self._now = now
        self.seen_alive = self._progressed = now()  # the last calls of `alive` and of `progressed`
        self._partitions: set[Partition] = set()  # partitions with a lag
        self._view_failures: dict[str, int] = {}
        self._cpu_seconds = 0.0
        self.registry = registry = CollectorRegistry()

        counter = partial(Counter, namespace="spark_sink", registry=registry)
        gauge = partial(Gauge, namespace="spark_sink", registry=registry)
        self.started = gauge("start_time_seconds", "Start time of the process, in Unix time.")
        self.started.set_to_current_time()
        self.topics_missing = gauge("topics_missing", "Missing topics or partitions.")
        self.rows_landed = counter("rows_landed", "Rows written to the tables of lines.")
        self.rows_bad = counter("rows_bad", "Bad records, written to the dead-letter table.")
        self.tombstones = counter("tombstones", "Records without a value, written to the dead-letter table.")
        self.rows_repeated = counter("rows_repeated", "Repeated rows, left out.")
        self.files_suspect = counter("files_suspect", "Files looked up because of repeats or late rows.")
        self.offsets_lost = counter("offsets_lost", "Offsets that Kafka deleted before they were read.")
        self.batches = counter("batches", "Landed micro-batches.")
        self.batches_repeated = counter("batches_repeated", "Landed micro-batches that a crash repeated.")
        self.batch_seconds = _batch_seconds(registry)
        self.stage_seconds = _stage_seconds(registry)
        self.batch_rows = gauge("batch_rows", "Rows landed by the last micro-batch.")
        self.batch_tables = gauge("batch_tables", "Tables written by the last micro-batch.")
        self.last_batch = gauge("last_batch_timestamp_seconds", "Time when the last micro-batch landed, in Unix time.")
        self.silent = gauge("silent_seconds", "Time since a micro-batch finished or no records were new.")
        self.silent.set_function(self.silent_for)
        self.stalled = gauge("stalled_seconds", "Time since a step of the start, a task or a micro-batch finished.")
        self.stalled.set_function(self.stalled_for)
        self.landed_offset = gauge("landed_offset", "Next offset to land, by topic and partition.", PARTITION)
        self.end_offset = gauge("end_offset", "Its end when the last micro-batch had landed.", PARTITION)
        self.lag = gauge("lag_offsets", "Offsets between these two, by topic and partition.", PARTITION)
        self.lag_seconds = gauge("lag_seconds", "Maximum wait of records to land; NaN while unknown.")
        self.delay = gauge("landing_delay_seconds", "Age of the last micro-batch's oldest record at landing.")
        self.cpu = counter("cpu_seconds", "CPU time of the sink, Java, and Spark's Python processes.")
        self.memory = gauge("memory_bytes", "Resident memory of these processes; shared pages count in each.")
        self.files = gauge("files_remembered", "Files remembered to recognise repeats.")
        self.group_commit_failures = counter(
            "group_commit_failures", "Failed offset commits to the group; rows still land."
        )
        self.maintenance_rounds = _maintenance_rounds(registry)
        self.view_up = gauge("view_up", "By view: 1 if it runs, 0 after a failure.", VIEW)
        self.view_late_rows = gauge("view_late_rows", "By view: late rows dropped since the start.", VIEW)
        self.view_state_rows = gauge("view_state_rows", "By view: groups and rows in the state of its query.", VIEW)
        self.view_seconds = gauge("view_batch_seconds", "By view: duration of its last micro-batch.", VIEW)
        self.view_failures = counter("view_failures", "By view: failures, including failed restarts.", VIEW)

    def landed(self, landed: BatchResult) -> None:
        """Record a landed batch."""
        self.rows_landed.inc(landed.rows)
        self.rows_bad.inc(landed.bad)
        self.tombstones.inc(landed.tombstones)
        self.rows_repeated.inc(landed.repeats)
        self.files_suspect.inc(landed.suspects)
        self.offsets_lost.inc(landed.lost)
        (self.batches_repeated if landed.repeated else self.batches).inc()
        self.batch_rows.set(landed.rows)
        self.batch_tables.set(landed.tables)
        self.files.set(landed.files)
        self.last_batch.set_to_current_time()
        times = [read.oldest for read in landed.records.values() if read.oldest is not None]
        if times:
            self.delay.set(max(0.0, time.time() - min(times)))
        for (topic, partition), end in landed.ends.items():
            self.landed_offset.labels(topic, partition).set(end)
        self.stages(landed.stages)
        self.alive()

    def stages(self, seconds: Mapping[Stage, float]) -> None:
        """Record the durations of a batch's stages."""
        for stage, duration in seconds.items():
            self.stage_seconds.labels(stage).observe(duration)

    def batch(self, seconds: float, landed: Offsets, latest: Offsets) -> None:
        """Record Spark's report of a batch: its duration, and Kafka's ends."""
        self.batch_seconds.observe(seconds)
        for partition, offsets in lag(landed, latest).items():
            self.end_offset.labels(*partition).set(latest[partition])
            self.lag.labels(*partition).set(offsets)
        for partition in (
            self._partitions - latest.keys()
        ):  # of a topic that was deleted: its lag would stay permanently
            self.end_offset.remove(*partition)
            self.lag.remove(*partition)
        self._partitions = set(latest)

    def set_usage(self, usage: Usage) -> None:
        """Record the usage of the processes. CPU time of unreaped children is lost, but a counter must not fall."""
        self.cpu.inc(max(0.0, usage.cpu_seconds - self._cpu_seconds))
        self._cpu_seconds = max(self._cpu_seconds, usage.cpu_seconds)
        self.memory.set(usage.memory)

    def alive(self) -> None:
        """Record that the query has completed a batch, or found no new records."""
        self.seen_alive = self._now()
        self.progressed()

    def progressed(self) -> None:
        """Record progress of the sink, also within a batch and during the start."""
        self._progressed = self._now()

    def stalled_for(self) -> float:
        """Return the seconds since the last progress of the sink."""
        return self._now() - self._progressed

    def silent_for(self) -> float:
        """Return the seconds since the last call of `alive`."""
        return self._now() - self.seen_alive

    def views(self, figures: Mapping[str, Figures]) -> None:
        """Record the figures of the views. Call it repeatedly, with cumulative figures."""
        for view, now in figures.items():
            # Also by 0, so that the series exists before the first failure.
            self.view_failures.labels(view).inc(now.failures - self._view_failures.get(view, 0))
            self._view_failures[view] = now.failures
            self.view_up.labels(view).set(not now.failed)
            self.view_late_rows.labels(view).set(now.late)
            self.view_state_rows.labels(view).set(now.state_rows)
            self.view_seconds.labels(view).set(now.seconds)


def _batch_seconds(registry: CollectorRegistry) -> Histogram:
    text = "Duration of a micro-batch, Spark's own work included."
    return Histogram("spark_sink_batch_seconds", text, buckets=SECONDS, registry=registry)


def _stage_seconds(registry: CollectorRegistry) -> Summary:
    text = f"Duration of a micro-batch's stages, by stage: {', '.join(STAGES)}."
    summary = Summary("spark_sink_batch_stage_seconds", text, STAGE, registry=registry)
    for stage in STAGES:  # so that each series exists before the first batch
        summary.labels(stage)
    return summary


def _maintenance_rounds(registry: CollectorRegistry) -> Counter:
    text = "Finished maintenance rounds, by result: ok or failed."
    rounds = Counter("spark_sink_maintenance_rounds", text, RESULT, registry=registry)
    for result in ("ok", "failed"):
        rounds.labels(result)
    return rounds


def documentation() -> str:
    """Return the table of docs/reference/sink-metrics.md."""
    rows = (f"| `{_exposed(family)}` | {family.type} | {family.documentation} |" for family in _families())
    return "\n".join(("| metric | type | meaning |", "|---|---|---|", *rows)) + "\n"


def _families() -> Iterator[Metric]:
    yield from SinkMetrics().registry.collect()


def _exposed(family: Metric) -> str:
    return f"{family.name}_total" if family.type == "counter" else family.name


if __name__ == "__main__":
    print(documentation(), end="")  # noqa: T201 - this is the command's answer
