"""After the shipper or the broker failed under load, every line is in the topic, in order, and repeats are equal."""

import os
import random
import sqlite3
import time
from contextlib import closing

import pytest

from demo.broker import Broker
from log_shipper.registry.load import DATABASE, read
from tests.e2e.running import Agent, LiveWriter, Topic, await_true, frozen, live_log, stopped

pytestmark = pytest.mark.kafka

SEED = 20261121


def test_a_shipper_that_is_killed_again_and_again_loses_no_line(agent: Agent, topic: Topic) -> None:
    dice = random.Random(SEED)
    second = agent.logs / "other.log"
    with LiveWriter(agent.path), LiveWriter(second):
        for _ in range(8):
            agent.start()
            time.sleep(dice.uniform(0.2, 1.6))  # from before the first read to after the first saved position
            agent.kill()
    agent.start()

    topic.expect(agent.path)
    topic.expect(second)
    assert len(topic.lives) == 2
    assert agent.stop() == 0


def test_a_kill_while_the_broker_hangs_loses_no_line(agent: Agent, topic: Topic, kafka_broker: Broker) -> None:
    with live_log(agent, topic), frozen(kafka_broker):
        time.sleep(1)
        agent.kill()
        agent.start()
        time.sleep(1)


@pytest.mark.slow("waits for 20 seconds")
def test_a_broker_that_is_stopped_for_20_s_costs_nothing_but_time(
    agent: Agent, topic: Topic, kafka_broker: Broker
) -> None:
    with live_log(agent, topic):
        with stopped(kafka_broker):
            time.sleep(20)
        assert "Events are kept and sent when it works again; nothing is lost" in agent.log
        # A client that has lost its brokers is replaced after 90 s (STALLED_AFTER).
        agent.await_log("events are delivered again", timeout=150)


def test_a_broker_that_is_killed_under_load_loses_no_line_and_no_order(
    agent: Agent, topic: Topic, kafka_broker: Broker
) -> None:
    with live_log(agent, topic, rate=20_000):
        kafka_broker.kill()
        kafka_broker.start()


def test_a_broker_that_hangs_for_some_seconds_costs_nothing_but_time(
    agent: Agent, topic: Topic, kafka_broker: Broker
) -> None:
    with live_log(agent, topic), frozen(kafka_broker):
        time.sleep(6)


def test_an_unknown_topic_is_logged_in_plain_words_and_waited_for(
    agent: Agent, topic_name: str, kafka_broker: Broker
) -> None:
    agent.append("waiting", "for the topic")
    agent.start()
    agent.await_log(f"(topic {topic_name} at {kafka_broker.bootstrap}): the topic does not exist; create it")

    kafka_broker.create_topic(topic_name, 2)

    topic = Topic(kafka_broker, topic_name)
    try:
        topic.expect(agent.path)
    finally:
        topic.close()
    assert agent.stop() == 0


def test_a_message_is_not_ended_by_time_while_its_next_line_waits_unread(
    agent: Agent, topic: Topic, kafka_broker: Broker
) -> None:
    agent.configure(parsers=[{"multiline": {"pattern": r"^\S", "negate": True, "match": "after", "timeout": "500ms"}}])
    traces = [f"trace {number}\n\tat one\n\tat two {'x' * 100}" for number in range(10_000)]
    agent.append("the first")
    agent.start("-E", "queue.mem.events=50")
    topic.await_records(1)
    with frozen(kafka_broker):
        agent.append(*traces)  # many reads long, and there is room for one in the queue
        time.sleep(2)

    topic.await_message(traces[-1])
    assert [record.value["message"] for record in topic.records] == ["the first", *traces]
    assert agent.stop() == 0


def test_while_positions_cannot_be_saved_known_files_are_read_and_a_new_one_waits(agent: Agent, topic: Topic) -> None:
    new = agent.logs / "new.log"
    agent.append("before")
    agent.start()
    topic.await_records(1)
    await_true(lambda: len(read(agent.data / "registry")) == 1, "saved")
    with closing(sqlite3.connect(agent.data / "registry" / DATABASE, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        agent.append("known file")
        topic.await_message("known file")
        agent.append("new file", path=new)
        agent.await_log("cannot save positions: database is locked (EBUSY); stop the program that has locked it")
        agent.append("known file again")
        topic.await_message("known file again")
        assert not topic.life_of(new.stat().st_ino)

    topic.expect(agent.path)
    topic.expect(new)
    assert agent.stop() == 0
    states = read(agent.data / "registry").values()
    assert all(state.position == os.stat(state.path).st_size for state in states)
    assert len(topic.records) == 1 + 3  # what was acknowledged meanwhile is not sent again
