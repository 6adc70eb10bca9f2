"""Orphaned rows: rows in a table beyond the marks, left by a batch that was never completed.

A process killed between the commit of a batch's rows and that of its marks orphans the rows. The next process finds
them by their place in Kafka, at or after the ends in the marks, and does not write them again, whether the checkpoint
still has the batch or a new one resumes from the marks. Rows of a partition that is read again are handled in the same
way.

Usually there are none, and the statistics of the data files prove it: rows are read only from files that may have some.

The place includes Kafka's timestamp: a re-created topic reuses offsets, and rows of the old one may lie after its end.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import TypeAlias

from log_shipper.spark_sink.kafka.offsets import Partition
from log_shipper.spark_sink.landing.marks import Marks
from log_shipper.spark_sink.landing.places import PLACE_SQL, Places
from log_shipper.spark_sink.landing.rebuild_marks import note_rows
from log_shipper.spark_sink.rows.batches import File
from log_shipper.spark_sink.storage.tables import TableSnapshot, literal

FEW_TOPICS = 50  # with more, a condition names only the lowest end of all

EndsByTopic: TypeAlias = Mapping[str, Mapping[int, int]]

# The bounds of a data file, in deltalake's names.
_BOUNDS = ("min.topic", "max.topic", "min.partition", "max.partition", "max.kafka_offset")


@dataclass(slots=True)
class OrphanedRows:
    """The places of orphaned rows in any table: a changed configuration may now name another table for them. `tables`:
    the paths of the tables that have some. `last`: the last orphaned offset of each partition. `files`: the files whose
    marks in memory include orphaned rows, and are not saved yet."""

    places: Places = field(default_factory=Places.from_rows)
    tables: set[str] = field(default_factory=set)
    last: dict[Partition, int] = field(default_factory=dict)
    files: list[tuple[str, File]] = field(default_factory=list)

    def forget_passed(self, ends: Mapping[Partition, int]) -> None:
        """Forget all orphaned rows once every partition has been read beyond its last one."""
        if self.tables and all(ends.get(partition, 0) > last for partition, last in self.last.items()):
            self.places = Places.from_rows()
            self.tables.clear()

    def add(self, path: str, places: Places) -> bool:
        """Add the places of rows of a table. Returns False if there are none."""
        if not len(places):
            return False
        self.places += places
        self.tables.add(path)
        for partition, last in places.last().items():
            self.last[partition] = max(self.last.get(partition, 0), last)
        return True


def find(
    lines: Iterable[TableSnapshot], dead_letter: TableSnapshot, marks: Marks, topics: Iterable[str], seconds: float
) -> OrphanedRows:
    """Return the rows at or after the marks' ends, and all rows of partitions that have no end yet. Notes their files
    in the marks, as of `seconds` of the epoch."""
    orphaned, ends = OrphanedRows(), _ends_by_topic(marks.ends, topics)
    behind = _behind(ends)
    for snapshot in lines:
        if may_have_rows_behind(snapshot, ends) and orphaned.add(snapshot.path, _places(snapshot, behind)):
            orphaned.files += note_rows(marks, snapshot, behind, seconds)
    if may_have_rows_behind(dead_letter, ends):
        orphaned.add(dead_letter.path, _places(dead_letter, behind))
    return orphaned


def _places(snapshot: TableSnapshot, source: str) -> Places:
    return Places.from_rows(snapshot.stream(f"SELECT {PLACE_SQL} {source}"))


def _ends_by_topic(ends: Mapping[Partition, int], topics: Iterable[str]) -> EndsByTopic:
    by_topic: dict[str, dict[int, int]] = {topic: {} for topic in topics}
    for (topic, partition), end in ends.items():
        by_topic.setdefault(topic, {})[partition] = end
    return by_topic


def may_have_rows_behind(snapshot: TableSnapshot, ends: EndsByTopic) -> bool:
    """Return False if the statistics of all data files prove that no row is at or after an end, or in a partition of
    these topics without an end."""
    if snapshot.is_empty:
        return False
    files = snapshot.files()
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


def _behind(ends: EndsByTopic) -> str:
    """Return FROM and WHERE of a query for the rows at or after the ends, and all rows of other partitions of these
    topics. The ends are joined: with a condition for each, the query plan would grow with the partitions."""
    known = [(topic, number, end) for topic, partitions in ends.items() for number, end in partitions.items()]
    values = ", ".join(f"({literal(topic)}, {number}, {end})" for topic, number, end in known or [("", -1, 0)])
    return (
        f"FROM stored LEFT JOIN (VALUES {values}) AS known(of_topic, number, beyond) "
        "ON stored.topic = known.of_topic AND stored.partition = known.number "
        f"WHERE ({_may_be_behind(ends)}) AND kafka_offset >= coalesce(known.beyond, 0)"
    )


def _may_be_behind(ends: EndsByTopic) -> str:
    """Return a condition that all rows after the ends meet, in a form that file statistics can answer."""
    if not ends:
        return "false"
    if len(ends) > FEW_TOPICS:
        firsts, seconds = zip(*map(_lowest, ends.values()), strict=True)
        return f"topic IN ({', '.join(map(literal, ends))}) AND {_beyond(min(firsts), min(seconds))}"
    return " OR ".join(
        f"topic = {literal(topic)} AND {_beyond(*_lowest(partitions))}" for topic, partitions in ends.items()
    )


def _beyond(end: int, unknown: int) -> str:
    return f"(kafka_offset >= {end} OR partition >= {unknown})"


def _lowest(partitions: Mapping[int, int]) -> tuple[int, int]:
    """Return the lowest end, and the lowest number of a partition that has none."""
    return min(partitions.values(), default=0), next(number for number in count() if number not in partitions)
