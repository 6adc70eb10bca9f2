"""Whether a broker answers is asked by a client of its own, which is kept until one does."""

from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from log_shipper.shipper.errors import StartError
from log_shipper.shipper.output.kafka import Probe


class Cluster:
    def __init__(self) -> None:
        self.is_away = self.is_refused = False
        self.clients = 0
        self.topics: dict[str, list[tuple[int, int]]] = {}  # leader and number of replicas in sync of each partition

    def connect(self) -> Any:
        if self.is_refused:
            raise StartError("a certificate is being renewed")
        self.clients += 1
        return self

    def list_topics(self, *, timeout: float) -> Any:
        if self.is_away:
            raise KafkaException(KafkaError(KafkaError._TRANSPORT))
        return SimpleNamespace(
            brokers={1: "kafka-1", 2: "kafka-2"},
            topics={
                topic: SimpleNamespace(
                    partitions={
                        number: SimpleNamespace(leader=leader, replicas=[1, 2], isrs=[1, 2][:in_sync])
                        for number, (leader, in_sync) in enumerate(partitions)
                    }
                )
                for topic, partitions in self.topics.items()
            },
        )


def test_a_client_is_asked_until_a_broker_answers_and_then_the_next_one() -> None:
    cluster = Cluster()
    reach = Probe(cluster.connect).reach
    cluster.is_refused = True
    assert not reach(0.1)
    cluster.is_refused, cluster.is_away = False, True
    assert [reach(0.1) for _ in range(3)] == [False, False, False]
    assert cluster.clients == 1
    cluster.is_away = False
    assert [reach(0.1), reach(0.1)] == [True, True]
    assert cluster.clients == 2


@pytest.mark.parametrize(
    ("partitions", "serves"),
    [([(1, 2), (2, 2)], True), ([(1, 2), (-1, 2)], False), ([(1, 2), (3, 2)], False), ([(1, 1)], False), ([], False)],
    ids=["healthy", "no leader", "leader is down", "a replica is missing", "no partition"],
)
def test_a_cluster_serves_a_topic_with_all_leaders_and_replicas(
    partitions: list[tuple[int, int]], serves: bool
) -> None:
    cluster = Cluster()
    cluster.topics = {"logs": partitions, "other": [(-1, 0)]}
    assert Probe(cluster.connect).serves(["logs"], 0.1) is serves


def test_a_cluster_that_is_away_or_lacks_the_topic_does_not_serve_it() -> None:
    cluster = Cluster()
    cluster.topics = {"logs": [(1, 2)]}
    assert not Probe(cluster.connect).serves(["missing"], 0.1)
    cluster.is_away = True
    assert not Probe(cluster.connect).serves(["logs"], 0.1)
