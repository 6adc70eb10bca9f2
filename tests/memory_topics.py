"""Topics in memory with a consumer group that a test drives: the `Consumer` of shipper/inputs/kafka/client.py.

It passes the contract tests of the real one (tests/contract/test_consumer.py).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, KafkaError, KafkaException, TopicPartition

from log_shipper.shipper.inputs.kafka.client import Clients, OnCommit, OnError, OnPartitions, Topic
from log_shipper.shipper.inputs.kafka.partition import Place

CREATE_TIME = 1


@dataclass(frozen=True)
class FakeMessage:
    """The part of confluent_kafka.Message that is used."""

    place: Place
    position: int
    content: bytes | None = b""
    name: bytes | None = None
    beside: Sequence[tuple[str, bytes | None]] | None = None
    time: tuple[int, int] = (CREATE_TIME, 1_763_000_000_123)
    failure: KafkaError | None = None

    def topic(self) -> str:
        return self.place[0]

    def partition(self) -> int:
        return self.place[1]

    def offset(self) -> int:
        return self.position

    def value(self) -> bytes | None:
        return self.content

    def key(self) -> bytes | None:
        return self.name

    def headers(self) -> Sequence[tuple[str, bytes | None]] | None:
        return self.beside

    def timestamp(self) -> tuple[int, int]:
        return self.time

    def error(self) -> KafkaError | None:
        return self.failure

    def __len__(self) -> int:
        return len(self.content or b"")


@dataclass
class MemoryTopics:
    """A cluster. `records` are those of each partition, `first` the first offset that it still has; `committed` are the
    offsets of the group, `metadata` what it keeps beside them, of which at most `most_metadata` bytes; `ids` are those
    of topics, `partitions` how many they have, as far as brokers tell, `leaderless` which have no leader. `failing` are
    raised by the next calls of that name; "on_commit": the answers to commits."""

    records: dict[Place, list[FakeMessage]] = field(default_factory=dict)
    first: dict[Place, int] = field(default_factory=dict)
    committed: dict[Place, int] = field(default_factory=dict)
    metadata: dict[Place, str] = field(default_factory=dict)
    most_metadata: int = 4096
    ids: dict[str, str] = field(default_factory=dict)
    partitions: dict[str, int] = field(default_factory=dict)
    deleted: set[str] = field(default_factory=set)
    leaderless: set[Place] = field(default_factory=set)
    failing: dict[str, list[KafkaException]] = field(default_factory=dict)
    consumers: list[FakeConsumer] = field(default_factory=list)

    def write(self, place: Place, *values: bytes | None, **beside: Any) -> None:
        for value in values:
            self.records.setdefault(place, []).append(FakeMessage(place, self.end(place), value, **beside))

    def skip(self, place: Place, offsets: int) -> None:
        """Leave offsets without a record behind the last one, as the markers of transactions do."""
        self.first.setdefault(place, 0)
        self._skipped[place] = self.end(place) + offsets

    _skipped: dict[Place, int] = field(default_factory=dict)

    def end(self, place: Place) -> int:
        records = self.records.get(place)
        last = records[-1].position + 1 if records else self.first.get(place, 0)
        return max(last, self._skipped.get(place, 0))

    def delete_before(self, place: Place, offset: int) -> None:
        self.records[place] = [record for record in self.records[place] if record.position >= offset]
        self.first[place] = offset

    def recreate(self, topic: str) -> None:
        """Delete a topic, with the offsets that the group had, and make one of the same name."""
        self.ids[topic] = f"{self.ids.get(topic, '')}'"
        for place in [place for place in self.records if place[0] == topic]:
            self.records[place] = []
            self.first.pop(place, None)
            self.committed.pop(place, None)
            self.metadata.pop(place, None)

    def look_up(self, topics: Sequence[str]) -> dict[str, Topic]:
        self.raise_planned("topic_lookup")
        return {topic: self._topic(topic) for topic in topics}

    def _topic(self, name: str) -> Topic:
        if name in self.deleted:
            return Topic(exists=False)
        leaderless = frozenset(number for topic, number in self.leaderless if topic == name)
        return Topic(self.ids.get(name, f"id-{name}"), self.partitions.get(name), leaderless=leaderless)

    def close(self) -> None: ...

    def raise_planned(self, call: str) -> None:
        planned = self.failing.get(call)
        if planned:
            raise planned.pop(0)

    @property
    def clients(self) -> Clients:
        return Clients(self._connect, lambda: self)

    def _connect(self, on_error: OnError, on_commit: OnCommit) -> FakeConsumer:
        self.consumers.append(FakeConsumer(self, on_error, on_commit))
        return self.consumers[-1]


class FakeConsumer:
    def __init__(self, topics: MemoryTopics, on_error: OnError, on_commit: OnCommit) -> None:
        self._topics = topics
        self.on_error = on_error
        self._on_commit = on_commit
        self.positions: dict[Place, int] = {}
        self.paused: set[Place] = set()
        self._ended: dict[Place, int] = {}  # the end that was reported
        self._pending: list[Callable[[], None]] = []  # called within the next poll
        self._commits: list[list[TopicPartition]] = []
        self.commit_calls: list[dict[Place, int]] = []
        self.is_closed = False
        self.generation = 0
        self.most_at_once = sys.maxsize  # records that `consume` returns
        self.before_consume: Callable[[], None] = lambda: None

    # For tests.

    def plan_assignment(self, *places: Place) -> None:
        self._pending.append(lambda: self._assigned(places))

    def plan_revocation(self, *places: Place) -> None:
        self._pending.append(lambda: self._taken(self._on_revoke, places))

    def plan_loss(self, *places: Place) -> None:
        self._pending.append(lambda: self._taken(self._on_lost, places))

    def rebalance(self) -> None:
        """Call back for what is planned, as a poll does, and `consume`."""
        pending, self._pending = self._pending, []
        for call in pending:
            call()

    def _assigned(self, places: Sequence[Place]) -> None:
        self.generation += 1
        self._on_assign(self, [TopicPartition(*place) for place in places])

    def _taken(self, callback: OnPartitions, places: Sequence[Place]) -> None:
        callback(self, [TopicPartition(*place) for place in places])
        self.incremental_unassign([TopicPartition(*place) for place in places])

    # As in confluent_kafka.

    def subscribe(
        self, topics: list[str], *, on_assign: OnPartitions, on_revoke: OnPartitions, on_lost: OnPartitions
    ) -> None:
        self._on_assign, self._on_revoke, self._on_lost = on_assign, on_revoke, on_lost

    def poll(self, timeout: float) -> Any:
        self._topics.raise_planned("poll")
        self.rebalance()
        commits, self._commits = self._commits, []
        for offsets in commits:
            self._answer(offsets)
        return next(iter(self._next(1)), None)

    def consume(self, num_messages: int, timeout: float) -> list[Any]:
        self.before_consume()
        return self._next(min(num_messages, self.most_at_once))

    def _next(self, count: int) -> list[FakeMessage]:
        messages: list[FakeMessage] = []
        for place in list(self.positions):
            if place not in self.paused and place not in self._topics.leaderless:
                messages += self._next_of(place, count - len(messages))
        return messages

    def _next_of(self, place: Place, count: int) -> list[FakeMessage]:
        position, end = self.positions[place], self._topics.end(place)
        first = self._topics.first.get(place, 0)
        if position == OFFSET_BEGINNING:
            position = self.positions[place] = first
        if count and not first <= position <= end:
            del self.positions[place]  # it is read no further
            return [FakeMessage(place, -1, failure=KafkaError(KafkaError._AUTO_OFFSET_RESET))]
        chosen = [record for record in self._topics.records.get(place, []) if record.position >= position][:count]
        if chosen:
            self.positions[place] = chosen[-1].position + 1
            return chosen
        if count and self._ended.get(place) != end:
            self._ended[place] = self.positions[place] = end
            return [FakeMessage(place, end, failure=KafkaError(KafkaError._PARTITION_EOF))]
        return []

    def assign(self, partitions: list[TopicPartition]) -> None:
        self.positions = {}
        self._ended = {}
        self.paused = set()
        self.incremental_assign(partitions)

    def incremental_assign(self, partitions: list[TopicPartition]) -> None:
        self.positions |= {(partition.topic, partition.partition): partition.offset for partition in partitions}

    def incremental_unassign(self, partitions: list[TopicPartition]) -> None:
        for partition in partitions:
            self.positions.pop((partition.topic, partition.partition), None)
            self._ended.pop((partition.topic, partition.partition), None)

    def pause(self, partitions: list[TopicPartition]) -> None:
        self.paused |= {(partition.topic, partition.partition) for partition in partitions}

    def resume(self, partitions: list[TopicPartition]) -> None:
        self.paused -= {(partition.topic, partition.partition) for partition in partitions}

    def commit(self, *, offsets: list[TopicPartition], asynchronous: bool) -> Any:
        self._topics.raise_planned("commit")
        if asynchronous:
            self._commits.append(offsets)
        else:
            self._keep(offsets)
        return None if asynchronous else offsets

    def _answer(self, offsets: list[TopicPartition]) -> None:
        try:
            self._topics.raise_planned("on_commit")
            self._keep(offsets)
        except KafkaException as error:
            self._on_commit(error.args[0], offsets)
        else:
            self._on_commit(None, offsets)

    def _keep(self, offsets: list[TopicPartition]) -> None:
        if any(len(offset.metadata or "") > self._topics.most_metadata for offset in offsets):
            raise KafkaException(KafkaError(KafkaError.OFFSET_METADATA_TOO_LARGE))
        new = {(offset.topic, offset.partition): offset.offset for offset in offsets}
        self._topics.committed |= new
        self._topics.metadata |= {(offset.topic, offset.partition): offset.metadata or "" for offset in offsets}
        self.commit_calls.append(new)

    def committed(self, partitions: list[TopicPartition], timeout: float) -> list[TopicPartition]:
        self._topics.raise_planned("committed")
        places = [(partition.topic, partition.partition) for partition in partitions]
        offsets, metadata = self._topics.committed, self._topics.metadata
        return [TopicPartition(*place, offsets.get(place, -1001), metadata.get(place, "")) for place in places]

    def offsets_for_times(self, partitions: list[TopicPartition], timeout: float) -> list[Any]:
        answers = []
        for part in partitions:
            records = self._topics.records.get((part.topic, part.partition), [])
            later = [record.position for record in records if record.time[1] >= part.offset]
            answer = SimpleNamespace(topic=part.topic, partition=part.partition, offset=-1, error=None)
            if (part.topic, part.partition) in self._topics.leaderless:
                answer.error = KafkaError(KafkaError.LEADER_NOT_AVAILABLE)
            elif later:
                answer.offset = later[0]
            answers.append(answer)
        return answers

    def get_watermark_offsets(
        self, partition: TopicPartition, timeout: float = 0.0, cached: bool = False
    ) -> tuple[int, int] | None:
        place = partition.topic, partition.partition
        if place in self._topics.leaderless and not cached:
            raise KafkaException(KafkaError(KafkaError._UNKNOWN_PARTITION, "Failed to get watermark offsets"))
        return self._topics.first.get(place, 0), self._topics.end(place)

    def consumer_group_metadata(self) -> object:
        return f"generation {self.generation}"

    def close(self) -> None:
        self.is_closed = True
