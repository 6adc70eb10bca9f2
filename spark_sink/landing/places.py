"""Places of records in Kafka, by which rows are left out.

A place is topic, partition, offset and Kafka's timestamp: a re-created topic reuses offsets. A lost range has no time.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa
from pyarrow import compute

from log_shipper.spark_sink.kafka.offsets import Partition

PLACE = ("topic", "partition", "kafka_offset", "kafka_ts")
PLACE_SQL = ", ".join(PLACE)
_NO_TIME = -(2**63)  # NULL does not match NULL in a join
_SCHEMA = pa.schema(
    [("topic", pa.string()), ("partition", pa.int32()), ("kafka_offset", pa.int64()), ("kafka_ts", pa.int64())]
)


@dataclass(frozen=True, slots=True)
class Places:
    """A set of places, about 40 bytes each. Can be pickled. `rows`: time in microseconds of the epoch."""

    rows: pa.Table

    @classmethod
    def from_rows(cls, parts: Iterable[pa.Table | pa.RecordBatch] = ()) -> "Places":
        """Return the places of rows that have at least the columns of PLACE."""
        return cls(pa.concat_tables([_SCHEMA.empty_table(), *map(_places, parts)]))

    def __add__(self, other: "Places") -> "Places":
        return Places(pa.concat_tables([self.rows, other.rows]))

    def __len__(self) -> int:
        return int(self.rows.num_rows)

    def select(self, rows: pa.Table) -> pa.Table:
        """Return the rows at these places, in their order."""
        return rows.take(self._joined(rows, "left semi"))

    def others(self, rows: pa.Table) -> pa.Table:
        """Return the rows at other places, in their order."""
        return rows.take(self._joined(rows, "left anti")) if len(self) else rows

    def last(self) -> dict[Partition, int]:
        """Return the last offset in each partition."""
        last = self.rows.group_by(["topic", "partition"]).aggregate([("kafka_offset", "max")])
        return {(row["topic"], row["partition"]): row["kafka_offset_max"] for row in last.to_pylist()}

    def _joined(self, rows: pa.Table, how: str) -> pa.Array:
        """Return the indexes of the rows that remain after a join with these places."""
        numbered = _places(rows).append_column("row", pa.arange(0, rows.num_rows))
        return numbered.join(self.rows, list(PLACE), join_type=how).column("row").combine_chunks().sort()


def _places(rows: pa.Table | pa.RecordBatch) -> pa.Table:
    times = compute.fill_null(rows.column("kafka_ts").cast(pa.int64()), _NO_TIME)
    return pa.table([*(rows.column(name) for name in PLACE[:3]), times], schema=_SCHEMA)
