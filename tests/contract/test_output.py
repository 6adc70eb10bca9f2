"""What every output does, fakes and real ones alike: the contract of shipper/output/base.py.

Each kind is a Destination: the output, and a way to see what arrived there.
"""

import io
import json
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, TopicPartition

from demo.broker import Broker
from log_shipper.shipper.backoff import Backoff
from log_shipper.shipper.clock import SystemClock
from log_shipper.shipper.event import Batch, Topics
from log_shipper.shipper.options.kafka import KafkaOutputConfig
from log_shipper.shipper.output.at_least_once import AtLeastOnce
from log_shipper.shipper.output.base import Output
from log_shipper.shipper.output.kafka import KafkaContext
from log_shipper.shipper.output.kafka_records import Producer
from log_shipper.shipper.output.kafka_settings import clients, latest, make_producer, producers, transactional
from log_shipper.shipper.output.positions_topic import Owner, PositionsTopic, PositionStore
from log_shipper.shipper.output.transaction import TransactionLimits
from log_shipper.shipper.output.transactional_id import MakeProducer, TransactionalId
from log_shipper.shipper.output.transactions import Transactions
from log_shipper.shipper.outputs.console import ConsoleOutput
from log_shipper.shipper.outputs.file import FileOutput, OutputFile
from tests.builders import RecordedDeliveries, batch, encoder
from tests.fake_transactions import MemoryPositions, PlannedPositions, TransactionalKafka
from tests.fakes import MemoryKafka, MemoryOutput, kafka_context

PARTITIONS = 3
LONG = 60.0  # seconds; what takes so long has failed


class Destination:
    """An output under test; `arrived` gives the records there in order."""

    def __init__(
        self, make: Callable[[RecordedDeliveries], Output], arrived: Callable[[], Sequence[str | bytes]]
    ) -> None:
        self.deliveries = RecordedDeliveries()
        self.output = make(self.deliveries)
        self._arrived = arrived

    def texts(self, file_id: str = "f1") -> list[str]:
        records = [json.loads(record) for record in self._arrived()]
        return [record["message"] for record in records if record["log"]["file"]["id"] == file_id]

    def publish(self, *batches: Batch) -> None:
        """Publish as the publisher does: a refused batch is offered again."""
        deadline = time.monotonic() + LONG
        for following in batches:
            while not self.output.publish(following):
                self.output.poll(0.01)
                assert time.monotonic() < deadline

    def drain(self) -> None:
        deadline = time.monotonic() + LONG
        while self.output.in_flight:
            self.output.poll(0.01)
            assert time.monotonic() < deadline


def memory(tmp_path: Path) -> Destination:
    made: list[MemoryOutput] = []

    def make(deliveries: RecordedDeliveries) -> Output:
        made.append(MemoryOutput(encoder(), deliveries))
        return made[0]

    return Destination(make, lambda: made[0].records)


def console(tmp_path: Path) -> Destination:
    stream = io.BytesIO()
    return Destination(
        lambda deliveries: ConsoleOutput(encoder(), deliveries, SystemClock(), stream=stream),
        lambda: stream.getvalue().splitlines(),
    )


def file(tmp_path: Path) -> Destination:
    path = tmp_path / "out"
    return Destination(
        lambda deliveries: FileOutput(OutputFile(path), encoder(), deliveries, SystemClock()),
        lambda: path.read_bytes().splitlines(),
    )


def context_of(topic: str) -> KafkaContext:
    return kafka_context(SystemClock(), topics=lambda batch: Topics(topic), backoff=Backoff(0.01, 0.1))


def kafka_output(make: Callable[..., Producer], topic: str, deliveries: RecordedDeliveries) -> Output:
    return AtLeastOnce(make, context_of(topic), deliveries)


def fake_kafka(tmp_path: Path) -> Destination:
    kafka = MemoryKafka()
    return Destination(lambda deliveries: kafka_output(kafka.connect, "logs", deliveries), lambda: kafka.landed)


def transactional_output(
    make: MakeProducer, store: PositionStore, topic: str, deliveries: RecordedDeliveries
) -> Output:
    identity = TransactionalId(make, store, Owner(uuid.uuid4().hex, "web-1", 1, "now"))
    limits = TransactionLimits(0.05, 2000, 10**7)
    output = Transactions(identity, context_of(topic), deliveries, PlannedPositions(), limits)
    assert output.start(lambda: False) == {}
    return output


def fake_transactions(tmp_path: Path) -> Destination:
    kafka = TransactionalKafka()
    store = MemoryPositions(kafka)
    return Destination(
        lambda deliveries: transactional_output(kafka.connect, store, "logs", deliveries), lambda: kafka.landed
    )


def closed_by(stack: ExitStack, make: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that makes producers, which the stack closes: each refers to its output, and is in a cycle."""

    def made(on_error: Callable[[KafkaError], None]) -> Any:
        producer = make(on_error)
        stack.callback(producer.close)
        return producer

    return made


def real_transactions(broker: Broker, stack: ExitStack) -> Destination:
    topic = f"contract-{uuid.uuid4().hex}"
    broker.create_topic(topic, PARTITIONS)
    configured = latest(KafkaOutputConfig(hosts=(broker.bootstrap,), topic=topic))
    store = PositionsTopic(f"{topic}-positions", topic, clients(configured))
    make = closed_by(stack, producers(lambda: transactional(configured(), topic)))
    return Destination(
        lambda deliveries: transactional_output(make, store, topic, deliveries),
        lambda: read_topic(broker.bootstrap, topic),
    )


def real_kafka(broker: Broker, stack: ExitStack) -> Destination:
    topic = f"contract-{uuid.uuid4().hex}"
    broker.create_topic(topic, PARTITIONS)
    make = closed_by(stack, make_producer(KafkaOutputConfig(hosts=(broker.bootstrap,), topic=topic)))
    return Destination(
        lambda deliveries: kafka_output(make, topic, deliveries), lambda: read_topic(broker.bootstrap, topic)
    )


def read_topic(bootstrap: str, topic: str) -> list[bytes]:
    """Return all values that are committed, partition by partition: a file's records are in one partition. Wait for
    those of transactions that are about to end: the coordinator may answer a commit before it has told the partitions.
    """
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": "unused",
        "enable.auto.commit": False,
        "enable.partition.eof": True,
    }
    everything = Consumer(settings | {"isolation.level": "read_uncommitted"})
    consumer = Consumer(settings | {"isolation.level": "read_committed"})
    values: list[bytes] = []
    for place in (TopicPartition(topic, partition) for partition in range(PARTITIONS)):
        position, end = everything.get_watermark_offsets(place, timeout=LONG)
        consumer.assign([TopicPartition(topic, place.partition, position)])
        while position < end:
            message = consumer.poll(LONG)
            assert message is not None
            offset = message.offset()
            assert offset is not None
            if (error := message.error()) is not None:
                assert error.code() == KafkaError._PARTITION_EOF
                position = offset  # behind the marker of a commit, or before an open transaction
                continue
            value = message.value()
            assert value is not None
            assert message.key() == json.loads(value)["log"]["file"]["id"].encode()
            values.append(value)
            position = offset + 1
    everything.close()
    consumer.close()
    return values


FAKE = {
    "memory": memory,
    "console": console,
    "file": file,
    "fake kafka": fake_kafka,
    "fake transactions": fake_transactions,
}
REAL = {
    "kafka": (real_kafka, "kafka_broker"),
    "transactions": (real_transactions, "kafka_broker"),
    "kafka that creates topics": (real_kafka, "creating_broker"),
    "transactions on a kafka that creates topics": (real_transactions, "creating_broker"),
}


@pytest.fixture(params=[*FAKE, *[pytest.param(name, marks=pytest.mark.kafka) for name in REAL]])
def destination(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Destination]:
    stack = ExitStack()
    if request.param in REAL:
        make, name = REAL[request.param]
        made = make(request.getfixturevalue(name), stack)
    else:
        made = FAKE[request.param](tmp_path)
    with stack:
        yield made
        made.output.close()


def test_what_was_published_arrives_and_is_reported(destination: Destination) -> None:
    sent = batch(["one", 'zwölf \x7f\x00"', "\ufffd"])
    destination.publish(sent)
    destination.drain()
    assert destination.texts() == sent.messages.texts
    assert destination.deliveries.batches == [sent]
    assert not destination.deliveries.rejections


def test_every_batch_is_reported_once(destination: Destination) -> None:
    sent = [batch([f"{n}"], f"f{n % 3}", start=n * 10) for n in range(50)]
    destination.publish(*sent)
    destination.drain()
    destination.output.poll(0)
    assert sorted(map(id, destination.deliveries.batches)) == sorted(map(id, sent))


def test_a_files_batches_arrive_in_the_order_in_which_they_were_published(destination: Destination) -> None:
    texts = [f"{n}" for n in range(500)]
    start = 0
    for n in range(0, 500, 5):
        mine = batch(texts[n : n + 5], start=start)
        start = mine.messages.end
        destination.publish(mine, batch([f"other {n}"], "f2", start=n * 100))
    destination.drain()
    assert destination.texts() == texts
    assert destination.texts("f2") == [f"other {n}" for n in range(0, 500, 5)]


def test_what_is_reported_as_delivered_has_arrived_by_then(destination: Destination) -> None:
    sent = batch(["one", "two"])
    seen: list[list[str]] = []
    sent.resolve = lambda: seen.append(destination.texts())
    destination.publish(sent)
    destination.drain()
    assert seen == [["one", "two"]]


def test_in_flight_counts_batches_until_they_are_reported(destination: Destination) -> None:
    for n in range(10):
        destination.publish(batch([f"{n}"], start=n * 10))
        assert destination.output.in_flight == n + 1 - len(destination.deliveries.batches)
    destination.drain()
    assert (destination.output.in_flight, len(destination.deliveries.batches)) == (0, 10)


def test_a_poll_with_nothing_to_do_returns(destination: Destination) -> None:
    began = time.monotonic()
    destination.output.poll(0)
    destination.output.poll(0.01)
    assert time.monotonic() - began < LONG / 2


def test_a_big_batch_arrives_whole(destination: Destination) -> None:
    texts = [f"{n:06} " + "x" * 200 for n in range(5000)]
    destination.publish(batch(texts))
    destination.drain()
    assert destination.texts() == texts
