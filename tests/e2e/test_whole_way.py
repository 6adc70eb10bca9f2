"""A line from a file, through a real Kafka, into a Delta table, while the shipper is killed and the broker stopped."""

import time

import pytest

from demo.broker import Broker
from tests.e2e.running import Agent, LiveWriter, Topic, lines_of
from tests.e2e.sinking import SinkLab

pytestmark = pytest.mark.kafka


def test_every_line_is_in_the_table_though_the_shipper_was_killed_and_the_broker_stopped(
    agent: Agent, topic: Topic, lab: SinkLab, kafka_broker: Broker
) -> None:
    agent.start()
    with LiveWriter(agent.path, rate=1000):
        topic.await_records(100)
        agent.kill()
        agent.start()
        time.sleep(1)
        kafka_broker.stop()
        time.sleep(3)
        agent.kill()
        agent.start()
        kafka_broker.start()
        time.sleep(1)
        agent.kill()
        agent.start()
    topic.expect(agent.path)
    assert agent.stop() == 0

    assert len(topic.records) > sum(map(len, topic.lives.values())), "the killed shipper sent nothing twice"
    lab.start("--available-now")
    assert lab.wait() == 0, lab.said()
    (file_id,) = topic.lives
    assert lab.landed() == [(file_id, *line) for line in lines_of(agent.path.read_bytes())]
    assert lab.counts()[1] == 0
