"""With a queue on disk every line is in the topic, although its file and the agent are gone in an outage."""

import os
import random
import time
from pathlib import Path

import pytest

from demo.broker import Broker
from tests.e2e.running import Agent, LiveWriter, Topic, await_true, frozen

pytestmark = pytest.mark.kafka


def waits_on_disk(agent: Agent) -> bool:
    return any(path.stat().st_size > 1000 for path in (agent.data / "diskqueue").glob("*.seg"))


@pytest.mark.slow("kills the agent again and again while the broker does not answer")
@pytest.mark.parametrize("delivery", ["at_least_once", "exactly_once"])
def test_lines_of_a_deleted_file_survive_an_outage_and_kills(
    agent: Agent, topic: Topic, kafka_broker: Broker, tmp_path: Path, delivery: str, seed: int
) -> None:
    dice = random.Random(seed)
    agent.settings = {"queue.disk": {"flush": "50ms"}}
    agent.kafka = {"delivery": delivery}
    agent.configure()
    kept = tmp_path / "kept.log"  # another name, out of the agent's sight
    with LiveWriter(agent.path):
        agent.start()
        topic.await_records(1)
        with frozen(kafka_broker):
            await_true(lambda: waits_on_disk(agent), "a segment")
    with frozen(kafka_broker):
        agent.append("the last line")
        time.sleep(3)  # it is read and written, which takes half a second
        os.link(agent.path, kept)
        agent.path.unlink()
        for _ in range(4):
            agent.kill()
            agent.start()
            time.sleep(dice.uniform(0.1, 1.0))
        agent.kill()
    agent.start()
    topic.expect(kept)
    assert delivery == "at_least_once" or topic.repeated == 0
    assert agent.stop() == 0


@pytest.mark.slow("freezes the broker")
def test_a_stop_in_an_outage_leaves_on_disk_what_the_next_start_delivers(
    agent: Agent, topic: Topic, kafka_broker: Broker
) -> None:
    agent.settings = {"queue.disk": {}, "shipper.shutdown_timeout": "100ms"}
    agent.configure()
    with frozen(kafka_broker):
        agent.append("one", "two")
        agent.start()
        agent.await_events()  # before that, its lines are in the file alone
        assert agent.stop() == 0
        agent.path.unlink()
    agent.start()
    topic.await_message("two")
    assert [record.value["message"] for record in topic.records] == ["one", "two"]
