"""What the input `kafka` relies on of a consumer: the real one and its fake."""

import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer, TopicPartition

from demo.broker import Broker
from log_shipper.shipper.inputs.kafka.client import Consumer, TopicLookup, clients, raised_by_poll
from log_shipper.shipper.inputs.kafka.options import KafkaInputConfig, RebalanceConfig
from log_shipper.shipper.inputs.kafka.partition import Place
from log_shipper.shipper.inputs.kafka.starts import bounds
from tests.memory_topics import MemoryTopics

PATIENCE = 60.0


@dataclass
class Group:
    """A consumer with its callbacks; `write` adds records to the partition, `delete_before` removes some."""

    consumer: Consumer
    topic_lookup: TopicLookup
    place: Place
    write: Callable[[bytes], None]
    delete_before: Callable[[int], None]
    give: Callable[[], None]
    assigned: list[Place] = field(default_factory=list)
    commits: list[KafkaError | None] = field(default_factory=list)

    def begin(self, start: int) -> None:
        assigned, place = self.assigned, self.place  # a callback with a reference to this would be in a cycle with it

        def on_assign(consumer: Any, partitions: list[TopicPartition]) -> None:
            assigned.extend((partition.topic, partition.partition) for partition in partitions)
            consumer.assign([TopicPartition(*place, start)])

        self.subscribe(on_assign)
        self.give()

    def subscribe(self, on_assign: Callable[[Any, list[TopicPartition]], None]) -> None:
        def ignore(consumer: Any, partitions: list[TopicPartition]) -> None: ...

        self.consumer.subscribe([self.place[0]], on_assign=on_assign, on_revoke=ignore, on_lost=ignore)

    def poll_until(self, is_wanted: Callable[[Any], bool]) -> Any:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            message = self.consumer.poll(0.1)
            if message is not None and is_wanted(message):
                return message
        raise AssertionError("it does not come")

    def value(self, content: bytes) -> Any:
        return self.poll_until(lambda message: message.error() is None and message.value() == content)

    def await_commit(self) -> None:
        deadline = time.monotonic() + PATIENCE
        while not self.commits and time.monotonic() < deadline:
            self.consumer.poll(0.05)

    def event(self, code: int) -> Any:
        return self.poll_until(lambda message: message.error() is not None and message.error().code() == code)


def memory() -> Group:
    topics, place = MemoryTopics(), ("logs", 0)
    topics.records[place] = []
    commits: list[KafkaError | None] = []
    made = topics.clients
    consumer: Any = made.consumer(lambda error: None, lambda error, offsets: commits.append(error))
    group = Group(
        consumer,
        made.topic_lookup(),
        place,
        lambda value: topics.write(place, value),
        lambda offset: topics.delete_before(place, offset),
        lambda: consumer.plan_assignment(place),
    )
    group.commits = commits
    return group


def real(broker: Broker) -> Group:
    topic = f"t{uuid.uuid4().hex[:10]}"
    broker.create_topic(topic, 1)
    config = KafkaInputConfig(
        id="k", hosts=(broker.bootstrap,), topics=(topic,), group_id=topic, rebalance=RebalanceConfig(timeout=PATIENCE)
    )
    made = clients(config)
    producer = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    commits: list[KafkaError | None] = []
    consumer = made.consumer(lambda error: None, lambda error, offsets: commits.append(error))

    def write(value: bytes) -> None:
        producer.produce(topic, value)
        producer.flush(PATIENCE)

    def delete_before(offset: int) -> None:
        admin = broker.admin()  # kept: without it there is no answer
        for future in admin.delete_records([TopicPartition(topic, 0, offset)]).values():
            future.result(PATIENCE)

    group = Group(consumer, made.topic_lookup(), (topic, 0), write, delete_before, lambda: None)
    group.commits = commits
    return group


@pytest.fixture(params=["fake", pytest.param("real", marks=pytest.mark.kafka)])
def group(request: pytest.FixtureRequest) -> Iterator[Group]:
    made = memory() if request.param == "fake" else real(request.getfixturevalue("kafka_broker"))
    yield made
    made.consumer.close()


def test_records_come_in_order_and_then_the_end_is_reported(group: Group) -> None:
    group.write(b"one")
    group.write(b"two")
    group.begin(0)
    assert group.value(b"one").offset() == 0
    assert group.value(b"two").offset() == 1
    assert group.event(KafkaError._PARTITION_EOF).offset() == 2
    assert group.assigned == [group.place]
    group.write(b"three")
    assert group.value(b"three").offset() == 2


def test_an_offset_that_is_missing_is_an_error_and_an_assignment_resumes(group: Group) -> None:
    for number in range(5):
        group.write(b"%d" % number)
    group.delete_before(3)
    group.begin(1)
    message = group.event(KafkaError._AUTO_OFFSET_RESET)
    assert (message.topic(), message.partition()) == group.place
    assert bounds(group.consumer, group.place) == (3, 5)
    group.consumer.assign([TopicPartition(*group.place, 3)])
    assert group.value(b"3").offset() == 3


def test_a_commit_is_answered_within_poll_and_found_again(group: Group) -> None:
    group.write(b"one")
    group.begin(0)
    group.value(b"one")
    (before,) = group.consumer.committed([TopicPartition(*group.place)], timeout=PATIENCE)
    assert before.offset < 0
    group.consumer.commit(offsets=[TopicPartition(*group.place, 1)], asynchronous=True)
    group.await_commit()
    assert group.commits == [None]
    (after,) = group.consumer.committed([TopicPartition(*group.place)], timeout=PATIENCE)
    assert after.offset == 1


def test_what_is_committed_beside_an_offset_is_found_again_and_replaced(group: Group) -> None:
    group.write(b"one")
    group.begin(0)
    group.value(b"one")
    for metadata in ("3,5", ""):
        group.consumer.commit(offsets=[TopicPartition(*group.place, 1, metadata)], asynchronous=False)
        (after,) = group.consumer.committed([TopicPartition(*group.place)], timeout=PATIENCE)
        assert (after.offset, after.metadata or "") == (1, metadata)


@pytest.mark.kafka
def test_what_a_call_raises_within_a_callback_is_raised_by_poll(kafka_broker: Broker) -> None:
    group = real(kafka_broker)

    nowhere = TopicPartition(group.place[0], 7)  # not in the topic

    def assigned(consumer: Any, partitions: list[TopicPartition]) -> None:
        consumer.get_watermark_offsets(nowhere, timeout=PATIENCE)

    group.subscribe(raised_by_poll(assigned))
    with pytest.raises(KafkaException) as raised:
        group.poll_until(lambda message: False)
    assert raised.value.args[0].code() == KafkaError._UNKNOWN_PARTITION
    group.consumer.close()


@pytest.mark.kafka
def test_what_a_transaction_commits_beside_an_offset_is_found_again(kafka_broker: Broker) -> None:
    group = real(kafka_broker)
    group.write(b"one")
    group.begin(0)
    group.value(b"one")
    settings = {"bootstrap.servers": kafka_broker.bootstrap, "transactional.id": group.place[0], "log_level": 0}
    producer = Producer(settings)
    producer.init_transactions(PATIENCE)
    producer.begin_transaction()
    targets = [TopicPartition(*group.place, 1, "3,5")]
    producer.send_offsets_to_transaction(targets, group.consumer.consumer_group_metadata(), PATIENCE)
    producer.commit_transaction(PATIENCE)
    deadline = time.monotonic() + PATIENCE  # what reads uncommitted records is not made to wait for the offset
    (after,) = group.consumer.committed([TopicPartition(*group.place)], timeout=PATIENCE)
    while after.offset < 0 and time.monotonic() < deadline:
        (after,) = group.consumer.committed([TopicPartition(*group.place)], timeout=PATIENCE)
    group.consumer.close()
    assert (after.offset, after.metadata) == (1, "3,5")


def test_more_than_the_broker_keeps_beside_an_offset_is_refused_with_the_offset(group: Group) -> None:
    group.write(b"one")
    group.begin(0)
    group.value(b"one")
    group.consumer.commit(offsets=[TopicPartition(*group.place, 1, "x" * 5000)], asynchronous=True)
    group.await_commit()
    assert [error and error.code() for error in group.commits] == [KafkaError.OFFSET_METADATA_TOO_LARGE]
    (after,) = group.consumer.committed([TopicPartition(*group.place)], timeout=PATIENCE)
    assert after.offset < 0


def test_a_paused_partition_gives_nothing_until_it_is_resumed(group: Group) -> None:
    group.write(b"one")
    group.begin(0)
    group.value(b"one")
    group.consumer.pause([TopicPartition(*group.place)])
    group.write(b"two")
    deadline = time.monotonic() + 0.3
    while time.monotonic() < deadline:
        message = group.consumer.poll(0.05)
        assert message is None or message.error() is not None
    group.consumer.resume([TopicPartition(*group.place)])
    assert group.value(b"two").offset() == 1


def test_a_topic_has_an_id(group: Group) -> None:
    assert group.topic_lookup.look_up([group.place[0]])[group.place[0]]
