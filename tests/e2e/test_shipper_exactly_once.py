"""`delivery: exactly_once`: what a consumer with read_committed sees, whatever is killed."""

import random
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import orjson
import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # public, but imported there without `as`
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from demo.broker import Broker
from tests.e2e.rights import forbid_writing
from tests.e2e.running import PATIENCE, Agent, LiveWriter, Topic, frozen, live_log, stopped

pytestmark = pytest.mark.kafka


@pytest.fixture
def agent(agent: Agent) -> Agent:
    agent.kafka = {"delivery": "exactly_once"}
    agent.configure()
    return agent


@contextmanager
def suspended(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Suspend the process, as the migration of a virtual machine does."""
    process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        process.send_signal(signal.SIGCONT)


def expect_once(topic: Topic, path: Path) -> None:
    """All lines of the file are there, in order, and none twice."""
    topic.expect(path)
    topic.read_to_end()
    assert len(topic.records) == sum(map(len, topic.lives.values()))


def test_each_line_is_committed_once(agent: Agent, topic: Topic) -> None:
    agent.append("one", "two")
    assert agent.once() == 0
    agent.append("three")
    assert agent.once() == 0
    expect_once(topic, agent.path)


def test_lines_come_once_through_a_kill(agent: Agent, topic: Topic) -> None:
    with LiveWriter(agent.path, 3000):
        for _ in range(4):
            agent.start()
            seen = len(topic.records)
            topic.await_records(seen + random.Random(seen).randrange(1, 4000))
            agent.kill()
        agent.start()
    expect_once(topic, agent.path)
    assert agent.stop() == 0


def test_lines_come_once_through_a_broker_that_stops_and_one_that_hangs(
    agent: Agent, topic: Topic, kafka_broker: Broker
) -> None:
    with live_log(agent, topic):
        with stopped(kafka_broker):
            time.sleep(2)
        with frozen(kafka_broker):
            time.sleep(2)
    expect_once(topic, agent.path)


def test_a_transaction_that_the_broker_has_ended_for_its_age_is_repeated(
    agent: Agent, topic: Topic, kafka_broker: Broker
) -> None:
    agent.kafka["librdkafka"] = {"transaction.timeout.ms": 1500}
    agent.configure()
    agent.start()
    agent.append("one")
    topic.await_records(1)
    with suspended(agent.process):
        agent.append("two")
        time.sleep(0.5)
    with LiveWriter(agent.path), suspended(agent.process):
        time.sleep(4)
    expect_once(topic, agent.path)
    assert agent.stop() == 0


def test_a_second_shipper_with_the_same_id_ends_the_first_which_names_it(
    agent: Agent, topic: Topic, kafka_broker: Broker, tmp_path: Path
) -> None:
    agent.kafka["transaction"] = {"id": f"id-{topic.name}"}
    agent.configure()
    agent.start()
    agent.append("one")
    topic.await_records(1)
    second = Agent(tmp_path / "second", kafka_broker.bootstrap, topic.name)
    second.kafka = agent.kafka
    second.configure()
    second.start()
    second.await_log("started")
    agent.append("two")
    try:
        assert agent.wait() == 1
        assert f"process {second.process.pid} on host" in agent.log
        assert "transactional id" in agent.log
        second.append("three")
        topic.await_records(2)
        assert second.stop() == 0
    finally:
        second.end()
    assert [record.value["message"] for record in topic.records] == ["one", "three"]


def test_without_a_registry_the_positions_in_kafka_count(agent: Agent, topic: Topic) -> None:
    agent.append("one", "two")
    assert agent.once() == 0
    shutil.rmtree(agent.data / "registry")
    agent.append("three")
    assert agent.once() == 0
    expect_once(topic, agent.path)
    assert "resume at positions committed in Kafka; the registry is new" in agent.log


def test_an_agent_that_waits_for_kafka_ends_at_a_signal(agent: Agent, kafka_broker: Broker) -> None:
    with stopped(kafka_broker):
        agent.start()
        agent.await_log("connection lost or refused")
        assert agent.stop() == 0


def test_a_topic_whose_positions_would_be_deleted_is_refused(agent: Agent, topic: Topic, kafka_broker: Broker) -> None:
    name = f"{topic.name}-positions"
    kafka_broker.create_topic(name, 1)
    agent.kafka["transaction"] = {"topic": name}
    agent.configure()
    assert agent.once() == 1
    assert f"topic {name} has cleanup.policy=delete" in agent.log


def test_a_record_that_the_broker_refuses_goes_to_the_dead_letter_and_the_others_are_committed(
    agent: Agent, topic: Topic, kafka_broker: Broker
) -> None:
    limited = ConfigResource(ResourceType.TOPIC, topic.name, incremental_configs=[])
    limited.add_incremental_config(
        ConfigEntry("max.message.bytes", "3000", incremental_operation=AlterConfigOpType.SET)
    )
    admin = kafka_broker.admin()
    admin.incremental_alter_configs([limited])[limited].result(PATIENCE)
    noise = "".join(random.Random(1).choices("abcdefghijklmnopqrstuvwxyz0123456789", k=9000))
    lines = [f"line {number}" for number in range(200)]
    agent.append(*lines[:100], noise, *lines[100:])
    assert agent.once() == 3
    topic.read_to_end()
    assert [record.value["message"] for record in topic.records] == lines
    (letter,) = (agent.data / "dead_letter.ndjson").read_text().splitlines()
    assert orjson.loads(letter)["message"] == noise


def test_the_check_of_the_output_looks_at_the_topic_of_positions_and_changes_nothing(
    agent: Agent, topic: Topic, kafka_broker: Broker
) -> None:
    name = f"{topic.name}-positions"
    agent.kafka["transaction"] = {"topic": name}
    agent.configure()
    assert agent.check_output() == 0
    assert f"positions in topic {name}: does not exist, can be created... OK" in agent.log
    agent.append("one")
    assert agent.once() == 0
    assert agent.check_output() == 0
    assert f"positions in topic {name}: compacted, can be read... OK" in agent.log


def test_the_check_of_the_output_names_what_is_wrong_with_the_topic_of_positions(agent: Agent, topic: Topic) -> None:
    agent.kafka["transaction"] = {"topic": topic.name}
    agent.configure()
    assert agent.check_output() == 1
    assert "has cleanup.policy=delete" in agent.log


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (ResourceType.TRANSACTIONAL_ID, "not authorized for the transactional id; grant the user Write"),
        (ResourceType.TOPIC, "not authorized to write to the topic"),
    ],
    ids=["id", "topic"],
)
def test_without_a_right_it_waits_and_logs_which_until_it_is_given(
    guarded_broker: Broker, topic_name: str, tmp_path: Path, kind: ResourceType, words: str
) -> None:
    guarded_broker.create_topic(topic_name, 2)
    allow = forbid_writing(guarded_broker, kind, topic_name)
    agent = Agent(tmp_path / "agent", guarded_broker.bootstrap, topic_name)
    agent.kafka = {"delivery": "exactly_once", "transaction": {"id": topic_name}, "backoff.max": "1s"}
    agent.configure()
    try:
        agent.append("one", "two")
        agent.start()
        agent.await_log(words)
        allow()
        with closing(Topic(guarded_broker, topic_name)) as topic:
            expect_once(topic, agent.path)
        assert agent.stop() == 0
    finally:
        agent.end()


@pytest.mark.slow("as the test of topics with at_least_once")
def test_a_topic_that_is_deleted_is_reported_and_its_lines_wait(
    agent: Agent, topic: Topic, topic_name: str, kafka_broker: Broker
) -> None:
    agent.append("before")
    agent.start()
    topic.await_message("before")
    kafka_broker.delete_topic(topic_name)
    agent.append("after")
    agent.await_log("the topic does not exist; create it")
    kafka_broker.create_topic(topic_name, 2)
    with closing(Topic(kafka_broker, topic_name)) as again:
        again.await_message("after")
    assert agent.stop() == 0
