"""Rows of a batch that was begun and never ended: they are in their tables, and no mark knows them.

A process that is killed between the rows of a batch and its marks leaves them. When the next one starts they are found
by their place in Kafka, at or behind the ends that the marks name, and are not written again: whether the checkpoint
still knows that batch, or a new one reads on from the marks. And so are those of a partition that is read again.

Kafka's time is a part of the place: a topic that was made anew has the same offsets again, and those of the old one may
lie behind its end.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_sink.kafka.offsets import Partition
from spark_sink.landing.marks import File, Marks
from spark_sink.landing.repeats import PLACE, note_rows
from spark_sink.storage.tables import Table


@dataclass(slots=True)
class Leftovers:
    """By path of the table. `until`: the last offset of a leftover in each partition. `files`: whose marks are new in
    memory, because of them, and not saved yet."""

    rows: dict[str, DataFrame] = field(default_factory=dict)
    until: dict[Partition, int] = field(default_factory=dict)
    files: list[tuple[str, File]] = field(default_factory=list)

    def without(self, rows: DataFrame) -> DataFrame:
        """The rows that are in no table yet: the configuration may say by now that they belong in another one."""
        for there in self.rows.values():
            # Under other names: both sides may come from one table. A lost range has no time.
            others = there.toDF(*(f"there_{name}" for name in there.columns))
            same = [rows[name].eqNullSafe(others[f"there_{name}"]) for name in there.columns]
            rows = rows.join(others, same, "leftanti")
        return rows

    def passed(self, ends: Mapping[Partition, int]) -> None:
        """Forget them when all partitions have been read beyond the last of them."""
        if self.rows and all(ends.get(partition, 0) > last for partition, last in self.until.items()):
            for rows in self.rows.values():
                rows.unpersist()
            self.rows.clear()


def find(lines: Iterable[Table], dead_letter: Table, marks: Marks, topics: Iterable[str], at: float) -> Leftovers:
    """Look behind the marks' ends, and at whatever partition of the topics has no end yet. Takes the leftovers' files
    into the marks, as of `at` (seconds of the epoch)."""
    found, where = Leftovers(), behind(marks.ends, topics)
    for table in lines:
        if table.exists() and _look(found, table, where):
            found.files += note_rows(marks, table.path, table.read().where(where), at)
    if dead_letter.exists():
        _look(found, dead_letter, where)
    return found


def _look(found: Leftovers, table: Table, where: Column) -> bool:
    if table.snapshot().is_empty:
        return False
    rows = table.read().where(where).select(*PLACE).persist()
    last = rows.groupBy("topic", "partition").agg(F.max("kafka_offset").alias("last")).collect()
    if not last:
        rows.unpersist()
        return False
    found.rows[table.path] = rows
    for row in last:
        partition = (row.topic, row.partition)
        found.until[partition] = max(found.until.get(partition, 0), row.last)
    return True


def behind(ends: Mapping[Partition, int], topics: Iterable[str]) -> Column:
    """A condition on topic, partition and kafka_offset, in a form that file statistics can answer."""
    condition = F.lit(False)
    by_topic: dict[str, dict[int, int]] = {topic: {} for topic in topics}
    for (topic, partition), end in ends.items():
        by_topic.setdefault(topic, {})[partition] = end
    for topic, partitions in by_topic.items():
        new = ~F.col("partition").isin(list(partitions)) if partitions else F.lit(True)
        beyond = F.lit(False)
        for partition, end in partitions.items():
            beyond |= (F.col("partition") == partition) & (F.col("kafka_offset") >= end)
        condition |= (F.col("topic") == topic) & (beyond | new)
    return condition
