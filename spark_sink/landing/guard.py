"""Whether checkpoint, tables and marks belong together. Asked once, before the query starts.

The checkpoint says where to go on reading. Three ways of losing its place do harm without a word: with a new one,
everything is landed a second time; with one that was set back, the names of its batches have been used; and a table
that was restored to an earlier version lacks what the marks say has landed. And a topic that was made anew has the
offsets of the old one again.
"""

from collections.abc import Mapping, Sequence

from spark_sink.delta import NO_BATCH
from spark_sink.errors import Refused
from spark_sink.kafka.offsets import Partition, words
from spark_sink.landing.marks import REPAIRING, Marks
from spark_sink.storage.checkpoint import Checkpoint
from spark_sink.storage.tables import Table

# The way out that every lost or overtaken checkpoint has.
GO_ON = "set start: table, which goes on where the table ends"


def check_topics(marks: Marks, topics: Mapping[str, str]) -> None:
    """`topics`: the ids that Kafka has now, "" where it tells none. Raises Refused for a topic that is another by now:
    its offsets began at 0 again, and look like those that landed."""
    for topic in sorted(marks.anew(topics)):
        raise Refused(
            f"the topic {topic} was made anew since this sink read it (its id was {marks.topics[topic]}, and is "
            f"{topics[topic]}): its first records have the offsets of others that landed, and would be left out. Run "
            "spark-sink repair --from-kafka, which lands what no table has of them"
        )


def check_checkpoint(checkpoint: Checkpoint, tables: Sequence[Table], topics: Sequence[str], start: str) -> None:
    """Raises Refused, with the ways out."""
    query_id = checkpoint.query_id()
    if query_id is None or checkpoint.last_planned() < 0:
        if start != "table":
            _check_new(checkpoint, tables, topics)
    else:
        _check_known(checkpoint, tables, query_id)


def _check_new(checkpoint: Checkpoint, tables: Sequence[Table], topics: Sequence[str]) -> None:
    for table in tables:
        if table.snapshot().has_rows_of(topics):
            raise Refused(
                f"the table {table.path} has rows of {', '.join(topics)} already, but the checkpoint {checkpoint.path} "
                "is gone or new: starting would land them a second time. Either bring the checkpoint back (a backup, "
                f"or the path it had before); or {GO_ON}"
            )


def _check_known(checkpoint: Checkpoint, tables: Sequence[Table], query_id: str) -> None:
    planned = checkpoint.last_planned()
    for table in tables:
        landed = table.last_batch(query_id)
        if landed > planned:
            raise Refused(
                f"the table {table.path} has batch {landed} of this checkpoint, but {checkpoint.path} knows no batch "
                f"after {planned}: it was set back, and the names of what it would land have been used. "
                f"Either bring back the whole checkpoint; or move that one away and {GO_ON}"
            )


def check_unknown(tables: Sequence[Table], topics: Sequence[str], marks: Table) -> None:
    """`tables`: those that rows of the topics are about to land in for the first time, as far as the marks know. Raises
    Refused for one that has some."""
    for table in tables:
        if topics and table.snapshot().has_rows_of(topics):
            raise Refused(
                f"the table {table.path} has rows of {', '.join(topics)}, and the marks table {marks.path} knows "
                "nothing of it: what has landed there would land a second time. Bring the marks table back (a backup, "
                "or state.path as it was before); or let the template in table.path name other tables"
            )


def check_ends(checkpoint: Checkpoint, ends: Mapping[tuple[str, int], int]) -> None:
    """`ends`: how far has landed. Raises Refused for a checkpoint that another one has overtaken.

    Not in its first batch: what it begins before may be wanted, when the tables were emptied.
    """
    committed, planned = checkpoint.last_committed(), checkpoint.last_planned()
    if committed == NO_BATCH:
        return
    # A topic that was made anew ends before it began, and the marks may still say where that was.
    one, other = checkpoint.ends(committed), checkpoint.ends(planned)
    read = {at: max(one.get(at, 0), other.get(at, 0)) for at in {*one, *other}}
    for (topic, partition), end in read.items():
        if (landed := ends.get((topic, partition), 0)) > end:
            raise Refused(
                f"topic {topic}, partition {partition}: the checkpoint {checkpoint.path} reads on from {end}, and the "
                f"marks say landed up to {landed}: another checkpoint has gone on since, or this one was set back, and "
                "it would land all of that a second time. Either bring back the newer checkpoint; or move that one "
                f"away and {GO_ON}"
            )


def check_behind(path: str, read: Mapping[Partition, int], latest: Mapping[Partition, int]) -> None:
    """`read`: where the checkpoint in `path` reads on, of partitions that have landed less. Raises Refused where Kafka
    ends before that, which is after the repair of a topic that was made anew."""
    for at, end in read.items():
        if (now := latest.get(at, end)) < end:
            raise Refused(
                f"{words([at])}: the checkpoint {path} reads on from {end}, and Kafka ends at {now}: the topic was "
                f"made anew. Move that checkpoint away and {GO_ON}"
            )


def check_versions(tables: Mapping[str, Table], versions: Mapping[str, int]) -> None:
    """`versions`: what each table's version was after our last commit. Raises Refused for one that lacks rows since."""
    for path, version in versions.items():
        check_version(tables[path], version)


def check_version(table: Table, version: int) -> None:
    if not table.exists():
        what = "is gone"
    elif version == REPAIRING:
        what = "was being repaired, and the repair did not come to its end"
    elif (now := table.version()) < version:
        what = f"is at version {now}, and was at {version} when rows landed there last: it was made anew"
    elif restored := table.snapshot().restored_since(version):
        what = f"was restored to an earlier version (its version {restored} is a RESTORE)"
    else:
        return
    raise Refused(
        f"the table {table.path} {what}, so rows that count as landed are missing. Run spark-sink repair --from-kafka, "
        "which lands again what the table lacks and Kafka still has"
    )
