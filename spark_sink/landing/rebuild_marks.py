"""Rebuilds lost marks from the rows of the tables.

The checkpoint has the offsets that were read; a run that stopped at given offsets landed less. So the tables count as
complete up to their highest Kafka offset, or up to the checkpoint's if that is lower: the records in between are read
again, and their rows recognised as repeats. Without a checkpoint the tables' own offsets count: a bad record of a
killed batch could be missing below them.
"""

from collections.abc import Iterable, Mapping, Sequence

from log_shipper.spark_sink.kafka.offsets import Partition
from log_shipper.spark_sink.landing.marks import Mark, Marks
from log_shipper.spark_sink.rows.batches import File
from log_shipper.spark_sink.storage.tables import TableSnapshot


def rebuild(
    marks: Marks, lines: Iterable[TableSnapshot], ends: Mapping[Partition, int], seconds: float
) -> list[tuple[str, File]]:
    """Fill the marks from the rows of the tables, as of `seconds` of the epoch. Returns the files with their tables."""
    files: list[tuple[str, File]] = []
    for snapshot in lines:
        if snapshot.exists:
            files += note_rows(marks, snapshot, "FROM stored WHERE true", seconds)
            marks.versions[snapshot.path] = snapshot.version
    marks.ends.update(ends)
    return files


def note_rows(marks: Marks, snapshot: TableSnapshot, source: str, seconds: float) -> list[tuple[str, File]]:
    """Note the files of a table's rows in the marks, as of `seconds` of the epoch. Returns the files with the table.
    `source`: FROM and WHERE of a query for the rows."""
    rows = snapshot.select(
        f'SELECT host, file_id, max("offset") AS last, min(date) AS first_date, max(date) AS last_date {source} '
        'AND file_id IS NOT NULL AND "offset" IS NOT NULL GROUP BY host, file_id'
    )
    files: list[tuple[str, File]] = []
    for row in rows.to_pylist():
        file = (row["host"], row["file_id"])
        marks.note_file(snapshot.path, file, Mark(row["last"], row["first_date"], row["last_date"], seconds))
        files.append((snapshot.path, file))
    return files


def ends_of(tables: Sequence[TableSnapshot]) -> dict[Partition, int]:
    """Return one more than the highest Kafka offset in any of the tables, by topic and partition."""
    ends: dict[Partition, int] = {}
    for snapshot in tables:
        if snapshot.exists:
            rows = snapshot.select("SELECT topic, partition, max(kafka_offset) FROM stored GROUP BY topic, partition")
            for topic, number, last in zip(*(column.to_pylist() for column in rows.columns), strict=True):
                ends[topic, number] = max(ends.get((topic, number), 0), last + 1)
    return ends


def complete_until(read: Mapping[Partition, int], landed: Mapping[Partition, int]) -> dict[Partition, int]:
    """Return the ends up to which the tables are complete. `read`: the ends of the checkpoint, empty without one;
    `landed`: the ends of the tables (`ends_of`)."""
    if not read:
        return dict(landed)
    return {partition: min(end, landed.get(partition, end)) for partition, end in read.items()}
