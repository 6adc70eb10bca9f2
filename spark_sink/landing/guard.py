"""Checks before the query starts that checkpoint, tables and marks belong together. They change nothing.

Four faults would do harm without an error: if checkpoint and marks are missing, all rows land twice; if the checkpoint
was set back, or another one was used since, some rows land twice; a table that was restored to an earlier version, or
deleted, lacks rows that count as landed; a re-created topic reuses the offsets of the old one.
"""

from collections.abc import Mapping, Sequence

from log_shipper.spark_sink.errors import Refused, enumerated
from log_shipper.spark_sink.kafka.offsets import Offsets, Partition, describe_partitions
from log_shipper.spark_sink.landing.marks import REPAIRING, Marks
from log_shipper.spark_sink.storage.checkpoint import Checkpoint
from log_shipper.spark_sink.storage.tables import NO_BATCH, Table, TableSnapshot

# What to do if checkpoint and marks are lost.
RESUME = "set start: table to resume where the table ends"


def check_topics(marks: Marks, topics: Mapping[str, str]) -> None:
    """Raise Refused for a re-created topic: its offsets began at 0 again, and look as if they had landed.

    `topics`: Kafka's current ids, "" if the broker gives none.
    """
    for topic in sorted(marks.recreated_topics(topics)):
        raise Refused(
            f"the topic {topic} was deleted and re-created since this sink read it (its id was {marks.topics[topic]}, "
            f"and is {topics[topic]}): its new records reuse offsets that have landed, and would be left out. Run "
            "spark-sink repair --from-kafka, which lands the missing ones"
        )


def has_begun(checkpoint: Checkpoint, ends: Offsets) -> bool:
    """Return True if a query was started with this checkpoint. It may have planned no batch yet: its start offsets are
    saved in the marks before the first one. `ends`: of the marks."""
    return checkpoint.query_id() is not None and (checkpoint.last_planned() >= 0 or bool(ends))


def continues(checkpoint: Checkpoint, tables: Sequence[TableSnapshot], topics: Sequence[str], ends: Offsets) -> bool:
    """Return True if the sink resumes where the marks end. A new checkpoint does so too if the tables have rows of the
    topics: losing a checkpoint loses no rows. If all rows were deleted, the option `start` applies."""
    if has_begun(checkpoint, ends):
        return True
    is_known = any(topic in topics for topic, _ in ends)
    return is_known and any(snapshot.has_rows_of(topics) for snapshot in tables)


def outdated(checkpoint: Checkpoint, tables: Sequence[TableSnapshot], ends: Offsets) -> str:
    """Return why the checkpoint is outdated, empty if it is not. It was set back, so the transaction ids of its next
    batches are used; or another checkpoint has been used since. With an outdated one, rows would land twice.

    Partitions that its last batches do not name are ignored (`Startup.lower_ends`).
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
                f"it resumes topic {topic}, partition {partition} at {resumed}, but offsets up to {landed - 1} have "
                "landed"
            )
    return ""


def check_new(tables: Sequence[TableSnapshot], topics: Sequence[str], checkpoint: str, marks: str) -> None:
    """Raise Refused if a new checkpoint would land rows twice because the marks of their topics are missing."""
    for snapshot in tables:
        if snapshot.has_rows_of(topics):
            raise Refused(
                f"the table {snapshot.path} already has rows of {enumerated(topics)}, but the checkpoint {checkpoint} "
                f"is missing or new, and the marks table {marks} has no entry for these topics: a start would land "
                f"the rows twice. Either restore one of the two (from a backup, or to its previous path); or {RESUME}"
            )


def check_deleted(checkpoint: Checkpoint, tables: Sequence[TableSnapshot], marks: str) -> None:
    """Raise Refused if the tables of lines were deleted together with the marks, so `check_versions` has no versions to
    compare."""
    if checkpoint.last_committed() == NO_BATCH or any(snapshot.exists for snapshot in tables):
        return
    paths = ", ".join(snapshot.path for snapshot in tables)
    raise Refused(
        f"the table {paths} and the marks table {marks} are missing, but the checkpoint {checkpoint.path} resumes "
        "after the batches in them: their rows would be lost. Restore both tables, from a backup or at their "
        "old paths; or move the checkpoint away: a new one begins where `start` says"
    )


def check_unknown(tables: Sequence[Table], topics: Sequence[str], marks: Table) -> None:
    """Raise Refused for a table that has rows of the topics. `tables`: those that are missing from the marks."""
    for table in tables:
        if topics and table.snapshot().has_rows_of(topics):
            raise Refused(
                f"the table {table.path} has rows of {enumerated(topics)}, but the marks table {marks.path} has no "
                "entry for it: its rows would land twice. Restore the marks table (from a backup, or by the previous "
                "state.path); or change the template in table.path to name other tables"
            )


def check_behind(path: str, read: Mapping[Partition, int], latest: Mapping[Partition, int]) -> None:
    """Raise Refused if Kafka ends before the checkpoint in `path` resumes: after the repair of a re-created topic.

    `read`: the checkpoint's resume offsets, of partitions whose landed offsets are lower.
    """
    for partition, end in read.items():
        if (now := latest.get(partition, end)) < end:
            raise Refused(
                f"{describe_partitions([partition])}: the checkpoint {path} resumes at {end}, but Kafka ends at "
                f"{now}: the topic was re-created. Move the checkpoint away; a new one resumes where the marks end"
            )


def check_versions(tables: Mapping[str, TableSnapshot], versions: Mapping[str, int]) -> None:
    """Raise Refused for a table that has lost rows since our last commit. `versions`: after that commit, by path."""
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
