"""The configuration of the Spark sink."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from log_shipper.config.text.checks import Finding
from log_shipper.config.text.spans import Timestamp
from log_shipper.config.text.units import Duration
from log_shipper.spark_sink.options import stores
from log_shipper.spark_sink.options.bounds import (
    Offsets,
    Start,
    Stop,
    check_companions,
    check_offsets_are_read,
    group,
    in_order,
    start_offsets,
    stop_offsets,
)
from log_shipper.spark_sink.options.java_options import Raw
from log_shipper.spark_sink.options.kafka import KafkaSource
from log_shipper.spark_sink.options.maintenance import MaintenanceConfig
from log_shipper.spark_sink.options.parts import (
    CheckpointConfig,
    DeadLetterConfig,
    DedupeConfig,
    HttpConfig,
    LostOffsets,
    SinkLoggingConfig,
    StateConfig,
    TriggerConfig,
    UiConfig,
    spark_key,
    texts,
)
from log_shipper.spark_sink.options.paths import SinkDirectory, base_is_fixed, collisions, normal_pattern, normalized
from log_shipper.spark_sink.options.tables import ColumnConfig, TableConfig, check_columns
from log_shipper.spark_sink.options.views import ViewConfig, check_views

_MAX_DELAY = 900.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkConfig:
    kafka: KafkaSource
    table: TableConfig
    checkpoint: CheckpointConfig
    columns: tuple[ColumnConfig, ...] = field(
        default=(),
        metadata={
            "since": "0.3",
            "doc": "Additional columns.",
            "check": check_columns,
        },
    )
    dead_letter: DeadLetterConfig = field(default_factory=DeadLetterConfig)
    state: StateConfig = field(default_factory=StateConfig)
    start: Start = field(
        default="earliest",
        metadata={
            "doc": "Start position of a new checkpoint: the first record (earliest), the end (latest), "
            "`start_timestamp`, `start_offsets`, the offsets of a consumer group (committed), or the end of the "
            "table."
        },
    )
    start_timestamp: Timestamp | None = field(
        default=None,
        metadata={"since": "0.3", "doc": "Time for `start: timestamp`."},
    )
    start_offsets: Offsets = field(
        default_factory=dict,
        metadata={
            "since": "0.3",
            "doc": "Offsets for `start: offsets`, by topic and partition: `logs: {0: 17, 1: 23}`; -2 is earliest, -1 "
            "latest.",
            "check": start_offsets,
        },
    )
    start_group: str | None = field(
        default=None,
        metadata={"since": "0.3", "doc": "Consumer group for `start: committed`; default: `kafka.group_id`."},
    )
    stop: Stop = field(
        default="never",
        metadata={
            "since": "0.3",
            "doc": "End of the run: never, after the records available at its start, at `stop_offsets`, or at "
            "`stop_timestamp`.",
        },
    )
    stop_timestamp: Timestamp | None = field(
        default=None,
        metadata={
            "since": "0.3",
            "doc": "For `stop: timestamp`: the Kafka timestamp of the first record not to land.",
        },
    )
    stop_offsets: Offsets = field(
        default_factory=dict,
        metadata={
            "since": "0.3",
            "doc": "For `stop: offsets`, by topic and partition: the first offset not to land.",
            "check": stop_offsets,
        },
    )
    lost_offsets: LostOffsets = field(
        default="fail",
        metadata={
            "since": "0.3",
            "doc": "Reaction to records that Kafka deleted before they were read: stop with an error (fail), or record "
            "their offsets in the dead-letter table (continue).",
        },
    )
    trigger: TriggerConfig = field(default_factory=TriggerConfig)
    max_offsets_per_trigger: int = field(
        default=1_000_000, metadata={"doc": "Maximum number of records in a micro-batch.", "unit": "records", "min": 1}
    )
    min_offsets_per_trigger: int = field(
        default=0,
        metadata={
            "since": "0.3",
            "doc": "Minimum number of records in a micro-batch, which waits for them up to `max_trigger_delay`; only "
            "with `stop: never`.",
            "unit": "records",
            "min": 0,
        },
    )
    max_trigger_delay: Duration = field(
        default=_MAX_DELAY,
        metadata={"since": "0.3", "doc": "Maximum wait for `min_offsets_per_trigger`.", "min": 0.001},
    )
    fsync: bool = field(
        default=True,
        metadata={
            "since": "0.3",
            "doc": "Syncs each micro-batch to the disk of a local file system, which takes about 10 ms per table. "
            "Without it, a power cut can damage the writes of the last 30 s, and the sink refuses to start.",
        },
    )
    dedupe: DedupeConfig = field(default_factory=DedupeConfig)
    views: tuple[ViewConfig, ...] = field(
        default=(),
        metadata={
            "since": "0.3",
            "doc": "Tables derived from the table of lines, each by a query.",
            "check": check_views,
        },
    )
    maintenance: MaintenanceConfig = field(default_factory=MaintenanceConfig)
    http: HttpConfig = field(default_factory=HttpConfig)
    ui: UiConfig = field(default_factory=UiConfig)
    # Not shown: raw settings may contain secrets (the keys of an object store).
    spark: Raw = field(
        default_factory=dict,
        repr=False,
        metadata={"doc": "Raw Spark settings, with or without the prefix `spark.`."},
    )
    logging: SinkLoggingConfig = field(default_factory=SinkLoggingConfig)
    # For the log: accepted but ignored options, and options without effect that are probably mistakes.
    notes: tuple[str, ...] = field(default=(), metadata={"key": None})
    warnings: tuple[str, ...] = field(default=(), metadata={"key": None})

    @property
    def has_template(self) -> bool:
        """True if `table.path` is a template for several tables."""
        return bool(self.table.template.fields)

    @property
    def table_base(self) -> str:
        """Return the path from which the names of the other tables derive, without a trailing slash."""
        return self.table.template.base

    @property
    def dead_letter_path(self) -> str:
        return self.dead_letter.path or f"{self.table_base}_dead_letter"

    @property
    def state_path(self) -> str:
        return self.state.path or f"{self.table_base}_marks"

    def view_path(self, view: ViewConfig) -> str:
        return view.path or f"{self.table_base}_{view.name}"

    @property
    def view_checkpoints(self) -> str:
        """Return the directory of the views' checkpoints, beside the query's own: users copy or move that one as a
        whole."""
        return f"{self.checkpoint.path.rstrip('/')}_views"

    @property
    def spark_conf(self) -> dict[str, str]:
        """Return the raw settings with Spark's full names, as texts."""
        return {spark_key(key): value for key, value in texts(self.spark).items()}

    @property
    def storage_options(self) -> dict[str, str]:
        """Return `table.options` in deltalake's form. They apply to all tables."""
        return {name.lower(): value for name, value in texts(self.table.options).items()}

    def check(self) -> Iterator[Finding]:
        yield from self._check_start_and_stop()
        if self.min_offsets_per_trigger > self.max_offsets_per_trigger:
            yield "min_offsets_per_trigger", f"is more than max_offsets_per_trigger ({self.max_offsets_per_trigger})"
        if self.max_trigger_delay != _MAX_DELAY and not self.min_offsets_per_trigger:
            yield "max_trigger_delay", "requires min_offsets_per_trigger"
        yield from self._sources()
        unfixed = [("table.path", message) for _, message in base_is_fixed(self.table.template)]
        yield from unfixed or collisions(self.table.template, self.kafka.topic_names, self._directories())
        paths = [self.table.path, *(directory.path for directory in self._directories())]
        for name, message in stores.mistakes(self.table.options, paths):
            yield f"table.options.{name}", message

    def cautions(self) -> Iterator[Finding]:
        yield from stores.unused(self.spark_conf, self.table.options)

    def _check_start_and_stop(self) -> Iterator[Finding]:
        yield from check_companions("start", self.start, self.start_timestamp, self.start_offsets)
        yield from check_companions("stop", self.stop, self.stop_timestamp, self.stop_offsets)
        yield from group(self.start, self.start_group, self.kafka.group_id)
        yield from check_offsets_are_read(self.kafka, "start_offsets", self.start_offsets)
        yield from check_offsets_are_read(self.kafka, "stop_offsets", self.stop_offsets)
        yield from in_order(self.start_offsets, self.stop_offsets)
        if self.start_timestamp and self.stop_timestamp and self.stop_timestamp <= self.start_timestamp:
            yield "stop_timestamp", "must be later than start_timestamp"

    def _sources(self) -> Iterator[Finding]:
        pattern = normal_pattern(self.table.template, self.kafka.topic_names)
        for index, view in enumerate(self.views):
            if view.source is None and self.has_template:
                yield (
                    f"views[{index}].source",
                    "missing; table.path is a template for several tables: give the path of one",
                )
            if view.source is not None and not re.fullmatch(pattern, normalized(view.source)):
                yield f"views[{index}].source", f"{view.source!r} is not a table of table.path ({self.table.path!r})"

    def _directories(self) -> list[SinkDirectory]:
        return [
            SinkDirectory("dead_letter.path", self.dead_letter_path, "the dead-letter table"),
            SinkDirectory("state.path", self.state_path, "the table of marks"),
            SinkDirectory("checkpoint.path", self.checkpoint.path, "the checkpoint"),
            *(
                [SinkDirectory("checkpoint.path", self.view_checkpoints, "the views' checkpoints")]
                if self.views
                else []
            ),
            *(
                SinkDirectory(f"views[{index}].path", self.view_path(view), f"the view {view.name!r}")
                for index, view in enumerate(self.views)
            ),
        ]
