"""What a record consists of, by the options of output.kafka: the real process against a real broker."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Consumer, Message, TopicPartition

from demo.broker import Broker
from tests.e2e.running import Agent, await_true

pytestmark = pytest.mark.kafka

NDJSON = [{"ndjson": {"target": "", "message_key": "message", "overwrite_keys": True}}]
PARTITIONS = 4

Arrived = Callable[[int], list[Message]]


@pytest.fixture
def arrived(kafka_broker: Broker, topic_name: str) -> Any:
    """Return a function that waits for so many records of the topic, and returns them in the order of each
    partition."""
    kafka_broker.create_topic(topic_name, PARTITIONS)
    consumer = Consumer({"bootstrap.servers": kafka_broker.bootstrap, "group.id": topic_name, "log_level": 0})
    consumer.assign([TopicPartition(topic_name, number, 0) for number in range(PARTITIONS)])
    records: list[Message] = []

    def await_records(count: int) -> list[Message]:
        def enough() -> bool:
            records.extend(record for record in consumer.consume(10_000, 0.1) if record.error() is None)
            return len(records) >= count

        await_true(enough, f"{count} records in {topic_name}")
        return records

    yield await_records
    consumer.close()


def event(record: Message) -> dict[str, Any]:
    return json.loads(record.value() or b"")  # type: ignore[no-any-return]  # JSON


def test_a_key_is_of_the_event_and_the_file_id_where_it_has_none(agent: Agent, arrived: Arrived) -> None:
    agent.kafka = {"key": "%{[user]}"}
    agent.configure(parsers=NDJSON)
    agent.append(*(json.dumps({"message": str(number), "user": f"u{number % 3}"}) for number in range(30)))
    agent.append('{"message": "without"}')
    assert agent.once() == 0
    messages: dict[str, list[str]] = {}
    partitions: dict[str, set[int | None]] = {}
    for record in arrived(31):
        key = (record.key() or b"").decode()
        messages.setdefault(key, []).append(event(record)["message"])
        partitions.setdefault(key, set()).add(record.partition())
        file_id = event(record)["log"]["file"]["id"]
    assert messages == {
        **{f"u{user}": [str(number) for number in range(user, 30, 3)] for user in range(3)},
        file_id: ["without"],
    }
    assert {len(numbers) for numbers in partitions.values()} == {1}
