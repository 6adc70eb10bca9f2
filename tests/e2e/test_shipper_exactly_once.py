"""`delivery: exactly_once`: what a consumer with read_committed sees, whatever is killed."""

import random
from pathlib import Path

import pytest

from tests.e2e.running import Agent, LiveWriter, Topic

pytestmark = pytest.mark.kafka


@pytest.fixture
def agent(agent: Agent) -> Agent:
    agent.kafka = {"delivery": "exactly_once"}
    agent.configure()
    return agent


def expect_once(topic: Topic, path: Path) -> None:
    """All lines of the file are there, in order, and none twice."""
    topic.expect(path)
    topic.read(1.0)
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
