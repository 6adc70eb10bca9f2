"""One contract for the transactional id and the positions' topic: a real broker, and the fake of it."""

import uuid
from dataclasses import dataclass

import pytest
from confluent_kafka import KafkaError, KafkaException

from log_shipper.shipper.errors import Fenced
from log_shipper.shipper.options.kafka import KafkaOutputConfig
from log_shipper.shipper.output.kafka_settings import clients, latest, producers, transactional
from log_shipper.shipper.output.positions_topic import Owner, PositionsTopic, PositionStore
from log_shipper.shipper.output.transactional_id import MakeProducer, TransactionalId
from tests.fake_transactions import MemoryPositions, TransactionalKafka

PATIENCE = 60.0


@dataclass
class Cluster:
    make: MakeProducer
    store: PositionStore

    def taken_by(self, instance: str) -> TransactionalId:
        taken = TransactionalId(self.make, self.store, Owner(instance, "web-1", 1, "now"))
        taken.take_over(ignore)
        return taken


def ignore(error: KafkaError | None, message: object = None) -> None:
    pass


REAL = ("kafka_broker", "creating_broker")


@pytest.fixture(params=["fake", *[pytest.param(name, marks=pytest.mark.kafka) for name in REAL]])
def cluster(request: pytest.FixtureRequest) -> Cluster:
    if request.param == "fake":
        kafka = TransactionalKafka()
        return Cluster(kafka.connect, MemoryPositions(kafka))
    name = f"id-{uuid.uuid4().hex}"
    configured = latest(KafkaOutputConfig(hosts=(request.getfixturevalue(request.param).bootstrap,), topic=name))
    store = PositionsTopic(name, "web-1", clients(configured))
    return Cluster(producers(lambda: transactional(configured(), name)), store)


def write_positions(writer: TransactionalId, entry: bytes) -> None:
    """Begin a transaction that is left open."""
    writer.producer.begin_transaction()
    writer.producer.produce_batch(writer.topic, writer.records({"f1": entry}), callback=ignore)
    assert not writer.producer.flush(PATIENCE)


def test_a_producer_is_replaced_at_once_though_its_transaction_with_positions_is_open(cluster: Cluster) -> None:
    writer = cluster.taken_by("one")
    write_positions(writer, b"1")
    with pytest.raises(KafkaException) as raised:
        cluster.store.read()
    assert raised.value.args[0].code() == KafkaError._TIMED_OUT
    writer.replace_producer(ignore)
    assert not writer.is_committed
    write_positions(writer, b"2")
    writer.producer.commit_transaction()
    writer.replace_producer(ignore)
    assert writer.is_committed
    assert writer.committed.entries == {"f1": b"2"}


def test_a_process_whose_id_was_taken_finds_the_other_before_it_fences_it_in_turn(cluster: Cluster) -> None:
    first = cluster.taken_by("one")
    write_positions(first, b"1")
    second = cluster.taken_by("two")
    with pytest.raises(Fenced, match="process 1 on host web-1"):
        first.replace_producer(ignore)
    write_positions(second, b"2")
    second.producer.commit_transaction()
    assert cluster.store.read().entries == {"f1": b"2"}
