"""Checks that checkpoint, tables and marks belong together, before the query starts. They change nothing.

The checkpoint says where to resume reading. Four faults would do harm without an error: with a new checkpoint,
everything lands a second time; with one that was set back, the names of its batches have been used; a table that was
restored to an earlier version, or deleted, lacks rows that count as landed; and a topic that was re-created has the
offsets of the old one again.
"""

from collections.abc import Mapping, Sequence

from log_shipper.spark_sink.errors import Refused, enumerated
from log_shipper.spark_sink.kafka.offsets import Offsets, Partition, describe_partitions
from log_shipper.spark_sink.landing.marks import REPAIRING, Marks
from log_shipper.spark_sink.storage.checkpoint import Checkpoint
from log_shipper.spark_sink.storage.tables import NO_BATCH, Table, TableSnapshot

# The way out that every lost or overtaken checkpoint has.
RESUME = "set start: table, which resumes where the table ends"


def check_topics(marks: Marks, topics: Mapping[str, str]) -> None:
    """Raise Refused for a topic that was re-created: its offsets began at 0 again, and look like those that landed.

    `topics`: the ids that Kafka has now, "" where the broker gives none.
    """
    for topic in sorted(marks.recreated_topics(topics)):
        raise Refused(
            f"the topic {topic} was deleted and re-created since this sink read it (its id was {marks.topics[topic]}, "
            f"and is {topics[topic]}): its first records have the offsets of others that landed, and would be left "
            "out. Run spark-sink repair --from-kafka, which lands those that no table has"
        )


def has_begun(checkpoint: Checkpoint, ends: Offsets) -> bool:
    """True if a query has been started with this checkpoint, though it may have planned no batch yet: where it begins
    was saved in the marks before. `ends`: of the marks."""
    return checkpoint.query_id() is not None and (checkpoint.last_planned() >= 0 or bool(ends))


def check_checkpoint(
    checkpoint: Checkpoint, tables: Sequence[TableSnapshot], topics: Sequence[str], start: str, ends: Offsets
) -> None:
    """Raise Refused, with the ways out, where rows would land twice or under used names. `ends`: of the marks."""
    query_id = checkpoint.query_id()
    if query_id is not None and has_begun(checkpoint, ends):
        _check_known(checkpoint, tables, query_id)
    elif start != "table":
        _check_new(checkpoint, tables, topics)


def _check_new(checkpoint: Checkpoint, tables: Sequence[TableSnapshot], topics: Sequence[str]) -> None:
    for snapshot in tables:
        if snapshot.has_rows_of(topics):
            raise Refused(
                f"the table {snapshot.path} has rows of {enumerated(topics)} already, but the checkpoint "
                f"{checkpoint.path} is missing or new: starting would land them a second time. Either bring the "
                f"checkpoint back (a backup, or the path it had before); or {RESUME}"
            )


def _check_known(checkpoint: Checkpoint, tables: Sequence[TableSnapshot], query_id: str) -> None:
    planned = checkpoint.last_planned()
    for snapshot in tables:
        landed = snapshot.last_batch(query_id)
        if landed > planned:
            raise Refused(
                f"the table {snapshot.path} has batch {landed} of this checkpoint, but {checkpoint.path} knows "
                f"no batch after {planned}: it was set back, and the names of what it would land have been used. "
                f"Either bring back the whole checkpoint; or move that one away and {RESUME}"
            )


def check_deleted(checkpoint: Checkpoint, tables: Sequence[TableSnapshot], marks: Table) -> None:
    """Raise Refused where the tables of lines were deleted together with the marks, which would have told of it."""
    if checkpoint.last_committed() == NO_BATCH or any(snapshot.exists for snapshot in tables):
        return
    paths = ", ".join(snapshot.path for snapshot in tables)
    raise Refused(
        f"the table {paths} and the marks table {marks.path} are missing, but the checkpoint {checkpoint.path} resumes "
        "behind the batches that landed in them: those rows would be missing. Either bring both tables back (a backup, "
        "or table.path and state.path as they were before); or move the checkpoint away, and a new one begins where "
        "start says (earliest: at the first record that Kafka has)"
    )


def check_unknown(tables: Sequence[Table], topics: Sequence[str], marks: Table) -> None:
    """Raise Refused for a table that has rows of the topics and is not in the marks. `tables`: those that are not."""
    for table in tables:
        if topics and table.snapshot().has_rows_of(topics):
            raise Refused(
                f"the table {table.path} has rows of {enumerated(topics)}, and the marks table {marks.path} does not "
                "know it: what has landed there would land a second time. Bring the marks table back (a backup, "
                "or state.path as it was before); or let the template in table.path name other tables"
            )


def check_ends(checkpoint: Checkpoint, ends: Mapping[tuple[str, int], int]) -> None:
    """Raise Refused for a checkpoint that another one has overtaken. `ends`: the next offset to land.

    A checkpoint without a completed batch passes: after the tables were emptied, it may be meant to begin before the
    ends.
    """
    committed, planned = checkpoint.last_committed(), checkpoint.last_planned()
    if committed == NO_BATCH:
        return
    # A topic that was re-created ends before it began, and the marks may still say where that was.
    one, other = checkpoint.ends(committed), checkpoint.ends(planned)
    read = {partition: max(one.get(partition, 0), other.get(partition, 0)) for partition in {*one, *other}}
    for (topic, partition), end in read.items():
        if (landed := ends.get((topic, partition), 0)) > end:
            raise Refused(
                f"topic {topic}, partition {partition}: the checkpoint {checkpoint.path} resumes at {end}, and the "
                f"marks say landed up to {landed}: another checkpoint has been used since, or this one was set back, "
                "and it would land all of that a second time. Either bring back the newer checkpoint; or move that one "
                f"away and {RESUME}"
            )


def check_behind(path: str, read: Mapping[Partition, int], latest: Mapping[Partition, int]) -> None:
    """Raise Refused where Kafka ends before the checkpoint in `path` resumes: after the repair of a re-created topic.

    `read`: where it resumes, of partitions that have landed less.
    """
    for partition, end in read.items():
        if (now := latest.get(partition, end)) < end:
            raise Refused(
                f"{describe_partitions([partition])}: the checkpoint {path} resumes at {end}, and Kafka "
                f"ends at {now}: the topic was re-created. Move that checkpoint away and {RESUME}"
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
        what = "was being repaired, and the repair was not completed"
    elif snapshot.version < version:
        what = f"is at version {snapshot.version}, and was at {version} when rows landed there last: it was re-created"
    elif restored := snapshot.restored_since(version):
        what = f"was restored to an earlier version (its version {restored} is a RESTORE)"
    else:
        return
    raise Refused(
        f"the table {snapshot.path} {what}, so rows that count as landed are missing. Run spark-sink repair "
        "--from-kafka, which lands again what the table lacks and Kafka still has"
    )
