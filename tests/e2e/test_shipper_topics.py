"""Topics that depend on the event: the real process against a real broker."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import ResourceType  # type: ignore[attr-defined]  # public, but imported there without `as`

from demo.broker import Broker
from tests.e2e.rights import forbid_writing
from tests.e2e.running import Agent, Topic

pytestmark = pytest.mark.kafka


def messages(broker: Broker, name: str, count: int) -> list[str]:
    """Return those in a topic, of which there are so many, in order."""
    with closing(Topic(broker, name)) as topic:
        topic.await_records(count)
        return [record.value["message"] for record in topic.records]


def test_each_event_goes_to_the_topic_that_it_asks_for(agent: Agent, kafka_broker: Broker, topic_name: str) -> None:
    for suffix in ("web", "errors", "other"):
        kafka_broker.create_topic(f"{topic_name}-{suffix}", 2)
    agent.send_to(
        parsers=[{"ndjson": {"target": "", "message_key": "message", "overwrite_keys": True}}],
        topic=f"{topic_name}-%{{[app]:other}}",
        topics=[{"topic": f"{topic_name}-errors", "when.contains.message": "ERROR"}],
    )
    agent.append(
        *(
            json.dumps({"message": message, **({"app": app} if app else {})})
            for message, app in [
                ("1", "web"),
                ("2 ERROR", "web"),
                ("3", ""),
                ("4", "web"),
                ("5 ERROR", ""),
                ("6", "other"),
            ]
        )
    )
    assert agent.once() == 0
    assert messages(kafka_broker, f"{topic_name}-web", 2) == ["1", "4"]
    assert messages(kafka_broker, f"{topic_name}-errors", 2) == ["2 ERROR", "5 ERROR"]
    assert messages(kafka_broker, f"{topic_name}-other", 2) == ["3", "6"]


def test_an_event_without_a_topic_is_a_dead_letter_with_the_reason(
    agent: Agent, kafka_broker: Broker, topic_name: str
) -> None:
    kafka_broker.create_topic(f"{topic_name}-web", 2)
    agent.send_to(parsers=[{"ndjson": {"target": ""}}], topic=f"{topic_name}-%{{[app]}}")
    agent.append('{"message": "a", "app": "web"}', '{"message": "b", "app": "no/topic"}', '{"message": "c"}')
    assert agent.once() == 3
    assert messages(kafka_broker, f"{topic_name}-web", 1) == ["a"]
    letters = [json.loads(line) for line in (agent.data / "dead_letter.ndjson").read_text().splitlines()]
    assert [(letter["topic"], letter["reason"].partition(" is not a valid")[0]) for letter in letters] == [
        ("", f"'{topic_name}-no/topic'"),
        ("", "the event has no field app"),
    ]


def test_a_topic_that_does_not_exist_holds_up_only_the_files_whose_events_it_is_for(
    agent: Agent, kafka_broker: Broker, topic_name: str
) -> None:
    kafka_broker.create_topic(f"{topic_name}-web", 2)
    missing = f"{topic_name}-missing"
    agent.send_to(topic=f"{topic_name}-web", topics=[{"topic": missing, "when.contains": {"log.file.path": "bad.log"}}])
    agent.append("held up", path=agent.logs / "bad.log")
    agent.start()
    agent.await_log(f"Kafka (topic {missing} at {kafka_broker.bootstrap}): the topic does not exist; create it")
    agent.append("one", "two")
    assert messages(kafka_broker, f"{topic_name}-web", 2) == ["one", "two"]
    kafka_broker.create_topic(missing, 2)
    assert messages(kafka_broker, missing, 1) == ["held up"]
    assert agent.stop() == 0


def rules(topic: str, other: str) -> dict[str, Any]:
    """Return options that send what is in `bad.log` to another topic."""
    return {"topic": topic, "topics": [{"topic": other, "when.contains": {"log.file.path": "bad.log"}}]}


def test_a_topic_that_is_missing_does_not_fill_the_queue_whatever_waits_for_it(
    agent: Agent, kafka_broker: Broker, topic_name: str
) -> None:
    good, missing = f"{topic_name}-good", f"{topic_name}-missing"
    kafka_broker.create_topic(good, 2)
    agent.settings = {"queue.mem.bytes": "8MiB"}
    pad = "x" * 1000
    agent.send_to(**rules(good, missing))
    agent.append(*(f"waiting {number} {pad}" for number in range(20_000)), path=agent.logs / "bad.log")
    agent.start()
    agent.await_log(f"Kafka (topic {missing} at {kafka_broker.bootstrap}): the topic does not exist; create it")
    agent.append(*(f"line {number} {pad}" for number in range(10_000)))
    assert messages(kafka_broker, good, 10_000) == [f"line {number} {pad}" for number in range(10_000)]
    kafka_broker.create_topic(missing, 2)
    assert messages(kafka_broker, missing, 20_000) == [f"waiting {number} {pad}" for number in range(20_000)]
    assert agent.stop() == 0


def test_a_topic_that_is_deleted_holds_up_its_own_files_until_it_is_there_again(
    agent: Agent, kafka_broker: Broker, topic_name: str
) -> None:
    good, deleted = f"{topic_name}-good", f"{topic_name}-deleted"
    kafka_broker.create_topic(good, 2)
    kafka_broker.create_topic(deleted, 2)
    agent.send_to(**rules(good, deleted))
    agent.append("before", path=agent.logs / "bad.log")
    agent.start()
    assert messages(kafka_broker, deleted, 1) == ["before"]
    kafka_broker.delete_topic(deleted)
    agent.append("after", path=agent.logs / "bad.log")
    agent.await_log(f"Kafka (topic {deleted} at {kafka_broker.bootstrap}): the topic does not exist; create it")
    agent.append("one", "two")
    assert messages(kafka_broker, good, 2) == ["one", "two"]
    kafka_broker.create_topic(deleted, 2)
    assert messages(kafka_broker, deleted, 1) == ["after"]
    assert agent.stop() == 0


def test_a_topic_without_the_right_to_write_holds_up_its_own_files_until_it_is_given(
    guarded_broker: Broker, topic_name: str, tmp_path: Path
) -> None:
    good, forbidden = f"{topic_name}-good", f"{topic_name}-forbidden"
    guarded_broker.create_topic(good, 2)
    guarded_broker.create_topic(forbidden, 2)
    allow = forbid_writing(guarded_broker, ResourceType.TOPIC, forbidden)
    agent = Agent(tmp_path / "agent", guarded_broker.bootstrap, topic_name)
    try:
        agent.send_to(**rules(good, forbidden))
        agent.append("held up", path=agent.logs / "bad.log")
        agent.start()
        agent.await_log(
            f"Kafka (topic {forbidden} at {guarded_broker.bootstrap}): not authorized to write to the topic; grant"
        )
        agent.append("one", "two")
        assert messages(guarded_broker, good, 2) == ["one", "two"]
        allow()
        assert messages(guarded_broker, forbidden, 1) == ["held up"]
        assert agent.stop() == 0
    finally:
        agent.end()
