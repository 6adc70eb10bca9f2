"""Whether a broker answers is asked by a client of its own, which is kept until one does."""

from typing import Any

from confluent_kafka import KafkaError, KafkaException

from log_shipper.shipper.errors import StartError
from log_shipper.shipper.output.kafka import Probe


class Cluster:
    def __init__(self) -> None:
        self.is_away = self.is_refused = False
        self.clients = 0

    def connect(self) -> Any:
        if self.is_refused:
            raise StartError("a certificate is being renewed")
        self.clients += 1
        return self

    def list_topics(self, *, timeout: float) -> None:
        if self.is_away:
            raise KafkaException(KafkaError(KafkaError._TRANSPORT))


def test_a_client_is_asked_until_a_broker_answers_and_then_the_next_one() -> None:
    cluster = Cluster()
    reach = Probe(cluster.connect)
    cluster.is_refused = True
    assert not reach(0.1)
    cluster.is_refused, cluster.is_away = False, True
    assert [reach(0.1) for _ in range(3)] == [False, False, False]
    assert cluster.clients == 1
    cluster.is_away = False
    assert [reach(0.1), reach(0.1)] == [True, True]
    assert cluster.clients == 2
