"""What a record consists of, by the options of output.kafka: the real process against a real broker."""

import json
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from confluent_kafka import TIMESTAMP_CREATE_TIME, Consumer, Message, Producer, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # public, but imported there without `as`
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
)

from demo.broker import Broker
from log_shipper.shipper.outputs.partitioning import fnv1a
from tests.e2e.running import PATIENCE, Agent, await_true, lines_of
from tests.e2e.sinking import SinkLab

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


def headers(record: Message) -> dict[str, str]:
    values = dict(record.headers() or [])
    return {name: value.decode() for name, value in values.items() if isinstance(value, bytes)}


def test_a_text_is_the_line_and_its_place_is_in_the_headers(agent: Agent, arrived: Arrived) -> None:
    agent.kafka = {"codec.format.string": "%{[message]}", "headers": [{"key": "source", "value": "web"}]}
    agent.configure()
    agent.append("first", 'é "second"', "{}")
    assert agent.once() == 0
    records = arrived(3)
    assert [(record.value() or b"").decode() for record in records] == ["first", 'é "second"', "{}"]
    file_id = (records[0].key() or b"").decode()
    for record, (offset, length) in zip(records, [(0, 6), (6, 12), (18, 3)], strict=True):
        named = headers(record)
        moment = named.pop("@timestamp")
        assert abs(datetime.fromisoformat(moment).timestamp() - record.timestamp()[1] / 1000) < 60
        assert named.pop("host.name")
        assert named == {
            "log.file.id": file_id,
            "log.file.path": str(agent.path),
            "log.offset": str(offset),
            "log.length": str(length),
            "source": "web",
        }


def test_an_event_without_a_text_is_a_dead_letter_and_the_others_arrive(agent: Agent, arrived: Arrived) -> None:
    agent.kafka = {"codec.format.string": "%{[user]}: %{[message]}"}
    agent.configure(parsers=NDJSON)
    agent.append('{"message": "a", "user": "u"}', '{"message": "b"}', '{"message": "c", "user": "v"}')
    assert agent.once() == 3
    assert [record.value() for record in arrived(2)] == [b"u: a", b"v: c"]
    (letter,) = map(json.loads, (agent.data / "dead_letter.ndjson").read_text().splitlines())
    assert (letter["reason"], letter["topic"], letter["message"]) == (
        "the event has no field user",
        agent.topic,
        "b",
    )


def test_a_text_larger_than_a_record_is_cut_and_flagged(agent: Agent, arrived: Arrived) -> None:
    agent.kafka = {"codec.format.string": "%{[message]}%{[message]}", "max_message_bytes": 5000}
    agent.configure()
    agent.append("x" * 4000, "y")
    assert agent.once() == 0
    long, short = arrived(2)
    assert 3500 < len(long.value() or b"") < 5000
    assert (headers(long)["log.flags"], headers(long)["log.length"]) == ("truncated", "4001")
    assert (short.value(), headers(short).get("log.flags")) == (b"yy", None)


def test_json_in_another_style_is_the_same_event(agent: Agent, arrived: Arrived) -> None:
    agent.kafka = {
        "codec.json": {"pretty": True, "escape_html": True},
        "headers": [{"key": "a", "value": "1"}, {"key": "a", "value": "2"}],
    }
    agent.configure()
    agent.append("<a & b>")
    assert agent.once() == 0
    (record,) = arrived(1)
    assert b"\\u003ca \\u0026 b\\u003e" in (record.value() or b"")
    assert (record.value() or b"").startswith(b"{\n  ")
    assert event(record)["message"] == "<a & b>"
    assert record.headers() == [("a", b"1"), ("a", b"2")]


def in_partitions(records: Sequence[Message]) -> dict[int, list[str]]:
    """Return the messages of each partition, in order."""
    messages: dict[int, list[str]] = {}
    for record in records:
        messages.setdefault(record.partition() or 0, []).append(event(record)["message"])
    return messages


@pytest.mark.parametrize("delivery", ["at_least_once", "exactly_once"])
def test_round_robin_spreads_a_file_evenly_over_the_partitions(agent: Agent, arrived: Arrived, delivery: str) -> None:
    agent.kafka = {"partition.round_robin": {"group_events": 2, "reachable_only": True}, "delivery": delivery}
    agent.configure()
    agent.append(*map(str, range(80)))
    assert agent.once() == 0
    messages = in_partitions(arrived(80))
    assert {len(texts) for texts in messages.values()} == {20}
    assert all(
        int(one) + 1 == int(two)
        for texts in messages.values()
        for one, two in zip(texts[::2], texts[1::2], strict=True)
    )


def test_random_groups_of_records_reach_every_partition(agent: Agent, arrived: Arrived) -> None:
    agent.kafka = {"partition.random.group_events": 10, "headers": [{"key": "a", "value": "b"}]}
    agent.configure()
    agent.append(*map(str, range(2000)))
    assert agent.once() == 0
    messages = in_partitions(arrived(2000))
    assert set(messages) == set(range(PARTITIONS))
    assert {len(texts) % 10 for texts in messages.values()} == {0}


def test_the_hash_of_fields_chooses_the_partition_and_without_them_the_event_is_a_dead_letter(
    agent: Agent, arrived: Arrived
) -> None:
    agent.kafka = {"partition.hash": {"hash": ["user"], "random": False}}
    agent.configure(parsers=NDJSON)
    users = ["a", "b", "foobar", "x", "y"]
    agent.append(*(json.dumps({"message": f"{user} {number}", "user": user}) for number in range(10) for user in users))
    agent.append('{"message": "without"}')
    assert agent.once() == 3
    records = arrived(50)
    partitions = {(event(record)["user"], record.partition()) for record in records}
    assert partitions == {(user, fnv1a(user.encode()) % PARTITIONS) for user in users}
    (letter,) = map(json.loads, (agent.data / "dead_letter.ndjson").read_text().splitlines())
    assert (letter["message"], letter["topic"]) == ("without", agent.topic)


@pytest.mark.parametrize("codec", [{}, {"codec.format.string": "%{[message]}"}])
def test_a_record_has_the_time_of_its_event_where_that_is_asked_for(
    agent: Agent, arrived: Arrived, codec: dict[str, str]
) -> None:
    agent.kafka = {"timestamp": "event", **codec}
    agent.configure(parsers=[{"ndjson": {"target": "", "message_key": "message", "overwrite_keys": True}}])
    recent = datetime.now(UTC).replace(microsecond=123000) - timedelta(hours=1)
    agent.append(json.dumps({"message": "a", "@timestamp": recent.isoformat()}), '{"message": "b"}')
    assert agent.once() == 0
    own, read = arrived(2)
    assert own.timestamp() == (TIMESTAMP_CREATE_TIME, round(recent.timestamp() * 1000))
    if not codec:
        moment = datetime.fromisoformat(event(read)["@timestamp"]).timestamp()
        assert read.timestamp() == (TIMESTAMP_CREATE_TIME, round(moment * 1000))


@pytest.mark.parametrize("delivery", ["at_least_once", "exactly_once"])
def test_an_event_whose_time_the_broker_refuses_has_the_time_of_sending(
    agent: Agent, arrived: Arrived, kafka_broker: Broker, delivery: str
) -> None:
    agent.kafka = {"timestamp": "event", "delivery": delivery}
    agent.configure(parsers=NDJSON)
    resource = ConfigResource(
        ConfigResource.Type.TOPIC,
        agent.topic,
        incremental_configs=[
            ConfigEntry("message.timestamp.before.max.ms", "3600000", incremental_operation=AlterConfigOpType.SET)
        ],
    )
    admin = kafka_broker.admin()
    admin.incremental_alter_configs([resource])[resource].result(PATIENCE)
    old = "2001-01-01T00:00:00.000Z"
    agent.append(
        *(json.dumps({"message": str(number), "@timestamp": old}) for number in range(20)), '{"message": "now"}'
    )
    before = time.time()
    assert agent.once() == 0
    records = arrived(21)
    assert sorted(event(record)["message"] for record in records) == sorted([*map(str, range(20)), "now"])
    assert sum(event(record)["@timestamp"] == old for record in records) == 20
    assert all(record.timestamp()[1] > (before - 5) * 1000 for record in records)


def test_texts_land_in_the_table_once_though_they_are_sent_twice(
    agent: Agent, lab: SinkLab, kafka_broker: Broker, arrived: Arrived
) -> None:
    agent.kafka = {"codec.format.string": "%{[message]}"}
    agent.configure()
    agent.append(*(f"line {number}" for number in range(300)), '{"message": "JSON of the application"}')
    assert agent.once() == 0
    lines = lines_of(agent.path.read_bytes())
    sent = arrived(len(lines))
    again = Producer({"bootstrap.servers": kafka_broker.bootstrap})
    for record in sent[100:]:  # as after kill -9
        again.produce(lab.topic, record.value(), key=record.key(), headers=record.headers())
    again.produce(lab.topic, b"a text of no shipper")
    assert again.flush(PATIENCE) == 0
    lab.start("--available-now")
    assert lab.wait() == 0, lab.log_text()
    file_id = (sent[0].key() or b"").decode()
    assert lab.landed() == [(file_id, *line) for line in lines], lab.log_text()
    assert lab.bad_values() == [(b"a text of no shipper", "not JSON")]
