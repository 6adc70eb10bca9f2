"""Ranges of offsets, and how those of a batch are shared out to the tasks that read them."""

from collections.abc import Iterator
from dataclasses import dataclass

from log_shipper.spark_sink.kafka.offsets import Offsets, Partition


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """Offsets of one partition: `start`, and all from there to before `end`. It need not have a record for each."""

    topic: str
    partition: int
    start: int
    end: int

    def __len__(self) -> int:
        return self.end - self.start

    def __str__(self) -> str:
        return f"topic {self.topic}, partition {self.partition}, offsets {self.start} to {self.end - 1}"

    @property
    def place(self) -> Partition:
        return self.topic, self.partition


def ranges_between(starts: Offsets, ends: Offsets) -> list[OffsetRange]:
    """Return a range for each partition that has offsets in between, in order of topic and partition. One without a
    start begins at 0; so does one that ends before its start: its topic was re-created."""
    ranges = []
    for partition, end in sorted(ends.items()):
        start = starts.get(partition, 0)
        ranges.append(OffsetRange(*partition, start if start <= end else 0, end))
    return [offsets for offsets in ranges if len(offsets)]


def split_into_shares(ranges: list[OffsetRange], most: int, least: int) -> list[list[OffsetRange]]:
    """Return the ranges in at most `most` shares of equal size, cut where a share is full; fewer, where one would have
    less than `least` offsets."""
    total = sum(map(len, ranges))
    count = max(1, min(most, total // max(1, least)))
    made: list[list[OffsetRange]] = [[] for _ in range(count)]
    done = 0
    for offsets in ranges:
        for number, piece in _cut(offsets, done, total, count):
            made[number].append(piece)
        done += len(offsets)
    return [share for share in made if share]


def _cut(offsets: OffsetRange, before: int, total: int, count: int) -> Iterator[tuple[int, OffsetRange]]:
    """Yield the pieces of a range with the number of their share. `before`: offsets of the ranges in front of it."""
    start = offsets.start
    while start < offsets.end:
        number = (before + start - offsets.start) * count // total
        share_end = -(-(number + 1) * total // count) - before + offsets.start
        end = min(offsets.end, share_end)
        yield number, OffsetRange(*offsets.place, start, end)
        start = end
