"""Ranges of offsets, read from a real broker."""

import time
from collections.abc import Iterator
from statistics import median

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.cimpl import TopicPartition

from demo.broker import Broker
from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.kafka import client
from log_shipper.spark_sink.kafka.lost import LostRange
from log_shipper.spark_sink.kafka.offset_ranges import OffsetRange
from log_shipper.spark_sink.kafka.range_reader import RangeReader
from log_shipper.spark_sink.options.kafka import KafkaSource
from tests.e2e.running import PATIENCE
from tests.e2e.sinking import send

pytestmark = pytest.mark.kafka


@pytest.fixture
def topic(kafka_broker: Broker, topic_name: str) -> str:
    kafka_broker.create_topic(topic_name, 2)
    return topic_name


@pytest.fixture
def consumer(kafka_broker: Broker) -> Iterator[Consumer]:
    consumer = client.consumer(client.client_options(KafkaSource(hosts=(kafka_broker.bootstrap,), topics=("unused",))))
    yield consumer
    consumer.close()


def offsets(reader: RangeReader, wanted: OffsetRange) -> list[int]:
    return [message.offset() or 0 for messages in reader.read(wanted) for message in messages]


def transaction(broker: Broker, topic: str, count: int, *, commit: bool) -> None:
    """Send records to partition 0 in a transaction, which ends with a record of Kafka's own."""
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": topic})
    producer.init_transactions()
    producer.begin_transaction()
    for number in range(count):
        producer.produce(topic, str(number), partition=0)
    producer.flush()
    if commit:
        producer.commit_transaction()
    else:
        producer.abort_transaction()


def test_each_record_of_a_range_is_read_and_no_other(kafka_broker: Broker, topic: str, consumer: Consumer) -> None:
    send(kafka_broker.bootstrap, topic, 0, 30)
    send(kafka_broker.bootstrap, topic, 1, 7)
    reader = RangeReader(consumer)
    assert offsets(reader, OffsetRange(topic, 0, 4, 19)) == list(range(4, 19))
    assert offsets(reader, OffsetRange(topic, 1, 0, 7)) == list(range(7))
    assert offsets(reader, OffsetRange(topic, 0, 19, 30)) == list(range(19, 30))
    assert offsets(reader, OffsetRange(topic, 0, 5, 5)) == []
    assert reader.lost == []


def test_what_transactions_leave_out_ends_a_range_and_is_not_lost(
    kafka_broker: Broker, topic: str, consumer: Consumer
) -> None:
    transaction(kafka_broker, topic, 3, commit=True)  # offsets 0 to 2, and its end at 3
    transaction(kafka_broker, topic, 3, commit=False)  # 4 to 6, 7
    reader = RangeReader(consumer)
    assert offsets(reader, OffsetRange(topic, 0, 0, 4)) == [0, 1, 2]
    assert offsets(reader, OffsetRange(topic, 0, 0, 8)) == [0, 1, 2]
    assert offsets(reader, OffsetRange(topic, 0, 4, 8)) == []
    send(kafka_broker.bootstrap, topic, 0, 2)
    assert offsets(reader, OffsetRange(topic, 0, 2, 6)) == [2]
    assert offsets(reader, OffsetRange(topic, 0, 5, 9)) == [8]
    assert reader.lost == []


def test_a_small_range_is_read_as_soon_as_its_records_are_there(
    kafka_broker: Broker, topic: str, consumer: Consumer
) -> None:
    """Ranges of four records, and some whose last offset is the end of a transaction: a batch has as many as it has
    partitions, and they are most of the time until a line is visible. The median: a machine may stand still for a
    moment. The shortest: nothing is waited for, also not the end of the fetch before, in which the broker waits."""
    send(kafka_broker.bootstrap, topic, 1, 200)
    transaction(kafka_broker, topic, 3, commit=True)
    reader = RangeReader(consumer)
    assert offsets(reader, OffsetRange(topic, 1, 0, 4)) == list(range(4))  # the client has connected
    took: dict[int, list[float]] = {0: [], 1: []}
    for start in range(0, 40, 4):
        records = OffsetRange(topic, 1, start, start + 4), list(range(start, start + 4))
        end = OffsetRange(topic, 0, 0, 4), [0, 1, 2]
        for wanted, expected in (records, end):
            began = time.monotonic()
            assert offsets(reader, wanted) == expected
            took[wanted.partition].append(time.monotonic() - began)
    assert max(map(median, took.values())) < 0.2, took
    assert max(map(min, took.values())) < 0.01, took


def test_deleted_records_are_refused_with_the_way_out_or_noted(
    kafka_broker: Broker, topic: str, consumer: Consumer
) -> None:
    send(kafka_broker.bootstrap, topic, 0, 10)
    admin = kafka_broker.admin()
    for done in admin.delete_records([TopicPartition(topic, 0, 6)]).values():
        done.result(PATIENCE)
    with pytest.raises(SinkError, match=r"offsets 2 to 8: records were deleted.*6 to 9 remain.*lost_offsets: continue"):
        offsets(RangeReader(consumer), OffsetRange(topic, 0, 2, 9))
    reader = RangeReader(consumer, may_lose=True)
    assert offsets(reader, OffsetRange(topic, 0, 2, 9)) == [6, 7, 8]
    assert offsets(reader, OffsetRange(topic, 0, 1, 4)) == []
    assert reader.lost == [LostRange(topic, 0, 2, 5), LostRange(topic, 0, 1, 3)]


def test_a_range_behind_the_end_of_the_partition_is_refused(
    kafka_broker: Broker, topic: str, consumer: Consumer
) -> None:
    send(kafka_broker.bootstrap, topic, 0, 5)
    # An hour passes when the end is known, and not while the broker is asked for it.
    reader = RangeReader(consumer, clock=lambda: 0.0 if reader._ended_at is None else 3600.0)
    with pytest.raises(SinkError, match="the partition now ends at 5, before the end of the planned batch"):
        offsets(reader, OffsetRange(topic, 0, 3, 8))
    with pytest.raises(SinkError, match="offsets 0 to 4 remain"):
        offsets(RangeReader(consumer), OffsetRange(topic, 0, 9, 12))


def test_a_topic_that_is_deleted_is_refused_or_its_range_is_lost(
    kafka_broker: Broker, topic: str, consumer: Consumer
) -> None:
    missing = f"{topic}-none"
    with pytest.raises(SinkError, match="the topic does not exist any more"):
        offsets(RangeReader(consumer), OffsetRange(missing, 0, 0, 4))
    reader = RangeReader(consumer, may_lose=True)
    assert offsets(reader, OffsetRange(missing, 0, 0, 4)) == []
    assert reader.lost == [LostRange(missing, 0, 0, 3)]


def test_a_consumer_that_gets_no_answer_is_not_waited_for_for_ever(topic_name: str) -> None:
    consumer = Consumer({"bootstrap.servers": "127.0.0.1:1", "group.id": "not-used", "log_level": 0})
    with pytest.raises(SinkError, match=r"topic .*, offsets 0 to 4: no response from Kafka for 1 s"):
        offsets(RangeReader(consumer, patience=1.0), OffsetRange(topic_name, 0, 0, 5))
    consumer.close()
