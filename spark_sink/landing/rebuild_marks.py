"""Marks for tables that have none, because they were lost.

The checkpoint has the offsets up to which was read; a run that stopped at given offsets landed less than that. So the
tables count as complete up to the highest Kafka offset in them, or up to the checkpoint's where that is lower: the
records in between are read again, and their rows recognised as repeats. Without a checkpoint the tables' own offsets
have to do: a bad record of a batch that was killed could be missing below them.
"""

from collections.abc import Iterable, Mapping, Sequence

from pyspark.sql import functions as F

from log_shipper.spark_sink.kafka.offsets import Partition
from log_shipper.spark_sink.landing.marks import File, Marks
from log_shipper.spark_sink.landing.repeats import note_rows
from log_shipper.spark_sink.storage.spark_tables import TableSnapshot


def rebuild(
    marks: Marks, lines: Iterable[TableSnapshot], ends: Mapping[Partition, int], seconds: float
) -> list[tuple[str, File]]:
    """Fill the marks from the rows of the tables, as of `seconds` of the epoch. Returns the files, with their
    tables."""
    files: list[tuple[str, File]] = []
    for snapshot in lines:
        if snapshot.exists:
            table = snapshot.table
            files += note_rows(marks, table.path, table.read(), seconds)
            marks.versions[table.path] = snapshot.version
    marks.ends.update(ends)
    return files


def ends_of(tables: Sequence[TableSnapshot]) -> dict[Partition, int]:
    """Return the offset behind the highest one that is in any of the tables, by topic and partition."""
    ends: dict[Partition, int] = {}
    for snapshot in tables:
        if snapshot.exists:
            rows = snapshot.table.read().groupBy("topic", "partition").agg(F.max("kafka_offset").alias("last"))
            for row in rows.collect():
                partition = (row.topic, row.partition)
                ends[partition] = max(ends.get(partition, 0), row.last + 1)
    return ends


def complete_until(read: Mapping[Partition, int], landed: Mapping[Partition, int]) -> dict[Partition, int]:
    """Return the ends up to which the tables are complete. `read`: the checkpoint's ends, empty without one; `landed`:
    the ends of the tables (`ends_of`)."""
    if not read:
        return dict(landed)
    return {partition: min(end, landed.get(partition, end)) for partition, end in read.items()}
