"""What `shipper tap` shows is what is in the topic."""

import pytest

from tests.e2e.running import Agent, Topic, await_true
from tests.e2e.tapping import Tapped, of_data

pytestmark = [pytest.mark.kafka, pytest.mark.slow("each test starts three processes")]


@pytest.mark.parametrize("delivery", ["at_least_once", "exactly_once"])
def test_a_tap_shows_the_records_of_the_topic(delivery: str, agent: Agent, topic: Topic) -> None:
    agent.kafka = {"delivery": delivery}
    agent.configure()
    agent.start()
    agent.append("before")
    topic.await_message("before")
    await_true(lambda: (agent.data / "shipper.sock").exists(), "the socket")
    with Tapped(*of_data(agent.data), "--rate", "100", "--count", "50", "--keys") as tap:
        agent.append(*[f"line {number} \x1b Łódź" for number in range(50)])
        shown, _ = tap.process.communicate(timeout=30)
    topic.await_records(51)
    sent = [f"# topic={topic.name} key={record.key}\n{record.raw.decode()}\n" for record in topic.records[1:]]
    assert shown == "".join(sent)
    assert agent.stop() == 0
