"""Records that Kafka deleted before they were read: retention, or somebody's `kafka-delete-records`.

A batch that begins below what the broker has first is short of them. That offsets are missing is no sign: the markers
of transactions, and records of aborted ones, leave gaps in every topic that has them. So a gap counts only below the
broker's first offset. Of what is deleted while the batch is being read, only the part before the first record that came
is seen.
"""

from collections.abc import Collection
from dataclasses import dataclass

from spark_sink.kafka.offsets import Offsets, Partition


@dataclass(frozen=True, slots=True, order=True)
class Lost:
    """`first` and `last` are missing, and all between them."""

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
    """The partitions to ask for the first record that came of them; none in any ordinary batch."""
    return {
        at for at, end in ends.items() if end < starts.get(at, 0) or starts.get(at, 0) < min(end, earliest.get(at, 0))
    }


def ranges(starts: Offsets, ends: Offsets, came: Offsets, earliest: Offsets) -> list[Lost]:
    """What a batch from `starts` up to `ends` is short of. `came`: the first offset that came of each partition;
    `earliest`: what the broker has first, asked after the batch was read.

    A partition without a start is one that was found by this batch: it should have begun at 0. One that ends, or came,
    before its start was made anew: its numbers began again, and Spark reads on from its end.
    """
    found = []
    for (topic, number), end in ends.items():
        at = (topic, number)
        start, first, kept = starts.get(at, 0), came.get(at, end), earliest.get(at, 0)
        anew = first < start
        begin, stop = (kept, first) if anew else (start, min(first, kept))
        if begin < min(stop, end):
            found.append(Lost(topic, number, begin, min(stop, end) - 1))
    return sorted(found)


def told(lost: Collection[Lost]) -> str:
    """For a warning."""
    total = sum(each.count for each in lost)
    shown = "; ".join(str(each) for each in sorted(lost)[:5])
    return f"{total:,} offsets were deleted in Kafka before they were read: {shown}" + (
        f" and {len(lost) - 5} more ranges" if len(lost) > 5 else ""
    )
