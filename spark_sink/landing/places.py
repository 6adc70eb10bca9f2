"""Places of records in Kafka, which the driver has found out and the tasks leave out.

A place is topic, partition, offset, and Kafka's time of the record: a topic that was re-created has the same offsets
again. A lost range has no time.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

PLACE = ("topic", "partition", "kafka_offset", "kafka_ts")
_BLOCK = 63  # offsets in one number, a bit each, without its sign: a million in a row are few numbers

# Topic, partition, microseconds of the epoch, number of the block.
_Key = tuple[str, int, int | None, int]


@dataclass(frozen=True, slots=True)
class Places:
    """A set of places. Can be sent to a task."""

    bits: dict[_Key, int]

    @classmethod
    def collected(cls, rows: DataFrame) -> "Places":
        """Return the places of the rows, which have the columns of PLACE."""
        blocks = rows.groupBy(
            "topic",
            "partition",
            F.expr("unix_micros(kafka_ts) AS micros"),
            F.expr(f"kafka_offset DIV {_BLOCK} AS block"),
        ).agg(F.expr(f"bit_or(shiftleft(1L, CAST(kafka_offset % {_BLOCK} AS INT))) AS bits"))
        return cls({(row.topic, row.partition, row.micros, row.block): row.bits for row in blocks.collect()})

    def __bool__(self) -> bool:
        return bool(self.bits)

    def remove_from(self, rows: pa.Table) -> pa.Table:
        """Return the rows at other places."""
        return rows.filter(pa.array(self._others(rows), pa.bool_()))

    def _others(self, rows: pa.Table) -> Iterator[bool]:
        topics, partitions, offsets = (rows.column(name).to_pylist() for name in PLACE[:3])
        times = rows.column("kafka_ts").cast(pa.int64()).to_pylist()
        known = self.bits.get
        for topic, partition, offset, micros in zip(topics, partitions, offsets, times, strict=True):
            block, place = divmod(offset, _BLOCK)
            yield not known((topic, partition, micros, block), 0) >> place & 1
