"""Marks for tables that were written before there were marks: by a sink of version 0.1.

The checkpoint says how far the tables are complete. Where it is gone too, the highest Kafka offset in the tables has to
do: a bad record of a batch that was killed could be missing below it.
"""

from collections.abc import Mapping, Sequence

from pyspark.sql import functions as F

from spark_sink.kafka.offsets import Partition
from spark_sink.landing.marks import File, Marks
from spark_sink.landing.repeats import note_rows
from spark_sink.tables import Table


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
