"""Offsets by partition, in the sink's form and in Spark's: {"logs": {"0": 123, "1": 45}}. Ends are always exclusive."""

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Protocol

from log_shipper.spark_sink.errors import enumerated

Partition = tuple[str, int]  # topic, number
Offsets = Mapping[Partition, int]
NO_OFFSETS: Offsets = MappingProxyType({})

# Special offsets in `start_offsets`, as in Spark's options.
EARLIEST = -2
LATEST = -1


class BrokerOffsets(Protocol):
    """The offsets that Kafka has. `Admin` is the implementation. Each method may block, and raises SinkError."""

    def earliest(self, partitions: Collection[Partition]) -> Mapping[Partition, int]:
        """Return the first offset of each partition."""
        ...

    def latest(self, partitions: Collection[Partition]) -> Mapping[Partition, int]:
        """Return the end of each partition."""
        ...

    def at_timestamp(self, partitions: Collection[Partition], milliseconds: int) -> Mapping[Partition, int]:
        """Return the first offset at or after that time (ms of the epoch); a partition without one is left out."""
        ...

    def committed(self, group: str) -> Mapping[Partition, int]:
        """Return the committed offsets of the group, of all topics."""
        ...


def flat(topics: Mapping[str, Mapping[int, int]]) -> dict[Partition, int]:
    """Return offsets that the configuration has by topic and partition number."""
    return {(topic, number): offset for topic, numbers in topics.items() for number, offset in numbers.items()}


def lag(landed: Offsets, latest: Offsets) -> dict[Partition, int]:
    """Return the number of offsets that have not landed, by partition. A partition without landed records counts from
    its first offset, 0.

    Offsets, not records: transaction markers count too, as in Kafka's own tools.
    """
    return {partition: max(0, end - landed.get(partition, 0)) for partition, end in latest.items()}


def describe_partitions(partitions: Collection[Partition]) -> str:
    """Return the partitions for a message: "logs/0, logs/1 and 7 more"."""
    return enumerated(f"{topic}/{number}" for topic, number in sorted(partitions))
