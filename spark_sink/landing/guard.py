"""Checks that checkpoint, tables and marks belong together, before the query starts. They change nothing.

Four faults would do harm without an error: without checkpoint and marks, everything would land a second time; with a
checkpoint that was set back, or that another one has overtaken, a part of it; a table that was restored to an earlier
version, or deleted, lacks rows that count as landed; and a topic that was re-created has the offsets of the old one
again.
"""

from collections.abc import Mapping, Sequence

from log_shipper.spark_sink.errors import Refused, enumerated
from log_shipper.spark_sink.kafka.offsets import Offsets, Partition, describe_partitions
from log_shipper.spark_sink.landing.marks import REPAIRING, Marks
from log_shipper.spark_sink.storage.checkpoint import Checkpoint
from log_shipper.spark_sink.storage.tables import NO_BATCH, Table, TableSnapshot

# The way out where checkpoint and marks are lost.
RESUME = "set start: table to resume where the table ends"


def check_topics(marks: Marks, topics: Mapping[str, str]) -> None:
    """Raise Refused for a topic that was re-created: its offsets began at 0 again, and look like those that landed.

    `topics`: the ids that Kafka has now, "" where the broker gives none.
    """
    for topic in sorted(marks.recreated_topics(topics)):
        raise Refused(
            f"the topic {topic} was deleted and re-created since this sink read it (its id was {marks.topics[topic]}, "
            f"and is {topics[topic]}): its new records reuse offsets that have landed, and would be left out. Run "
            "spark-sink repair --from-kafka, which lands the missing ones"
        )


def has_begun(checkpoint: Checkpoint, ends: Offsets) -> bool:
    """Return True if a query has been started with this checkpoint, though it may have planned no batch yet: where it
    begins was saved in the marks before. `ends`: of the marks."""
    return checkpoint.query_id() is not None and (checkpoint.last_planned() >= 0 or bool(ends))


def continues(checkpoint: Checkpoint, tables: Sequence[TableSnapshot], topics: Sequence[str], ends: Offsets) -> bool:
    """Return True if the sink continues where the marks end. A new checkpoint does, too, if rows of the topics have
    landed: a checkpoint that is lost loses nothing. Where all rows were deleted, it begins where `start` says."""
    if has_begun(checkpoint, ends):
        return True
    is_known = any(topic in topics for topic, _ in ends)
    return is_known and any(snapshot.has_rows_of(topics) for snapshot in tables)


def outdated(checkpoint: Checkpoint, tables: Sequence[TableSnapshot], ends: Offsets) -> str:
    """Return why the checkpoint is not the last one that landed rows, empty where it is: it was set back, and the names
    of its next batches have been used; or another one has been used since. With it, rows would land twice.

    Partitions that its last batches do not name pass (`Startup.lower_ends`).
    """
    query_id, planned = checkpoint.query_id(), checkpoint.last_planned()
    for snapshot in tables if query_id is not None else ():
        if (landed := snapshot.last_batch(query_id or "")) > planned:
            return f"the table {snapshot.path} has batch {landed}, but the last planned batch is {planned}"
    next_ends = checkpoint.ends(planned)
    last_ends = next_ends if checkpoint.last_committed() == NO_BATCH else checkpoint.resume_offsets()
    for (topic, partition), end in last_ends.items():
        resumed = max(end, next_ends[topic, partition])
        if (landed := ends.get((topic, partition), 0)) > resumed:
            return (
                f"it resumes topic {topic}, partition {partition} at {resumed}, but offsets up to {landed} have landed"
            )
    return ""


def check_new(tables: Sequence[TableSnapshot], topics: Sequence[str], checkpoint: str, marks: str) -> None:
    """Raise Refused, with the ways out, where a new checkpoint would land rows a second time, because the marks, which
    would say how far they landed, are missing."""
    for snapshot in tables:
        if snapshot.has_rows_of(topics):
            raise Refused(
                f"the table {snapshot.path} already has rows of {enumerated(topics)}, but the checkpoint {checkpoint} "
                f"is missing or new, and the marks table {marks} has no entry for these topics: a start would land "
                f"the rows twice. Either restore one of the two (from a backup, or to its previous path); or {RESUME}"
            )


def check_deleted(checkpoint: Checkpoint, tables: Sequence[TableSnapshot], marks: str) -> None:
    """Raise Refused where the tables of lines were deleted together with the marks, which would have told of it."""
    if checkpoint.last_committed() == NO_BATCH or any(snapshot.exists for snapshot in tables):
        return
    paths = ", ".join(snapshot.path for snapshot in tables)
    raise Refused(
        f"the table {paths} and the marks table {marks} are missing, but the checkpoint {checkpoint.path} resumes "
        "after the batches in them: their rows would be lost. Restore both tables, from a backup or at their "
        "old paths; or move the checkpoint away: a new one begins where `start` says"
    )


def check_unknown(tables: Sequence[Table], topics: Sequence[str], marks: Table) -> None:
    """Raise Refused for a table that has rows of the topics and is not in the marks. `tables`: those that are not."""
    for table in tables:
        if topics and table.snapshot().has_rows_of(topics):
            raise Refused(
                f"the table {table.path} has rows of {enumerated(topics)}, but the marks table {marks.path} has no "
                "entry for it: its rows would land twice. Restore the marks table (from a backup, or by the previous "
                "state.path); or change the template in table.path to name other tables"
            )


def check_behind(path: str, read: Mapping[Partition, int], latest: Mapping[Partition, int]) -> None:
    """Raise Refused where Kafka ends before the checkpoint in `path` resumes: after the repair of a re-created topic.

    `read`: where it resumes, of partitions that have landed less.
    """
    for partition, end in read.items():
        if (now := latest.get(partition, end)) < end:
            raise Refused(
                f"{describe_partitions([partition])}: the checkpoint {path} resumes at {end}, but Kafka ends at "
                f"{now}: the topic was re-created. Move the checkpoint away; a new one resumes where the marks end"
            )


def check_versions(tables: Mapping[str, TableSnapshot], versions: Mapping[str, int]) -> None:
    """Raise Refused for a table that has lost rows since our last commit. `versions`: of each table after that commit;
    both by path."""
    for path, version in versions.items():
        check_version(tables[path], version)


def check_version(snapshot: TableSnapshot, version: int) -> None:
    """Raise Refused where the table has lost rows since its `version`."""
    if not snapshot.exists:
        what = "is missing"
    elif version == REPAIRING:
        what = "has an incomplete repair"
    elif snapshot.version < version:
        what = f"is at version {snapshot.version}, but was at {version} after the last batch: it was re-created"
    elif restored := snapshot.restored_since(version):
        what = f"was restored to an earlier version (version {restored} is a RESTORE)"
    else:
        return
    raise Refused(
        f"the table {snapshot.path} {what}, so landed rows are missing. Run spark-sink repair --from-kafka, which "
        "lands again the missing rows that Kafka still has"
    )
