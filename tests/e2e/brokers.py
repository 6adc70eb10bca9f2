"""A Kafka of three brokers: what one of them had, the others have when it is killed."""

from pathlib import Path
from types import TracebackType
from typing import Any, Self

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from demo.broker import Broker
from demo.broker_config import cluster_of
from tests.e2e.running import PATIENCE, await_true

COUNT = 3
# Several partitions of Kafka's own topics, so that each broker coordinates some groups and transactions.
PROPERTIES = {
    "offsets.topic.num.partitions": "6",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.num.partitions": "6",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
}


class Brokers:
    def __init__(self, directory: Path) -> None:
        nodes = cluster_of(COUNT)
        self.all = [Broker(directory / str(node.number), "256m", PROPERTIES, node=node) for node in nodes]

    def __enter__(self) -> Self:
        for broker in self.all:
            broker.launch()
        for broker in self.all:
            broker.await_answer()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for broker in self.all:
            broker.kill()  # not in order: without most of the others, none would stop soon

    @property
    def bootstrap(self) -> str:
        return ",".join(broker.bootstrap for broker in self.all)

    def create_topic(self, name: str, partitions: int) -> None:
        """Create a topic with a replica on each broker. Raises KafkaException."""
        admin = self._admin()  # kept until the answer is there
        admin.create_topics([NewTopic(name, partitions, COUNT)])[name].result(30)
        self.await_replicas()

    def await_replicas(self) -> None:
        """Return when each broker has all that the others have."""
        await_true(self._are_in_sync, "all replicas are in sync", 2 * PATIENCE)

    def _are_in_sync(self) -> bool:
        try:
            known = self._admin().list_topics(timeout=10)
        except KafkaException:
            return False
        partitions = [partition for topic in known.topics.values() for partition in topic.partitions.values()]
        return len(known.brokers) == COUNT and all(len(partition.isrs) == COUNT for partition in partitions)

    def _admin(self) -> AdminClient:
        settings: dict[str, Any] = {"bootstrap.servers": self.bootstrap, "log_level": 0}
        return AdminClient(settings | {"error_cb": lambda error: None})
