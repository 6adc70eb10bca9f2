"""What Kafka holds, in dictionaries: for the decisions that are made of it."""

import re
from collections.abc import Collection
from dataclasses import dataclass, field

from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.kafka.offsets import Partition


@dataclass
class FakeBroker:
    """By partition its first offset, its end, and the times of its records (one an offset, from the first on)."""

    first: dict[Partition, int] = field(default_factory=dict)
    end: dict[Partition, int] = field(default_factory=dict)
    times: dict[Partition, list[int]] = field(default_factory=dict)
    groups: dict[str, dict[Partition, int]] = field(default_factory=dict)
    topic_ids: dict[str, str] = field(default_factory=dict)

    def topic_names(self) -> set[str]:
        return {topic for topic, _ in self.end}

    def topics_matching(self, pattern: str) -> set[str]:
        return {name for name in self.topic_names() if re.fullmatch(pattern, name)}

    def partitions(self, topics: Collection[str]) -> set[Partition]:
        return {partition for partition in self.end if partition[0] in topics}

    def earliest(self, partitions: Collection[Partition]) -> dict[Partition, int]:
        return {partition: self.first.get(partition, 0) for partition in partitions}

    def latest(self, partitions: Collection[Partition]) -> dict[Partition, int]:
        if unknown := set(partitions) - self.end.keys():
            raise SinkError(f"Kafka does not have {sorted(unknown)}")
        return {partition: self.end[partition] for partition in partitions}

    def ids(self, topics: Collection[str]) -> dict[str, str]:
        return {topic: self.topic_ids.get(topic, "") for topic in topics}

    def at_timestamp(self, partitions: Collection[Partition], milliseconds: int) -> dict[Partition, int]:
        offsets = {}
        for partition in partitions:
            for number, time in enumerate(self.times.get(partition, [])):
                if time >= milliseconds:
                    offsets[partition] = self.first.get(partition, 0) + number
                    break
        return offsets

    def committed(self, group: str) -> dict[Partition, int]:
        return self.groups.get(group, {})
