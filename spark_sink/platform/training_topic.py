"""A topic in memory for the training run: the planner's broker and the reader of its records."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from log_shipper.spark_sink.kafka.lost import LostRange
from log_shipper.spark_sink.kafka.offset_ranges import OffsetRange
from log_shipper.spark_sink.kafka.offsets import Partition
from log_shipper.spark_sink.rows.batches import KafkaRecords

TOPIC = "logs"
PARTITION = (TOPIC, 0)
NOON = 1_795_262_400_000  # 2026-11-21, in milliseconds
BATCH = 5  # records; two lines of the second batch are repeats of the first, and each batch has a bad record


def line(offset: int) -> bytes:
    record = {"@timestamp": "2026-11-21T12:00:00Z", "message": "line", "host": {"name": "host"}}
    return json.dumps(record | {"log": {"offset": offset, "length": 5, "file": {"path": "/f", "id": "f"}}}).encode()


VALUES = [*map(line, range(4)), b"no JSON", *map(line, range(2, 6)), b"no JSON"]


@dataclass(frozen=True, slots=True)
class TrainingTopic:
    """Can be pickled, because it has no state. No method blocks."""

    @property
    def lost(self) -> Sequence[LostRange]:
        return ()

    def read(self, offsets: OffsetRange) -> Iterator[KafkaRecords]:
        numbers = range(offsets.start, offsets.end)
        values, nothing = VALUES[offsets.start : offsets.end], [None] * len(numbers)
        yield KafkaRecords(*offsets.place, numbers, [NOON] * len(numbers), nothing, values, nothing)

    def topic_names(self) -> set[str]:
        return {TOPIC}

    def topics_matching(self, pattern: str) -> set[str]:
        return self.topic_names()

    def partitions(self, topics: Collection[str]) -> set[Partition]:
        return {PARTITION}

    def latest(self, partitions: Collection[Partition]) -> Mapping[Partition, int]:
        return {PARTITION: len(VALUES)}

    def ids(self, topics: Collection[str]) -> Mapping[str, str]:
        return dict.fromkeys(topics, "id")
