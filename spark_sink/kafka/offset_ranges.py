"""Ranges of offsets, and the shares of a batch's tasks in them."""

from collections.abc import Iterator
from dataclasses import dataclass

from log_shipper.spark_sink.kafka.offsets import Offsets, Partition


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """Offsets of one partition, from `start` up to but not including `end`. Some may have no record."""

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
    """Return a range for each partition with offsets in between, in order of topic and partition. A partition without a
    start begins at 0; so does one whose end is before its start: its topic was re-created."""
    ranges = []
    for partition, end in sorted(ends.items()):
        start = starts.get(partition, 0)
        ranges.append(OffsetRange(*partition, start if start <= end else 0, end))
    return [offsets for offsets in ranges if len(offsets)]


def split_into_shares(ranges: list[OffsetRange], max_shares: int, min_offsets: int) -> list[list[OffsetRange]]:
    """Return the ranges in shares of equal size, split where a share is full; as many as `max_shares` and `min_offsets`
    per share allow."""
    total = sum(map(len, ranges))
    count = max(1, min(max_shares, total // max(1, min_offsets)))
    made: list[list[OffsetRange]] = [[] for _ in range(count)]
    done = 0
    for offsets in ranges:
        for number, piece in _cut(offsets, done, total, count):
            made[number].append(piece)
        done += len(offsets)
    return [share for share in made if share]


def _cut(offsets: OffsetRange, before: int, total: int, count: int) -> Iterator[tuple[int, OffsetRange]]:
    """Yield the pieces of a range with the numbers of their shares. `before`: number of offsets in earlier ranges."""
    start = offsets.start
    while start < offsets.end:
        number = (before + start - offsets.start) * count // total
        share_end = -(-(number + 1) * total // count) - before + offsets.start
        end = min(offsets.end, share_end)
        yield number, OffsetRange(*offsets.place, start, end)
        start = end
