"""`spark-sink status`: how far the sink is, from its tables, its checkpoint and Kafka. It changes nothing.

Whatever can be read is shown: before the first run there are no tables, and Kafka may be unreachable. Lag counts
offsets, as Kafka's own tools do. The exit code is 1 when something could not be read.
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

from log_shipper.config.sink.model import SinkConfig
from log_shipper.spark_sink.errors import SinkError, translate
from log_shipper.spark_sink.kafka.admin import Admin
from log_shipper.spark_sink.kafka.client import latest
from log_shipper.spark_sink.kafka.offsets import Offsets, Partition
from log_shipper.spark_sink.kafka.topics import present
from log_shipper.spark_sink.landing import marks
from log_shipper.spark_sink.maintenance import status_report
from log_shipper.spark_sink.maintenance.known import KnownTable, known_tables
from log_shipper.spark_sink.maintenance.sizes import read_sizes
from log_shipper.spark_sink.maintenance.streams import streams
from log_shipper.spark_sink.platform.spark_errors import SPARK_ERRORS
from log_shipper.spark_sink.spark_session import sink_session
from log_shipper.spark_sink.storage.spark_tables import Table

SMALL = 32 * 1024**2
REASONS = 10
PATIENCE = 10.0

T = TypeVar("T")
Ends = Callable[[], Offsets]  # raises SinkError


def run(config: SinkConfig, as_json: bool, out: TextIO = sys.stdout) -> int:
    """Print the status and return the exit code. Raises SinkError when Spark does not start."""
    with sink_session(config) as spark:
        status = read_status(spark, config, lambda: ends(spark, config))
    document = status_report.document(status)
    out.write(json.dumps(document, ensure_ascii=False, indent=2) + "\n" if as_json else status_report.text(document))
    return 1 if status.errors else 0


def ends(spark: SparkSession, config: SinkConfig) -> Offsets:
    """Return where the partitions that the sink reads end now."""
    with Admin(latest(config.kafka), PATIENCE) as admin:
        return admin.latest(present(config.kafka, admin))


def read_status(spark: SparkSession, config: SinkConfig, ask_ends: Ends) -> status_report.Status:
    return StatusReader(spark, config, []).read(ask_ends)


@dataclass(frozen=True, slots=True)
class StatusReader:
    """Reads all parts of the status. What cannot be read is noted in `errors`."""

    spark: SparkSession
    config: SinkConfig
    errors: list[str]

    def read(self, ask_ends: Ends) -> status_report.Status:
        state, dead_letter = (
            Table(self.spark, path) for path in (self.config.state_path, self.config.dead_letter_path)
        )
        landed = self._answer(partial(landed_of, state)) or {}
        known = self._answer(partial(known_tables, self.spark, self.config)) or []
        return status_report.Status(
            taken=datetime.now(UTC),
            streams=tuple(self._answer(partial(streams, self.spark, self.config)) or ()),
            partitions=tuple(partitions(landed, self._answer(ask_ends) or {})),
            tables=tuple(
                self._answer(partial(table_status, table)) or status_report.TableStatus(table) for table in known
            ),
            reasons=tuple(self._answer(partial(reasons, dead_letter)) or ()),
            files=self._answer(partial(files_of, state)) or 0,
            errors=tuple(self.errors),
        )

    def _answer(self, question: Callable[[], T]) -> T | None:
        try:
            return question()
        except SinkError as error:
            self.errors.append(str(error))
        except SPARK_ERRORS as error:
            self.errors.append(str(translate(str(error), "cannot read a table")))
        return None


def table_status(known: KnownTable) -> status_report.TableStatus:
    return status_report.TableStatus(known, read_sizes(known.table, SMALL))


def landed_of(state: Table) -> dict[Partition, status_report.LandedEnd]:
    """Return, for each partition, the next offset to land, and when a batch last recorded it."""
    if not state.exists():
        return {}
    rows = marks.fold(state.read().where("kind = 'partition'")).select("*", F.unix_micros("at").alias("micros"))
    return {
        (row["topic"], row["partition"]): status_report.LandedEnd(row["end_offset"], _utc(row["micros"]))
        for row in rows.collect()
    }


def files_of(state: Table) -> int:
    """Return how many files have marks: the running job has a mark of each in memory."""
    if not state.exists():
        return 0
    return state.read().where("kind = 'file'").select("table", "host", "file_id").distinct().count()


def reasons(dead_letter: Table) -> list[tuple[str, int]]:
    """Return the reasons of bad records with their counts, the most frequent first."""
    if not dead_letter.exists():
        return []
    counted = dead_letter.read().groupBy("reason").count().orderBy(F.desc("count"), "reason").limit(REASONS)
    return [(row["reason"], row["count"]) for row in counted.collect()]


def partitions(landed: dict[Partition, status_report.LandedEnd], ends: Offsets) -> list[status_report.PartitionStatus]:
    """Return the partitions that rows have landed from, and those that Kafka has: some are in one of the two only."""
    return [
        status_report.PartitionStatus(*partition, landed.get(partition), ends.get(partition))
        for partition in sorted({*landed, *ends})
    ]


def _utc(micros: int | None) -> datetime | None:
    return None if micros is None else datetime.fromtimestamp(micros / 1e6, UTC)
