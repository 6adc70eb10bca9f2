"""Marks for tables that have none: a sink of version 0.1 wrote them, or the marks were lost.

The checkpoint says how far was read; a run that stopped at given offsets landed less than that. So the tables are
complete up to the highest Kafka offset that they hold, or up to the checkpoint's where that is lower: what lies
between is read once more, and what of it were repeats is found to be so again. Without a checkpoint the tables' own
offsets have to do: a bad record of a batch that was killed could be missing below them.
"""

from collections.abc import Mapping, Sequence

from pyspark.sql import functions as F

from spark_sink.kafka.offsets import Partition
from spark_sink.landing.marks import File, Marks
from spark_sink.landing.repeats import note_rows
from spark_sink.storage.tables import Table


def adopt(marks: Marks, lines: Sequence[Table], ends: Mapping[Partition, int], at: float) -> list[tuple[str, File]]:
    """Fills the marks from the rows that are there, as of `at` (seconds of the epoch). Returns the files."""
    found: list[tuple[str, File]] = []
    for table in lines:
        if table.exists():
            found += note_rows(marks, table.path, table.read(), at)
            marks.versions[table.path] = table.version()
    marks.ends.update(ends)
    return found


def ends_of(tables: Sequence[Table]) -> dict[Partition, int]:
    """One behind the highest Kafka offset that any of the tables holds, by topic and partition."""
    ends: dict[Partition, int] = {}
    for table in tables:
        if table.exists():
            for row in table.read().groupBy("topic", "partition").agg(F.max("kafka_offset").alias("last")).collect():
                partition = (row.topic, row.partition)
                ends[partition] = max(ends.get(partition, 0), row.last + 1)
    return ends


def complete_until(read: Mapping[Partition, int], held: Mapping[Partition, int]) -> dict[Partition, int]:
    """`read`: the checkpoint's ends, nothing where there is none; `held`: `ends_of` the tables."""
    if not read:
        return dict(held)
    return {partition: min(end, held.get(partition, end)) for partition, end in read.items()}
