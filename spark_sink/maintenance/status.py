"""`spark-sink status`: how far the sink is, from its tables, its checkpoint and Kafka. It changes nothing.

What is there is shown: before the first run there are no tables, and Kafka may be away. Lag counts offsets, as Kafka's
own tools do. Exit code 1 when something that was asked did not answer.
"""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TextIO, TypeVar

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from config.sink.model import SinkConfig
from spark_sink.errors import SPARK_ERRORS, SinkError, translate
from spark_sink.kafka.admin import Admin
from spark_sink.kafka.offsets import Offsets, Partition
from spark_sink.kafka.source import client_options
from spark_sink.kafka.topics import present
from spark_sink.landing import marks
from spark_sink.maintenance import shown
from spark_sink.maintenance.known import Known, known_tables
from spark_sink.maintenance.sizes import sizes
from spark_sink.maintenance.streams import streams
from spark_sink.spark_session import sink_session
from spark_sink.storage.tables import Table

SMALL = 32 * 1024**2
REASONS = 10
PATIENCE = 10.0

T = TypeVar("T")
Ends = Callable[[], Offsets]  # raises SinkError


def run(config: SinkConfig, as_json: bool, out: TextIO = sys.stdout) -> int:
    """Raises SinkError when Spark does not start."""
    with sink_session(config) as spark:
        found = look(spark, config, lambda: ends(spark, config))
    document = shown.document(found)
    out.write(json.dumps(document, ensure_ascii=False, indent=2) + "\n" if as_json else shown.text(document))
    return 1 if found.errors else 0


def ends(spark: SparkSession, config: SinkConfig) -> Offsets:
    """Return where the partitions that the sink reads end now."""
    with Admin(spark, client_options(config), PATIENCE) as admin:
        return admin.latest(present(config.kafka, admin))


def look(spark: SparkSession, config: SinkConfig, ask: Ends) -> shown.Status:
    return Looking(spark, config, []).at_all(ask)


@dataclass(frozen=True, slots=True)
class Looking:
    """Gathers, and notes what could not be had."""

    spark: SparkSession
    config: SinkConfig
    errors: list[str]

    def at_all(self, ask: Ends) -> shown.Status:
        state, dead_letter = (
            Table(self.spark, path) for path in (self.config.state_path, self.config.dead_letter_path)
        )
        landed = self._try(partial(landed_of, state)) or {}
        known = self._try(partial(known_tables, self.spark, self.config)) or []
        return shown.Status(
            at=datetime.now(UTC),
            streams=tuple(self._try(partial(streams, self.spark, self.config)) or ()),
            partitions=tuple(partitions(landed, self._try(ask) or {})),
            tables=tuple(self._try(partial(table_status, each)) or shown.TableStatus(each) for each in known),
            reasons=tuple(self._try(partial(reasons, dead_letter)) or ()),
            files=self._try(partial(files_of, state)) or 0,
            errors=tuple(self.errors),
        )

    def _try(self, question: Callable[[], T]) -> T | None:
        try:
            return question()
        except SinkError as error:
            self.errors.append(str(error))
        except SPARK_ERRORS as error:
            self.errors.append(str(translate(str(error), "cannot read a table")))
        return None


def table_status(known: Known) -> shown.TableStatus:
    return shown.TableStatus(known, sizes(known.table, SMALL))


def landed_of(state: Table) -> dict[Partition, shown.LandedEnd]:
    """Return, for each partition, the next offset to land, and when a batch last recorded it."""
    if not state.exists():
        return {}
    rows = marks.fold(state.read().where("kind = 'partition'")).select("*", F.unix_micros("at").alias("micros"))
    return {
        (row["topic"], row["partition"]): shown.LandedEnd(row["end_offset"], _utc(row["micros"]))
        for row in rows.collect()
    }


def files_of(state: Table) -> int:
    """Return how many files have marks: the job has as many in memory."""
    if not state.exists():
        return 0
    return state.read().where("kind = 'file'").select("table", "host", "file_id").distinct().count()


def reasons(dead_letter: Table) -> list[tuple[str, int]]:
    """Return the reasons of bad records with their counts, the most frequent first."""
    if not dead_letter.exists():
        return []
    counted = dead_letter.read().groupBy("reason").count().orderBy(F.desc("count"), "reason").limit(REASONS)
    return [(row["reason"], row["count"]) for row in counted.collect()]


def partitions(landed: dict[Partition, shown.LandedEnd], ends: Offsets) -> list[shown.PartitionStatus]:
    """Return the partitions that rows have landed of and those that Kafka has: one may be deleted, or not begun."""
    return [
        shown.PartitionStatus(*partition, landed.get(partition), ends.get(partition))
        for partition in sorted({*landed, *ends})
    ]


def _utc(micros: int | None) -> datetime | None:
    return None if micros is None else datetime.fromtimestamp(micros / 1e6, UTC)
