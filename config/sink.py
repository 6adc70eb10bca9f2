"""What the Spark sink can be told."""

from dataclasses import dataclass, field
from typing import Literal

from config.checks import not_blank, not_empty
from config.model import LoggingConfig
from config.units import Duration

Raw = dict[str, str | int | float | bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaSource:
    hosts: tuple[str, ...] = field(
        metadata={
            "key": ("hosts", "bootstrap_servers"),
            "doc": "Brokers to ask for the cluster, host:port.",
            "check": not_empty,
            "split": ",",
            "missing": "name one broker at least, as in 'hosts: [\"localhost:9092\"]'",
        }
    )
    topics: tuple[str, ...] = field(
        metadata={
            "key": ("topics", "topic"),
            "doc": "The topics to read.",
            "check": not_empty,
            "split": ",",
            "missing": "name one topic at least",
        }
    )
    # Not shown: raw settings may hold secrets (kafka.sasl.jaas.config).
    options: Raw = field(
        default_factory=dict, repr=False, metadata={"doc": "Raw options of Spark's Kafka source; they win over ours."}
    )

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(self.hosts)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableConfig:
    path: str = field(metadata={"doc": "The Delta table's directory or URI.", "check": not_blank})


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointConfig:
    path: str = field(metadata={"doc": "The query's checkpoint; it belongs to the table for good.", "check": not_blank})


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetterConfig:
    path: str | None = field(
        default=None, metadata={"doc": "The table of bad records; `<table.path>_dead_letter` when absent."}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerConfig:
    interval: Duration = field(default=1.0, metadata={"doc": "How often a batch begins; 0 is at once."})


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkConfig:
    kafka: KafkaSource
    table: TableConfig
    checkpoint: CheckpointConfig
    dead_letter: DeadLetterConfig = field(default_factory=DeadLetterConfig)
    start: Literal["earliest", "latest"] = field(
        default="earliest", metadata={"doc": "Where a new checkpoint begins in the topics."}
    )
    trigger: TriggerConfig = field(default_factory=TriggerConfig)
    max_offsets_per_trigger: int = field(
        default=1_000_000, metadata={"doc": "Records a batch, at most.", "unit": "records", "min": 1}
    )
    # Not shown: raw settings may hold secrets (the keys of an object store).
    spark: Raw = field(
        default_factory=dict, repr=False, metadata={"doc": "Raw settings of Spark, with or without their `spark.`."}
    )
    logging: LoggingConfig = field(default_factory=LoggingConfig)
    notes: tuple[str, ...] = field(default=(), metadata={"key": None})  # what was accepted and left out, in words

    @property
    def dead_letter_path(self) -> str:
        return self.dead_letter.path or self.table.path.rstrip("/") + "_dead_letter"

    @property
    def spark_conf(self) -> dict[str, str]:
        """The raw settings as Spark names and writes them."""
        return {_spark_key(key): _spark_text(value) for key, value in self.spark.items()}


def _spark_key(key: str) -> str:
    # `spark.master: x` and `spark: {spark.master: x}` are both natural to write.
    return key if key.startswith("spark.") else f"spark.{key}"


def _spark_text(value: str | int | float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
