"""A line from a file, through a real Kafka, into a Delta table, while the shipper is killed and the broker stopped.

Two steps: what the first one leaves in the topic the second one lands.
"""

import resource
import time
from collections.abc import Iterator

import pytest

from demo.broker import Broker
from tests.e2e.running import Agent, LiveWriter, Topic, await_true, lines_of
from tests.e2e.sinking import PATIENCE, SinkLab
from tests.tiers import GATE_SEED

pytestmark = pytest.mark.kafka

AT_ONCE = "-Emax_offsets_per_trigger=1000000"
AT_LEAST_ONCE, EXACTLY_ONCE = "at_least_once", "exactly_once"


@pytest.fixture(
    scope="module",
    params=[AT_LEAST_ONCE, pytest.param(EXACTLY_ONCE, marks=pytest.mark.slow("the same with Kafka's transactions"))],
)
def delivery(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def agent(delivery: str, kafka_broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    agent = Agent(tmp_path_factory.mktemp("shipper"), kafka_broker.bootstrap, f"whole-way-{delivery}")
    agent.kafka = {"delivery": delivery}
    agent.configure()
    yield agent
    agent.end()


@pytest.fixture(scope="module")
def topic(delivery: str, kafka_broker: Broker) -> Iterator[Topic]:
    kafka_broker.create_topic(f"whole-way-{delivery}", 4)
    topic = Topic(kafka_broker, f"whole-way-{delivery}")
    yield topic
    topic.close()


@pytest.fixture(scope="module")
def lab(topic: Topic, tmp_path_factory: pytest.TempPathFactory, kafka_broker: Broker) -> Iterator[SinkLab]:
    lab = SinkLab(tmp_path_factory.mktemp("sink"), kafka_broker, topic.name, GATE_SEED)
    yield lab
    lab.kill()


def test_every_line_is_in_the_topic_though_the_shipper_was_killed_and_the_broker_stopped(
    agent: Agent, topic: Topic, kafka_broker: Broker, lab: SinkLab, delivery: str
) -> None:
    lab.start(AT_ONCE)  # it starts, and lands what there is, beside all of this
    agent.start()
    with LiveWriter(agent.path, rate=1000):
        topic.await_records(100)
        agent.kill()
        agent.start()
        time.sleep(1)
        kafka_broker.stop()
        agent.kill()
        agent.start()
        time.sleep(1)
        kafka_broker.start()
        agent.kill()
        agent.start()
        if delivery == AT_LEAST_ONCE:
            agent.kill()
            topic.read_to_end()
            agent.start()
            topic.await_records(len(topic.records) + 1)
            # It can save no position from here on, as on a full disk: what it sends is sent again.
            resource.prlimit(agent.process.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
            topic.await_records(len(topic.records) + 1000)
            agent.kill()
            agent.start()
    topic.expect(agent.path)
    assert agent.stop() == 0
    assert (topic.repeated > 0) == (delivery == AT_LEAST_ONCE), f"{topic.repeated} lines were sent twice"


def test_every_line_is_in_the_table_once(agent: Agent, topic: Topic, lab: SinkLab) -> None:
    lines = lines_of(agent.path.read_bytes())

    def all_landed() -> bool:
        if lab.code is not None:  # Kafka was away for longer than it waits: a service manager starts it again
            assert "cannot read from Kafka" in lab.log_text().splitlines()[-1], lab.log_text()
            lab.start(AT_ONCE)
        return lab.counts()[0] >= len(lines)

    await_true(all_landed, "all is landed", PATIENCE)
    (file_id,) = topic.lives
    assert lab.landed() == [(file_id, *line) for line in lines], lab.log_text()
    assert lab.counts()[1] == 0
    assert lab.terminate() == 0, lab.log_text()
