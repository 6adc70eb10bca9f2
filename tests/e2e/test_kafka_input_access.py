"""The input `kafka` at a broker that asks who reads: refusals in words, and what happens when they are lifted."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import trustme
from confluent_kafka import Producer
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # public, but imported there without `as`
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)

from demo.broker import Broker
from tests.e2e.relaying import Relay
from tests.e2e.running import Topic, await_true
from tests.e2e.secure import PASSWORD, SecureBroker

pytestmark = [pytest.mark.kafka, pytest.mark.slow("a broker with rights, and members that wait for them")]

READ, DESCRIBE = AclOperation.READ, AclOperation.DESCRIBE


class GuardedBroker(SecureBroker):
    """Only what a rule allows is allowed; at the ordinary listener, everything."""

    def _configure(self, properties: Mapping[str, str]) -> None:
        rights = {
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
        }
        super()._configure({**properties, **rights})


@pytest.fixture(scope="module")
def broker(kafka_broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardedBroker]:
    """`kafka_broker` is not used, but skips where there is no broker."""
    with GuardedBroker(tmp_path_factory.mktemp("guarded")) as broker:
        yield broker


class Access:
    """An agent with two inputs: one reads the topic `source` as a user of that name, the other one reads a file."""

    def __init__(self, broker: GuardedBroker, directory: Path, source: str) -> None:
        self.group = f"{source}-out"
        for topic in (source, self.group):
            broker.create_topic(topic, 2)
        self.source = source
        self.target = Topic(broker, self.group)
        self.agents = [self._agent(broker, directory / f"agent-{number}") for number in range(2)]
        self.agent = self.agents[0]
        self._broker = broker
        self._file = directory / "app.log"
        file_input = {"type": "filestream", "id": "app", "paths": [str(self._file)]}
        self.agent.other_inputs = [{**file_input, "prospector.scanner.check_interval": "1s"}]

    def _agent(self, broker: GuardedBroker, directory: Path) -> Relay:
        agent = Relay(directory, broker, self.source, self.group)
        agent.settings = {"logging.fold_repeated": False}  # a second assignment may be that of the first
        agent.options |= {
            "id": "relay",
            "hosts": [broker.secure],
            "username": self.source,
            "password": PASSWORD,
            "sasl.mechanism": "SCRAM-SHA-512",
            "ssl": {"certificate_authorities": [str(broker.authority_file)]},
            "librdkafka": {"topic.metadata.refresh.interval.ms": 1000},
        }
        return agent

    def add_user(self, password: str = PASSWORD) -> None:
        self._broker.add_user(self.source, password)

    def allow(self, operation: AclOperation, kind: ResourceType) -> None:
        name = self.source if kind == ResourceType.TOPIC else self.group
        user = f"User:{self.source}"
        rule = AclBinding(kind, name, ResourcePatternType.LITERAL, user, "*", operation, AclPermissionType.ALLOW)
        admin = self._broker.admin()  # kept until the answer is there
        admin.create_acls([rule])[rule].result(30)

    def allow_all(self) -> None:
        for kind in (ResourceType.TOPIC, ResourceType.GROUP):
            self.allow(READ, kind)

    def write(self, *values: str) -> None:
        producer = Producer({"bootstrap.servers": self._broker.bootstrap, "log_level": 0})
        for number, value in enumerate(values):
            producer.produce(self.source, value, partition=number % 2)
        assert producer.flush(30) == 0

    def expect_refusal(self, words: str) -> None:
        """Wait for an error of the input, while the other one is read."""
        pattern = re.compile(f"input relay: kafka [^\n]*{words}")
        await_true(lambda: bool(pattern.search(self.agent.log)), lambda: f"{words!r} in:\n{self.agent.log[-3000:]}")
        self._file.write_text("a line\n")
        self.target.await_message("a line")
        assert PASSWORD not in self.agent.log

    def expect_recovery(self) -> None:
        self.write("a record", "another one")
        self.target.await_message("a record")
        self.target.await_message("another one")
        self.agent.await_log(": reading kafka ")
        assert self.agent.stop() == 0

    def close(self) -> None:
        for agent in self.agents:
            agent.end()
        self.target.close()


@pytest.fixture
def access(broker: GuardedBroker, topic_name: str, tmp_path: Path) -> Iterator[Access]:
    access = Access(broker, tmp_path, topic_name)
    yield access
    access.close()


def test_a_topic_is_read_with_a_password_over_tls(access: Access) -> None:
    access.add_user()
    access.allow_all()
    access.write("one", "two")
    access.agent.other_inputs = []
    access.agent.start("--once")
    assert access.agent.process.wait(60) == 0
    access.target.await_records(2)
    assert {record.value["message"] for record in access.target.records} == {"one", "two"}


def test_a_wrong_password_is_reported_and_the_right_one_is_taken(access: Access) -> None:
    access.add_user("another one")
    access.allow_all()
    access.agent.start()
    access.expect_refusal("authentication failed; check username, password and sasl.mechanism")
    access.add_user()
    access.expect_recovery()


@pytest.mark.parametrize("first", ["nothing", "describe"])
def test_a_user_who_may_not_read_the_topic_is_reported_and_the_right_is_taken(access: Access, first: str) -> None:
    access.add_user()
    access.allow(READ, ResourceType.GROUP)
    if first == "describe":
        access.allow(DESCRIBE, ResourceType.TOPIC)
    access.agent.start()
    access.expect_refusal(f"no permission to read topic {access.source}; allow the user Read and Describe on it")
    access.allow(READ, ResourceType.TOPIC)
    access.expect_recovery()


def test_a_user_who_may_not_be_in_the_group_is_reported_and_the_right_is_taken(access: Access) -> None:
    access.add_user()
    access.allow(READ, ResourceType.TOPIC)
    access.agent.start()
    access.expect_refusal(f"no permission to join group {access.group}; allow the user Read on it")
    access.allow(READ, ResourceType.GROUP)
    access.expect_recovery()


def test_a_certificate_of_another_authority_is_reported_and_the_right_authority_is_taken(
    access: Access, broker: GuardedBroker, tmp_path: Path
) -> None:
    access.add_user()
    access.allow_all()
    authorities = tmp_path / "authorities.pem"
    trustme.CA().cert_pem.write_to_path(authorities)
    reload = {"certificate_reload.reload_interval": "200ms"}
    access.agent.options["ssl"] = {"certificate_authorities": [str(authorities)], **reload}
    access.agent.start()
    access.expect_refusal(f"TLS handshake failed at {broker.secure}; check ssl.certificate_authorities")
    broker.authority.cert_pem.write_to_path(authorities)
    access.expect_recovery()


GIVEN = "assigned partitions"


def test_a_static_member_that_restarts_moves_no_partition(access: Access) -> None:
    access.add_user()
    access.allow_all()
    for number, agent in enumerate(access.agents):
        agent.options |= {"group_instance_id": f"member-{number}", "rebalance.timeout": "60s"}
        agent.start()
        agent.await_log(GIVEN)
    other, restarted = access.agents
    # Of two partitions each has one at last, whichever came first.
    one = re.compile(rf"{GIVEN}: {access.source}\[[01]\]\"")
    await_true(lambda: all(one.search(agent.log) for agent in access.agents), lambda: f"one each:\n{other.log[-2000:]}")
    before, others = restarted.log.count(GIVEN), other.log.count(GIVEN)
    assert restarted.stop() == 0
    access.write("one", "two")
    restarted.start()
    await_true(lambda: restarted.log.count(GIVEN) > before, "it has its partition again")
    access.target.await_message("one")
    access.target.await_message("two")
    assert other.log.count(GIVEN) == others


def test_two_members_with_one_instance_id_are_reported(access: Access) -> None:
    access.add_user()
    access.allow_all()
    later = access.agents[1]
    for agent in access.agents:
        agent.options["group_instance_id"] = "the same"
        agent.start()
        agent.await_log(GIVEN)
    access.expect_refusal(
        f"another member of group {access.group} has the same group_instance_id; give each member its own"
    )
    access.write("one", "two")
    access.target.await_message("two")
    assert later.log.count(GIVEN) == 1
