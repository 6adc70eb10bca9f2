"""What a task reports about its bad records: their number by cause, and the place of the last one. Never their content.

The reason of a bad record, in full in the dead letter, may quote a value (`@timestamp is not an ISO 8601 time:
yesterday`) or the members of an object. The cause is the reason without them: causes are few, and not confidential.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pyarrow as pa

from log_shipper.spark_sink.rows.line_reader import NO_VALUE

MAX_CAUSES = 50  # further causes are counted together
OTHERS = "other causes"
TOMBSTONE = NO_VALUE  # a compacted topic has these, so they are counted apart
_WRONG_TYPE = "wrong type: "


@dataclass(frozen=True, slots=True)
class BadRecords:
    """Bad records of one cause, and the place of the last one."""

    count: int
    topic: str
    partition: int
    offset: int

    def followed_by(self, later: "BadRecords") -> "BadRecords":
        return BadRecords(self.count + later.count, later.topic, later.partition, later.offset)


BadByCause = Mapping[str, BadRecords]


def cause(reason: str) -> str:
    """Return the reason without values of the record."""
    if reason.startswith(_WRONG_TYPE):
        path, expected_type = reason.partition(" is ")[0], reason.rpartition(", not ")[2]
        return f"{path} is not {expected_type}"
    return reason.partition(": ")[0]


def by_cause(bad: pa.Table) -> dict[str, BadRecords]:
    """Return the causes of dead-letter rows."""
    counted: dict[str, BadRecords] = {}
    names = ("reason", "topic", "partition", "kafka_offset")
    for reason, *place in zip(*(bad.column(name).to_pylist() for name in names), strict=True):
        merge(counted, {cause(reason): BadRecords(1, *place)})
    return counted


def merge(known: dict[str, BadRecords], later: BadByCause) -> None:
    """Add later records to the known ones."""
    for text, records in later.items():
        key = text if text in known or len(known) < MAX_CAUSES or text == TOMBSTONE else OTHERS
        known[key] = known[key].followed_by(records) if key in known else records


def merged(parts: Iterable[BadByCause]) -> dict[str, BadRecords]:
    known: dict[str, BadRecords] = {}
    for part in parts:
        merge(known, part)
    return known
