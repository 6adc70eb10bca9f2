"""Orphaned rows: those of a batch that was begun and never completed. They are in their tables, and not in the marks.

A process that is killed between the rows of a batch and its marks orphans them. The next process finds them by their
place in Kafka, at or behind the ends in the marks, and does not write them again: with a checkpoint that still has that
batch, and with a new one that resumes from the marks. The same holds for the rows of a partition that is read again.

Nearly always there are none, and the bounds of the files show it: rows are read where a file may have such rows.

Kafka's time is a part of the place: a topic that was re-created has the same offsets again, and those of the old one
may lie behind its end.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import TypeAlias

from log_shipper.spark_sink.kafka.offsets import Partition
from log_shipper.spark_sink.landing.marks import File, Marks
from log_shipper.spark_sink.landing.places import PLACE_SQL, Places
from log_shipper.spark_sink.landing.rebuild_marks import note_rows
from log_shipper.spark_sink.storage.tables import TableSnapshot, literal

FEW_TOPICS = 50  # with more, a condition names only the lowest end of all

EndsByTopic: TypeAlias = Mapping[str, Mapping[int, int]]

# Of a data file, as deltalake names them.
_BOUNDS = ("min.topic", "max.topic", "min.partition", "max.partition", "max.kafka_offset")


@dataclass(slots=True)
class OrphanedRows:
    """The places of orphaned rows, whatever table they are in: the configuration may have changed, and name another one
    for them now. `tables`: the paths of those that have any. `last`: the last offset of one in each partition. `files`:
    those whose marks in memory are new because of orphaned rows, and are not saved yet."""

    places: Places = field(default_factory=Places.from_rows)
    tables: set[str] = field(default_factory=set)
    last: dict[Partition, int] = field(default_factory=dict)
    files: list[tuple[str, File]] = field(default_factory=list)

    def forget_passed(self, ends: Mapping[Partition, int]) -> None:
        """Forget all orphaned rows when every partition has been read beyond the last one."""
        if self.tables and all(ends.get(partition, 0) > last for partition, last in self.last.items()):
            self.places = Places.from_rows()
            self.tables.clear()

    def add(self, path: str, places: Places) -> bool:
        """Add the places of rows of a table. Returns True if there are any."""
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
    """Return the rows behind the marks' ends, and those of every partition of the topics that has no end yet. Notes
    their files in the marks, as of `seconds` of the epoch."""
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
    """Return False if the bounds of all data files show that no row is at or behind an end, or in another partition of
    these topics."""
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
    """Return FROM and WHERE of a query for the rows at and behind the ends, and for those of other partitions of these
    topics. The ends are joined: as a condition for each they would be a plan that grows with the partitions."""
    known = [(topic, number, end) for topic, partitions in ends.items() for number, end in partitions.items()]
    values = ", ".join(f"({literal(topic)}, {number}, {end})" for topic, number, end in known or [("", -1, 0)])
    return (
        f"FROM stored LEFT JOIN (VALUES {values}) AS known(of_topic, number, beyond) "
        "ON stored.topic = known.of_topic AND stored.partition = known.number "
        f"WHERE ({_may_be_behind(ends)}) AND kafka_offset >= coalesce(known.beyond, 0)"
    )


def _may_be_behind(ends: EndsByTopic) -> str:
    """Return a condition that holds for all rows behind the ends, in a form that file statistics can answer."""
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
