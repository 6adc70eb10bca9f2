"""A real journal to a real topic, while the agent and its journalctl are killed, with either delivery."""

import os
import random
import signal
import time
from collections.abc import Iterator

import pytest

from tests.e2e.running import Agent, Topic, await_true
from tests.real_journald import JOURNALD, RealJournal, journalctls

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.slow("starts a journald, and kills what reads it at random moments"),
    pytest.mark.skipif(JOURNALD is None, reason="systemd is not installed"),
]


@pytest.fixture
def journal() -> Iterator[RealJournal]:
    journal = RealJournal()
    yield journal
    journal.close()


def messages(topic: Topic) -> list[str]:
    """Return the messages of the test without repeats, in order."""
    events = [event for life in topic.lives.values() for event in life.values()]
    return [event["message"] for event in events if event.get("message", "").startswith("line ")]


@pytest.mark.parametrize("delivery", ["at_least_once", "exactly_once"])
def test_nothing_of_a_journal_is_lost_whatever_is_killed(
    agent: Agent, topic: Topic, journal: RealJournal, delivery: str, seed: int
) -> None:
    chance = random.Random(seed)
    agent.kafka = {"delivery": delivery}
    agent.settings = {
        "shipper.inputs": [{"type": "journald", "id": "sys", "paths": [str(journal.directory)]}],
        "shipper.registry.flush": "100ms",
    }
    agent.configure()
    logged = 0
    agent.start()
    for turn in range(12):
        for _ in range(chance.randrange(1, 500)):
            journal.log(f"line {logged}")
            logged += 1
        time.sleep(chance.random() * 0.5)
        if turn % 3 == 0:
            for pid in journalctls(journal.directory):
                os.kill(pid, signal.SIGKILL)
        elif turn % 3 == 1:
            agent.kill()
            agent.start()
        else:
            journal.rotate()

    def arrived() -> bool:
        topic.read()
        return len(messages(topic)) >= logged

    await_true(arrived, f"{logged} entries", 120)
    topic.read(1.0)
    assert messages(topic) == [f"line {number}" for number in range(logged)]
    assert delivery == "at_least_once" or topic.repeated == 0
    assert agent.stop() == 0
