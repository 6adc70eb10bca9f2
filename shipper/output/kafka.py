"""The common part of both Kafka outputs, `AtLeastOnce` and `Transactions`."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # public, but imported there without `as`
    AdminClient,
    ClusterMetadata,
)

from log_shipper.runtime.kafka.renewal import never
from log_shipper.shipper.backoff import Backoff
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.event import Batch, Rejection, Topics
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.output.kafka_errors import ErrorReporter
from log_shipper.shipper.output.kafka_records import Producer, RecordMaker, ReportOf, produce
from log_shipper.shipper.output.partitions import Partitions


class Sending:
    """A batch on its way. An event without topic or payload is rejected from the start. `has_times`: records have the
    times of their events."""

    __slots__ = ("batch", "has_times", "rejected", "topics")

    def __init__(self, batch: Batch, topics: Topics, has_times: bool = False) -> None:
        self.batch = batch
        self.topics = topics
        self.has_times = has_times
        self.rejected = [Rejection(index, reason, topics.topic_of(index)) for index, reason in topics.refused.items()]

    @property
    def sendable(self) -> list[int] | None:
        """Return the indices of the events that are not refused; None for all."""
        if not self.topics.refused:
            return None
        return [index for index in range(self.batch.events) if index not in self.topics.refused]


class Probe:
    """Asks the cluster with its own client: a client that has listed all topics no longer reports that one was
    deleted."""

    def __init__(self, make_client: Callable[[], AdminClient]) -> None:
        self._make_client = make_client
        self._client: AdminClient | None = None  # until a broker has responded

    def reach(self, timeout: float) -> bool:
        """Return True if a broker responds within `timeout` seconds. Blocks; callable from any thread."""
        return self._list_topics(timeout) is not None

    def serves(self, topics: Iterable[str], timeout: float) -> bool:
        """Return True if all partitions of these topics have a leader and all their replicas, so that the cluster does
        not delay a record. Blocks for at most `timeout` seconds."""
        cluster = self._list_topics(timeout)
        if cluster is None:
            return False
        known = [cluster.topics[topic] for topic in topics if topic in cluster.topics]
        partitions = [partition for topic in known for partition in topic.partitions.values()]
        return bool(partitions) and all(
            partition.leader in cluster.brokers and len(partition.isrs) == len(partition.replicas)
            for partition in partitions
        )

    def _list_topics(self, timeout: float) -> ClusterMetadata | None:
        try:
            client = self._client = self._client or self._make_client()  # another thread may reset it meanwhile
            cluster = client.list_topics(timeout=timeout)
        except (KafkaException, StartError):  # no response, or for example a certificate during its renewal
            return None
        self._client = None
        return cluster


@dataclass(frozen=True, slots=True)
class KafkaContext:
    """Makes records, chooses topics, and handles failures."""

    records: RecordMaker
    topics: Callable[[Batch], Topics]
    errors: ErrorReporter
    backoff: Backoff
    metrics: Metrics
    clock: Clock
    probe: Probe
    are_renewed: Callable[[], bool] = never  # certificates; True once after a renewal
    partitions: Partitions | None = None  # unless the client chooses them by key

    def knows_partitions(self, topics: Topics) -> bool:
        """Return True if records for these topics can be sent; otherwise look up the partitions. Does not block."""
        return self.partitions is None or self.partitions.are_known(topics)

    def send(
        self,
        producer: Producer,
        sending: Sending,
        indices: list[int] | None,
        report_of: ReportOf,
    ) -> list[tuple[int, KafkaError]]:
        """Hand the records of these events (None: all) to the client. Return the indices it refused immediately (queue
        full, record too large, topic known to be missing or forbidden)."""
        batch = sending.batch if indices is None else sending.batch.part(indices)
        records = self.records.records(batch, with_times=sending.has_times)
        refused: list[tuple[int, KafkaError]] = []
        for topic, sent, group in _by_topic(sending.topics, indices or range(len(records)), records):
            if self.partitions is not None:
                self.partitions.assign(topic, group)
            if produce(producer, topic, group, sent, report_of) < len(group):
                refused += [
                    (index, record["_error"])
                    for index, record in zip(sent, group, strict=True)
                    if record.get("_error") is not None
                ]
        return refused


def _by_topic(
    topics: Topics, indices: Sequence[int], records: list[dict[str, Any]]
) -> Iterator[tuple[str, Sequence[int], list[dict[str, Any]]]]:
    """Yield each topic with the indices and records of its events, in order."""
    if topics.shared is not None:
        if records:
            yield topics.shared, indices, records
        return
    groups: dict[str, list[int]] = {}
    for place, index in enumerate(indices):
        groups.setdefault(topics.topic_of(index), []).append(place)
    for topic, places in groups.items():
        yield topic, [indices[place] for place in places], [records[place] for place in places]
