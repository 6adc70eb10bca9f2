"""How a run ends: exit codes, signals, and what is logged about it."""

import random
import signal
import time

import orjson
import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # public, but imported there without `as`
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
)

from demo.broker import Broker
from log_shipper.registry.load import read
from tests.capabilities import UNPRIVILEGED
from tests.e2e.running import PATIENCE, Agent, LiveWriter, Topic, await_true, expect_soon, frozen
from tests.service_manager import ServiceManager

pytestmark = pytest.mark.kafka


def test_once_exits_0_after_all_is_delivered_a_last_line_without_end_included(agent: Agent, topic: Topic) -> None:
    agent.path.write_bytes(b"whole\nno line end")

    assert agent.once() == 0

    topic.await_records(2)
    assert [record.value["message"] for record in topic.records] == ["whole", "no line end"]


def test_once_exits_1_for_a_glob_that_matches_nothing_and_delivers_all_else(agent: Agent, topic: Topic) -> None:
    agent.append("delivered all the same")
    nothing = str(agent.logs / "*.nothing")
    agent.configure(paths=[str(agent.path), nothing])

    assert agent.once() == 1

    topic.expect(agent.path)
    assert f"not finished: {nothing}: matches no file" in agent.log


def test_once_exits_1_for_a_file_without_permission_and_delivers_all_else(agent: Agent, topic: Topic) -> None:
    agent.append("delivered all the same")
    secret = agent.logs / "secret.log"
    agent.append("not for us", path=secret)
    secret.chmod(0)

    assert agent.once(before=UNPRIVILEGED) == 1

    topic.expect(agent.path)
    assert f"not finished: {secret}: cannot be opened: Permission denied" in agent.log
    assert len(topic.records) == 1


def limit_requests(broker: Broker, topic: Topic, size: int, **others: int) -> None:
    """`others` are further settings of the topic, with an underscore for each dot."""
    settings = {"max.message.bytes": size} | {name.replace("_", "."): value for name, value in others.items()}
    limits = [
        ConfigEntry(name, str(value), incremental_operation=AlterConfigOpType.SET) for name, value in settings.items()
    ]
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic.name, incremental_configs=limits)
    admin = broker.admin()
    admin.incremental_alter_configs([resource])[resource].result(PATIENCE)


def test_an_event_the_topic_refuses_is_dead_lettered_alone_and_once_exits_3(
    agent: Agent, topic: Topic, kafka_broker: Broker
) -> None:
    limit_requests(kafka_broker, topic, 20_000)
    random_text = random.Random(1).randbytes(30_000).hex()  # it does not compress below the limit
    agent.append(*(f"before {n}" for n in range(500)), random_text, *(f"after {n}" for n in range(500)))

    assert agent.once() == 3

    expected = [f"before {n}" for n in range(500)] + [f"after {n}" for n in range(500)]
    topic.read_to_end()
    got = sorted(topic.life_of(agent.path.stat().st_ino).items())  # by offset: see the test of requests below
    assert [value["message"] for _, value in got] == expected
    (letter,) = map(orjson.loads, (agent.data / "dead_letter.ndjson").read_bytes().splitlines())
    assert letter["message"] == random_text
    assert (letter["topic"], letter["path"]) == (topic.name, str(agent.path))
    (state,) = read(agent.data / "registry").values()
    assert state.position == agent.path.stat().st_size


def test_an_event_that_fits_no_segment_of_the_topic_is_dead_lettered_alone(
    agent: Agent, topic: Topic, kafka_broker: Broker
) -> None:
    smallest = 1024 * 1024  # Kafka takes no less
    limit_requests(kafka_broker, topic, 4 * smallest, segment_bytes=smallest)
    random_text = (
        random.Random(3).randbytes(smallest).hex()
    )  # two megabytes, of which no compression makes less than one
    lines = [f"before {n}" for n in range(500)], [f"after {n}" for n in range(500)]
    agent.append(*lines[0], random_text, *lines[1])

    assert agent.once("-E", "output.kafka.max_message_bytes=4MiB") == 3

    topic.read_to_end()
    got = sorted(topic.life_of(agent.path.stat().st_ino).items())
    assert [value["message"] for _, value in got] == lines[0] + lines[1]
    (letter,) = map(orjson.loads, (agent.data / "dead_letter.ndjson").read_bytes().splitlines())
    assert letter["message"] == random_text
    assert "larger than configured server segment size" in letter["reason"]
    assert "a request exceeds the topic's segment.bytes" in agent.log
    (state,) = read(agent.data / "registry").values()
    assert state.position == agent.path.stat().st_size


def test_sigterm_delivers_what_was_read_saves_and_exits_0(agent: Agent, topic: Topic) -> None:
    agent.start("-E", f"shipper.shutdown_timeout={PATIENCE - 10:.0f}s")
    with LiveWriter(agent.path):
        topic.await_records(100)
        assert agent.stop() == 0
    (state,) = read(agent.data / "registry").values()
    topic.read_to_end()
    last = topic.records[-1].value["log"]

    assert state.position == last["offset"] + last["length"], "acknowledged, but not saved"
    assert "stopped: " in agent.log


def test_sigterm_without_a_broker_ends_after_the_shutdown_timeout_and_logs_what_waits(
    agent: Agent, topic: Topic, kafka_broker: Broker
) -> None:
    agent.append("cannot be delivered now")
    with frozen(kafka_broker):

        def stop() -> float:
            seen = agent.log.count("started: ")
            agent.start("-E", "shipper.shutdown_timeout=1s")
            await_true(lambda: agent.log.count("started: ") > seen, "it has started")
            agent.await_events()
            began = time.monotonic()
            assert agent.stop() == 0
            return time.monotonic() - began

        expect_soon(4, stop)
    assert "stopped with unacknowledged events; they will be sent again after the next start" in agent.log

    assert agent.once() == 0
    topic.expect(agent.path)


def test_a_second_signal_ends_the_agent_immediately(agent: Agent, topic: Topic, kafka_broker: Broker) -> None:
    agent.append("cannot be delivered now")
    with ServiceManager() as manager, frozen(kafka_broker):
        agent.start("-E", f"shipper.shutdown_timeout={2 * PATIENCE:.0f}s", before=manager.command)
        agent.await_events()
        agent.process.send_signal(signal.SIGTERM)
        manager.await_report("STOPPING=1")  # two signals that came before it has seen the first would be one
        time.sleep(0.5)
        assert agent.process.poll() is None, "it should still be waiting for the broker"
        agent.process.send_signal(signal.SIGTERM)
        assert agent.wait() == 128 + signal.SIGTERM


def test_credentials_that_the_broker_refuses_are_logged_in_plain_words_within_seconds(
    agent: Agent, topic: Topic
) -> None:
    agent.append("kept")
    agent.start("-E", "output.kafka.username=us", "-E", "output.kafka.password=wrong")

    agent.await_log("Events are kept and sent when it works again; nothing is lost", timeout=PATIENCE / 2)

    assert topic.name in agent.log
    assert agent.stop() == 0


def test_no_line_is_dead_lettered_for_the_size_of_what_it_travelled_with(
    agent: Agent, topic: Topic, kafka_broker: Broker
) -> None:
    """The limit is on requests, and the client puts lines of many files into one."""
    limit_requests(kafka_broker, topic, 20_000)
    dice = random.Random(2)
    files = [agent.logs / f"{number}.log" for number in range(8)]
    for path in files:
        agent.append(*(dice.randbytes(60).hex() for _ in range(1500)), path=path)

    assert agent.once() == 0

    for path in files:
        # The client sends the next request before it knows that one is refused, and the broker takes it: then
        # readers must go by the offsets.
        topic.expect(path, in_order=False)
    assert "a request exceeds the topic's max.message.bytes" in agent.log
