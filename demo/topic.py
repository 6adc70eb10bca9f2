"""The content of the topic, read while the demo runs."""

from dataclasses import dataclass, field
from typing import Any

import orjson
from confluent_kafka import Consumer, KafkaException, TopicPartition

from demo.compare import Arrived

AT_ONCE = 10_000


@dataclass(slots=True)
class PartitionMessages:
    """The messages of one partition, and the number of lines up to each offset."""

    messages: list[Arrived] = field(default_factory=list)
    lines_upto: list[int] = field(default_factory=lambda: [0])

    def add(self, message: Arrived) -> None:
        self.messages.append(message)
        self.lines_upto.append(self.lines_upto[-1] + sum(map(bool, message.text.split("\n"))))


class TopicReader:
    """A consumer of all partitions from the beginning. Must be closed."""

    def __init__(self, bootstrap: str, name: str, partitions: int) -> None:
        self.name = name
        self.partitions = {number: PartitionMessages() for number in range(partitions)}
        settings = {"bootstrap.servers": bootstrap, "group.id": "demo", "enable.auto.commit": False}
        self._consumer = Consumer(settings)
        self._consumer.assign([TopicPartition(name, number, 0) for number in self.partitions])

    def read(self, timeout: float = 0.0) -> int:
        """Read new records, and return their number. Raises KafkaException."""
        records = self._consumer.consume(AT_ONCE, timeout)
        for record in records:
            if (error := record.error()) is not None:
                raise KafkaException(error)
            number, value = record.partition(), record.value()
            assert number is not None  # None only in unsent messages
            assert value is not None
            partition = self.partitions[number]
            # Offsets have no gaps: without transactions there are no control records.
            assert record.offset() == len(partition.messages)
            partition.add(parse(orjson.loads(value)))
        return len(records)

    def read_to_end(self) -> dict[int, int]:
        """Read up to the current end, and return that end by partition."""
        ends = self.ends()
        while any(len(self.partitions[number].messages) < end for number, end in ends.items()):
            self.read(0.5)
        return ends

    def ends(self) -> dict[int, int]:
        return {
            number: self._consumer.get_watermark_offsets(TopicPartition(self.name, number), timeout=10)[1]
            for number in self.partitions
        }

    def lines(self, count_to: dict[int, int]) -> int:
        """Return the number of read lines before these offsets."""
        return sum(
            partition.lines_upto[min(count_to.get(number, 0), len(partition.messages))]
            for number, partition in self.partitions.items()
        )

    def messages(self, count_to: dict[int, int]) -> list[Arrived]:
        return [
            message
            for number, partition in self.partitions.items()
            for message in partition.messages[: count_to.get(number, 0)]
        ]

    def close(self) -> None:
        self._consumer.close()


def parse(record: dict[str, Any]) -> Arrived:
    """Parse a record by its contract (docs/reference/kafka-records.md)."""
    log = record["log"]
    key = (int(log["file"]["device_id"]), int(log["file"]["inode"]))
    return Arrived(key, log["offset"], log["length"], record["message"])
