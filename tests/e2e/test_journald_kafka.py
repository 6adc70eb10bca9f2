"""A real journal to a real topic, while the agent and its journalctl are killed, with either delivery."""

import os
import random
import signal
import threading
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


class Program:
    """Logs to a journal without a pause, from a thread of its own, until the block ends."""

    def __init__(self, journal: RealJournal) -> None:
        self.logged = 0
        self._journal = journal
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "Program":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopping.wait(0.005):
            self._journal.log(*(f"line {self.logged + index}" for index in range(20)))
            self.logged += 20


@pytest.mark.parametrize("delivery", ["at_least_once", "exactly_once"])
def test_nothing_of_a_journal_is_lost_whatever_is_killed(
    agent: Agent, topic: Topic, journal: RealJournal, delivery: str, seed: int
) -> None:
    chance = random.Random(seed)
    agent.kafka = {"delivery": delivery}
    agent.settings = {"shipper.inputs": [{"type": "journald", "id": "sys", "paths": [str(journal.directory)]}]}
    agent.configure()
    agent.start()
    with Program(journal) as program:
        for turn in range(16):
            seen = len(topic.records)
            topic.await_records(seen + chance.randrange(1, 500))
            if turn % 2:
                agent.kill()
                agent.start()
            elif turn % 4:
                journal.rotate()
            else:
                for pid in journalctls(journal.directory):
                    os.kill(pid, signal.SIGKILL)

    def arrived() -> bool:
        topic.read()
        return len(messages(topic)) >= program.logged

    await_true(arrived, f"{program.logged} entries", 120)
    topic.read(1.0)
    assert messages(topic) == [f"line {number}" for number in range(program.logged)]
    assert delivery == "at_least_once" or topic.repeated == 0
    assert agent.stop() == 0
