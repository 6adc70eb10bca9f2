"""`spark-sink status`: the progress of the sink, from its tables, its checkpoint and Kafka. It changes nothing.

It shows what it can read: before the first run there are no tables, and Kafka may be unreachable. Lag counts offsets,
like Kafka's own tools. The exit code is 1 if something could not be read.
"""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, TextIO, TypeVar

from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.kafka.admin import Admin
from log_shipper.spark_sink.kafka.client import latest
from log_shipper.spark_sink.kafka.offsets import Offsets, Partition
from log_shipper.spark_sink.kafka.topics import present
from log_shipper.spark_sink.maintenance import status_report
from log_shipper.spark_sink.maintenance.known import KnownTable, known_tables, table_of
from log_shipper.spark_sink.maintenance.sizes import read_sizes
from log_shipper.spark_sink.maintenance.streams import streams
from log_shipper.spark_sink.options.model import SinkConfig
from log_shipper.spark_sink.storage.tables import Table

SMALL = 32 * 1024**2
REASONS = 10
PATIENCE = 10.0  # seconds
PATIENCE_IF_DOWN = 0.5  # enough to try the second address of a host if the first one refuses

T = TypeVar("T")
Ends = Callable[[], Offsets]  # raises SinkError


def run(config: SinkConfig, as_json: bool, out: TextIO = sys.stdout) -> int:
    """Print the status and return the exit code."""
    status = read_status(config, lambda: ends(config))
    document = status_report.document(status)
    out.write(json.dumps(document, ensure_ascii=False, indent=2) + "\n" if as_json else status_report.text(document))
    return 1 if status.errors else 0


def ends(config: SinkConfig) -> Offsets:
    """Return Kafka's current ends of the sink's partitions."""
    with Admin(latest(config.kafka), PATIENCE, PATIENCE_IF_DOWN) as admin:
        return admin.latest(present(config.kafka, admin))


def read_status(config: SinkConfig, ask_ends: Ends) -> status_report.Status:
    return StatusReader(config, []).read(ask_ends)


@dataclass(frozen=True, slots=True)
class StatusReader:
    """Reads all parts of the status, and notes errors in `errors`."""

    config: SinkConfig
    errors: list[str]

    def read(self, ask_ends: Ends) -> status_report.Status:
        state = table_of(self.config, self.config.state_path)
        dead_letter = table_of(self.config, self.config.dead_letter_path)
        landed = self._answer(partial(landed_of, state)) or {}
        known = self._answer(partial(known_tables, self.config)) or []
        return status_report.Status(
            read_at=datetime.now(UTC),
            streams=tuple(self._answer(partial(streams, self.config)) or ()),
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
        return None


def table_status(known: KnownTable) -> status_report.TableStatus:
    return status_report.TableStatus(known, read_sizes(known.table, SMALL))


def landed_of(state: Table) -> dict[Partition, status_report.LandedEnd]:
    """Return the next offset to land of each partition, and when a batch last recorded it."""
    rows = _select(
        state,
        'SELECT topic, "partition", last_value(end_offset ORDER BY landing) AS end_offset, max(at) AS at FROM stored '
        "WHERE kind = 'partition' GROUP BY topic, \"partition\"",
    )
    return {(row["topic"], row["partition"]): status_report.LandedEnd(row["end_offset"], row["at"]) for row in rows}


def files_of(state: Table) -> int:
    """Return the number of files with marks: the running job keeps a mark of each in memory."""
    distinct = "SELECT DISTINCT \"table\", host, file_id FROM stored WHERE kind = 'file'"
    return sum(int(row["files"]) for row in _select(state, f"SELECT count(*) AS files FROM ({distinct})"))


def reasons(dead_letter: Table) -> list[tuple[str, int]]:
    """Return the reasons of bad records with their counts, the most frequent first."""
    rows = _select(
        dead_letter,
        f"SELECT reason, count(*) AS rows FROM stored GROUP BY reason ORDER BY rows DESC, reason LIMIT {REASONS}",
    )
    return [(row["reason"], row["rows"]) for row in rows]


def _select(table: Table, query: str) -> list[dict[str, Any]]:
    """Return the rows of a query, none without a table."""
    snapshot = table.snapshot()
    rows: list[dict[str, Any]] = snapshot.select(query).to_pylist() if snapshot.exists else []
    return rows


def partitions(landed: dict[Partition, status_report.LandedEnd], ends: Offsets) -> list[status_report.PartitionStatus]:
    """Return all partitions with landed rows or in Kafka: some are only in one of the two."""
    return [
        status_report.PartitionStatus(*partition, landed.get(partition), ends.get(partition))
        for partition in sorted({*landed, *ends})
    ]
