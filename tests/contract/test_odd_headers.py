"""A record whose header has a name that is not UTF-8, by the real client, as the input `kafka` and the sink read it."""

import time
import uuid
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, Message, TopicPartition

from demo.broker import Broker
from log_shipper.runtime.kafka.headers import take_out_unreadable_headers
from log_shipper.spark_sink.kafka.offset_ranges import OffsetRange
from log_shipper.spark_sink.landing.kafka_reader import records_of
from tests import odd_headers

pytestmark = pytest.mark.kafka
PATIENCE = 60.0


@pytest.fixture
def messages(kafka_broker: Broker) -> Iterator[list[Message]]:
    topic = f"t{uuid.uuid4().hex[:10]}"
    kafka_broker.create_topic(topic, 1)
    for number, name in enumerate((b"name", b"\xff\xfe")):
        odd_headers.produce(kafka_broker.bootstrap, topic, b"%d" % number, (name, b"\x00\xff"))
    consumer = Consumer({"bootstrap.servers": kafka_broker.bootstrap, "group.id": topic, "log_level": 0})
    consumer.assign([TopicPartition(topic, 0, 0)])
    messages: list[Message] = []
    deadline = time.monotonic() + PATIENCE
    while len(messages) < 2 and time.monotonic() < deadline:
        messages += [message for message in consumer.consume(2, 0.5) if message.error() is None]
    yield messages
    consumer.close()


def test_a_header_whose_name_is_not_utf_8_is_taken_out_and_others_are_not(messages: list[Message]) -> None:
    assert [take_out_unreadable_headers(message) for message in messages] == [False, True]
    assert [message.headers() for message in messages] == [[("name", b"\x00\xff")], []]


def test_the_sink_reads_such_a_record_without_its_headers(messages: list[Message]) -> None:
    records = records_of(OffsetRange(messages[0].topic() or "", 0, 0, 2), messages)
    assert records.values == [b"0", b"1"]
    assert list(records.headers) == [[("name", b"\x00\xff")], None]
