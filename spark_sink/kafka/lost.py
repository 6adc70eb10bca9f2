"""Records that Kafka deleted before they were read: retention, or a `kafka-delete-records`.

A batch that begins below the broker's first offset lacks them. A gap alone proves nothing: the markers of transactions,
and records of aborted ones, leave gaps in every topic that has them. So a gap counts only below the broker's first
offset. Of what is deleted while the batch is being read, only the part before the first record that came is recognised.
"""

from dataclasses import dataclass

from spark_sink.kafka.offsets import Offsets, Partition


@dataclass(frozen=True, slots=True, order=True)
class Lost:
    """A range of offsets that are missing: `first`, `last`, and all between them."""

    topic: str
    partition: int
    first: int
    last: int

    @property
    def count(self) -> int:
        return self.last - self.first + 1

    def __str__(self) -> str:
        return f"topic {self.topic}, partition {self.partition}: offsets {self.first} to {self.last}"


def suspects(starts: Offsets, ends: Offsets, earliest: Offsets) -> set[Partition]:
    """Return the partitions whose first record in the batch has to be looked up; none in an ordinary batch."""
    return {
        partition
        for partition, end in ends.items()
        if end < (start := starts.get(partition, 0)) or start < min(end, earliest.get(partition, 0))
    }


def ranges(starts: Offsets, ends: Offsets, came: Offsets, earliest: Offsets) -> list[Lost]:
    """Return the ranges that a batch from `starts` up to `ends` lacks. `came`: the first offset in the batch of each
    partition; `earliest`: the broker's first offsets, asked for after the batch was read.

    A partition without a start appeared with this batch: it should have begun at 0. One that ends, or whose first
    record lies, before its start was re-created: its offsets began again, and Spark resumes at its end.
    """
    missing = []
    for (topic, number), end in ends.items():
        partition = (topic, number)
        start, first, kept = starts.get(partition, 0), came.get(partition, end), earliest.get(partition, 0)
        recreated = first < start
        lost_from, lost_until = (kept, first) if recreated else (start, min(first, kept))
        if lost_from < min(lost_until, end):
            missing.append(Lost(topic, number, lost_from, min(lost_until, end) - 1))
    return sorted(missing)
