"""Orphaned rows: those of a batch that was begun and never completed. They are in their tables, and not in the marks.

A process that is killed between the rows of a batch and its marks orphans them. The next process finds them by their
place in Kafka, at or behind the ends in the marks, and does not write them again: with a checkpoint that still has that
batch, and with a new one that resumes from the marks. The same holds for the rows of a partition that is read again.

Nearly always there are none, and the bounds of the files show it: Spark, whose first query takes seconds, is only asked
where a file may have such rows.

Kafka's time is a part of the place: a topic that was re-created has the same offsets again, and those of the old one
may lie behind its end.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import TypeAlias

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from log_shipper.spark_sink.kafka.offsets import Partition
from log_shipper.spark_sink.landing.marks import File, Marks
from log_shipper.spark_sink.landing.places import PLACE
from log_shipper.spark_sink.landing.repeats import note_rows
from log_shipper.spark_sink.records.local_rows import local_rows
from log_shipper.spark_sink.records.schema import Column as Field
from log_shipper.spark_sink.storage.locations import Location
from log_shipper.spark_sink.storage.spark_tables import Table, TableSnapshot

_ENDS = (Field("of_topic", "STRING", ""), Field("number", "INT", ""), Field("end", "BIGINT", ""))
FEW_TOPICS = 50  # with more, a condition names only the lowest end of all

EndsByTopic: TypeAlias = Mapping[str, Mapping[int, int]]

# Of a data file, as deltalake names them.
_BOUNDS = ("min.topic", "max.topic", "min.partition", "max.partition", "max.kafka_offset")


@dataclass(slots=True)
class OrphanedRows:
    """The places of orphaned rows, by path of their table. `last`: the last offset of one in each partition. `files`:
    those whose marks in memory are new because of orphaned rows, and are not saved yet."""

    rows: dict[str, DataFrame] = field(default_factory=dict)
    last: dict[Partition, int] = field(default_factory=dict)
    files: list[tuple[str, File]] = field(default_factory=list)

    def among(self, rows: DataFrame) -> DataFrame:
        """Return the places of those rows that are in any table: the configuration may have changed, and name another
        table for them now."""
        if not self.rows:
            return rows.select(*PLACE).limit(0)
        # Under other names, because both sides may come from one table. A lost range has no time.
        others = union(list(self.rows.values())).toDF(*(f"orphaned_{name}" for name in PLACE))
        same = [rows[name].eqNullSafe(others[f"orphaned_{name}"]) for name in PLACE]
        return rows.join(others, same, "leftsemi").select(*PLACE)

    def forget_passed(self, ends: Mapping[Partition, int]) -> None:
        """Forget all orphaned rows when every partition has been read beyond the last one."""
        if self.rows and all(ends.get(partition, 0) > last for partition, last in self.last.items()):
            for rows in self.rows.values():
                rows.unpersist()
            self.rows.clear()

    def add(self, table: Table, orphans: DataFrame) -> bool:
        """Add these rows of a table. Returns True if there are any."""
        rows = orphans.select(*PLACE).persist()
        ends = rows.groupBy("topic", "partition").agg(F.max("kafka_offset").alias("last")).collect()
        if not ends:
            rows.unpersist()
            return False
        self.rows[table.path] = rows
        for row in ends:
            partition = (row.topic, row.partition)
            self.last[partition] = max(self.last.get(partition, 0), row.last)
        return True


def find(
    lines: Iterable[TableSnapshot], dead_letter: TableSnapshot, marks: Marks, topics: Iterable[str], seconds: float
) -> OrphanedRows:
    """Return the rows behind the marks' ends, and those of every partition of the topics that has no end yet. Notes
    their files in the marks, as of `seconds` of the epoch."""
    orphaned, ends = OrphanedRows(), _ends_by_topic(marks.ends, topics)
    for snapshot in lines:
        table = snapshot.table
        if _may_have_rows_behind(snapshot, ends) and orphaned.add(table, _behind(table.read(), ends)):
            orphaned.files += note_rows(marks, table.path, _behind(table.read(), ends), seconds)
    if _may_have_rows_behind(dead_letter, ends):
        orphaned.add(dead_letter.table, _behind(dead_letter.table.read(), ends))
    return orphaned


def union(parts: Sequence[DataFrame]) -> DataFrame:
    """Return the rows of all parts, at least one, by a plan that is as deep as few of them would make it."""
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    return union(parts[:middle]).union(union(parts[middle:]))


def _ends_by_topic(ends: Mapping[Partition, int], topics: Iterable[str]) -> EndsByTopic:
    by_topic: dict[str, dict[int, int]] = {topic: {} for topic in topics}
    for (topic, partition), end in ends.items():
        by_topic.setdefault(topic, {})[partition] = end
    return by_topic


def _may_have_rows_behind(snapshot: TableSnapshot, ends: EndsByTopic) -> bool:
    if not snapshot.exists or snapshot.is_empty:
        return False
    try:
        table = Location(snapshot.table.path).open()
    except DeltaError:  # Spark will do, or say why not
        return True
    return table is None or may_have_rows_behind(table, ends)


def may_have_rows_behind(table: DeltaTable, ends: EndsByTopic) -> bool:
    """Return False if the bounds of all data files show that no row is at or behind an end, or in another partition of
    these topics."""
    files = pa.table(table.get_add_actions(flatten=True))
    if not files.num_rows:
        return False
    if any(name not in files.column_names or files[name].null_count for name in _BOUNDS):
        return True
    *partitions, offset = _BOUNDS
    ranges = files.group_by(partitions).aggregate([(offset, "max")]).select([*partitions, f"{offset}_max"])
    return any(_is_behind(ends, *row.values()) for row in ranges.to_pylist())


def _is_behind(
    ends: EndsByTopic, first_topic: str, last_topic: str, first_partition: int, last_partition: int, offset: int
) -> bool:
    return any(
        offset >= partitions.get(partition, 0)
        for topic, partitions in ends.items()
        if first_topic <= topic <= last_topic
        for partition in range(first_partition, last_partition + 1)
    )


def _behind(rows: DataFrame, ends: EndsByTopic) -> DataFrame:
    """Return the rows at and behind the ends, and those of other partitions of these topics. The ends are joined: as a
    condition for each they would be a plan that grows with the partitions."""
    values = [(topic, number, end) for topic, partitions in ends.items() for number, end in partitions.items()]
    known = F.broadcast(local_rows(rows.sparkSession, _ENDS, values))
    same = (rows["topic"] == known["of_topic"]) & (rows["partition"] == known["number"])
    beyond = F.col("kafka_offset") >= F.coalesce("end", F.lit(0))
    joined = rows.where(_may_be_behind(ends)).join(known, same, "left").where(beyond)
    return joined.select(*(rows[name] for name in rows.columns))


def _may_be_behind(ends: EndsByTopic) -> Column:
    """Return a condition that holds for all rows behind the ends, in a form that file statistics can answer."""
    if len(ends) > FEW_TOPICS:
        firsts, seconds = zip(*map(_lowest, ends.values()), strict=True)
        return F.col("topic").isin(list(ends)) & _beyond(min(firsts), min(seconds))
    condition = F.lit(False)
    for topic, partitions in ends.items():
        condition |= (F.col("topic") == topic) & _beyond(*_lowest(partitions))
    return condition


def _beyond(end: int, unknown: int) -> Column:
    return (F.col("kafka_offset") >= end) | (F.col("partition") >= unknown)


def _lowest(partitions: Mapping[int, int]) -> tuple[int, int]:
    """Return the lowest end, and the lowest number of a partition that has none."""
    return min(partitions.values(), default=0), next(number for number in count() if number not in partitions)
