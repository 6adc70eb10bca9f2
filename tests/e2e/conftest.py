"""One broker for all tests; a topic and an agent for each."""

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from demo.broker import Broker
from tests.e2e.containers import Container, Spec, skip_where_nothing_runs, unpacked
from tests.e2e.running import Agent, Topic
from tests.e2e.sinking import SinkLab


@pytest.fixture
def topic_name() -> str:
    return f"t{uuid.uuid4().hex[:10]}"


@pytest.fixture
def topic(kafka_broker: Broker, topic_name: str) -> Iterator[Topic]:
    kafka_broker.create_topic(topic_name, 4)
    topic = Topic(kafka_broker, topic_name)
    yield topic
    topic.close()


@pytest.fixture
def agent(kafka_broker: Broker, topic_name: str, tmp_path: Path) -> Iterator[Agent]:
    agent = Agent(tmp_path, kafka_broker.bootstrap, topic_name)
    yield agent
    agent.end()


@pytest.fixture
def lab(tmp_path: Path, kafka_broker: Broker, topic_name: str, seed: int) -> Iterator[SinkLab]:
    lab = SinkLab(tmp_path, kafka_broker, topic_name, seed)
    yield lab
    lab.kill()


@pytest.fixture(scope="module")
def guarded_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A broker that knows rights; what no rule is about is allowed. A test's rules name its own topics, or it lifts
    them."""
    properties = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow.everyone.if.no.acl.found": "true",
    }
    with Broker(tmp_path_factory.mktemp("guarded"), heap="256m", properties=properties) as broker:
        yield broker


@pytest.fixture(scope="module")
def bundle(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What runs of the module's image."""
    bundle = unpacked(archive, tmp_path_factory.mktemp("unpacked"))
    skip_where_nothing_runs(bundle, tmp_path_factory.mktemp("runs"))
    return bundle


@pytest.fixture
def run(bundle: Path, tmp_path: Path) -> Callable[[Spec], Container]:
    return lambda spec: Container(bundle, tmp_path, spec)
