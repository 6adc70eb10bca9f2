"""TLS and SASL of the Kafka output: the real process, and a real broker that asks for them."""

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from demo.broker import Broker
from tests.certificates import CertificateDirectory
from tests.e2e.running import PATIENCE, Agent, LiveWriter, Topic, await_true
from tests.e2e.secure import PASSWORD, SecureBroker
from tests.e2e.token_endpoint import CLIENT, TokenEndpoint

pytestmark = pytest.mark.kafka


class SecureAgent(Agent):
    """An agent with more options of output.kafka."""

    def connect(self, **kafka: Any) -> None:
        self.more = kafka
        self.configure()

    def _output(self) -> dict[str, Any]:
        (output,) = super()._output().values()
        return {"output.kafka": {**output, **getattr(self, "more", {})}}


@pytest.fixture(scope="module")
def secure_broker(kafka_broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureBroker]:
    """`kafka_broker` is not used, but skips where there is no broker."""
    with SecureBroker(tmp_path_factory.mktemp("secure")) as broker:
        broker.add_user("scram", PASSWORD)
        yield broker


@pytest.fixture
def topic(secure_broker: SecureBroker, topic_name: str) -> Iterator[Topic]:
    secure_broker.create_topic(topic_name, 1)
    topic = Topic(secure_broker, topic_name)
    yield topic
    topic.close()


@pytest.fixture
def certificates(secure_broker: SecureBroker, tmp_path: Path) -> CertificateDirectory:
    """Files from the authority that the broker trusts."""
    directory = CertificateDirectory(tmp_path)
    directory.authority = secure_broker.authority
    return directory


@pytest.fixture
def agent(secure_broker: SecureBroker, topic_name: str, tmp_path: Path) -> Iterator[SecureAgent]:
    agent = SecureAgent(tmp_path, secure_broker.bootstrap, topic_name)
    yield agent
    agent.end()


@pytest.mark.parametrize("user", ["plain", "scram"])
def test_lines_are_shipped_with_a_password_over_tls(
    user: str, agent: SecureAgent, topic: Topic, secure_broker: SecureBroker, certificates: CertificateDirectory
) -> None:
    agent.connect(
        hosts=[secure_broker.secure],
        username=user,
        password=PASSWORD,
        sasl={"mechanism": "PLAIN" if user == "plain" else "SCRAM-SHA-512"},
        ssl={"certificate_authorities": [certificates.authorities()], "supported_protocols": ["TLSv1.3"]},
    )
    agent.append("one", "two")
    assert agent.once() == 0
    topic.expect(agent.path)


def test_lines_are_shipped_with_tokens_of_a_provider_which_are_refreshed_in_time(
    agent: SecureAgent, topic: Topic, secure_broker: SecureBroker, certificates: CertificateDirectory
) -> None:
    authorities = [certificates.authorities()]
    with TokenEndpoint(secure_broker.authority, lifetime=3.0) as endpoint:
        client_id, client_secret = CLIENT
        oauth: dict[str, Any] = {"token_endpoint_url": endpoint.url}
        oauth |= {"client_id": client_id, "client_secret": client_secret}
        oauth |= {"scope": "kafka.write", "extensions": {"traceId": "42"}, "certificate_authorities": authorities}
        agent.connect(
            hosts=[secure_broker.secure],
            sasl={"mechanism": "OAUTHBEARER", "oauthbearer": oauth},
            ssl={"certificate_authorities": authorities},
        )
        agent.append("one")
        agent.start()
        topic.await_message("one")
        deadline = time.monotonic() + PATIENCE
        while len(endpoint.scopes) < 3 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert set(endpoint.scopes) == {"kafka.write"}
        assert len(endpoint.scopes) >= 3
        assert endpoint.refused == 0
        agent.append("two")
        topic.expect(agent.path)
        assert agent.stop() == 0


def test_a_provider_that_refuses_the_client_is_reported(
    agent: SecureAgent, secure_broker: SecureBroker, certificates: CertificateDirectory
) -> None:
    authorities = [certificates.authorities()]
    with TokenEndpoint(secure_broker.authority, lifetime=60) as endpoint:
        oauth = {"token_endpoint_url": endpoint.url, "client_id": CLIENT[0], "client_secret": "not it"}
        agent.connect(
            hosts=[secure_broker.secure],
            sasl={"mechanism": "OAUTHBEARER", "oauthbearer": {**oauth, "certificate_authorities": authorities}},
            ssl={"certificate_authorities": authorities},
        )
        agent.append("one")
        agent.start()
        agent.await_log("invalid_client")
    assert "not it" not in agent.log


def test_an_expired_certificate_is_reported_and_its_renewal_delivers_what_waited(
    agent: SecureAgent, topic: Topic, secure_broker: SecureBroker, certificates: CertificateDirectory
) -> None:
    certificate, key = certificates.issue(ends=datetime.now(UTC) - timedelta(hours=1), passphrase="first")
    passphrase = Path(certificate).with_name("passphrase")
    passphrase.write_text("first\n")
    ssl = {"certificate_authorities": [certificates.authorities()], "certificate": certificate, "key": key}
    ssl |= {"key_passphrase_path": str(passphrase), "certificate_reload.reload_interval": "200ms"}
    agent.connect(hosts=[secure_broker.mutual], ssl=ssl)
    agent.append("one")
    agent.start()
    agent.await_log("expired on")
    agent.await_log("Events are kept and sent when it works again")

    certificates.issue(passphrase="second")
    passphrase.write_text("second\n")
    topic.expect(agent.path)
    assert "certificates of output.kafka changed" in agent.log
    assert agent.stop() == 0


def is_renewed(agent: Agent, times: int) -> bool:
    return agent.log.count("certificates of output.kafka changed") >= times


@pytest.mark.parametrize("delivery", ["at_least_once", "exactly_once"])
def test_nothing_is_lost_or_sent_twice_when_certificates_are_renewed_while_lines_are_written(
    delivery: str, agent: SecureAgent, topic: Topic, secure_broker: SecureBroker, certificates: CertificateDirectory
) -> None:
    certificate, key = certificates.issue()
    ssl = {"certificate_authorities": [certificates.authorities()], "certificate": certificate, "key": key}
    ssl |= {"certificate_reload.reload_interval": "200ms"}
    agent.settings = {"logging.fold_repeated": False}  # else the second renewal is logged when the agent ends
    agent.connect(hosts=[secure_broker.mutual], ssl=ssl, delivery=delivery)
    agent.append("one")
    agent.start()
    topic.await_message("one")
    with LiveWriter(agent.path):
        for renewal in (1, 2):
            certificates.issue()
            await_true(partial(is_renewed, agent, renewal), f"renewal {renewal} is in the log")
            time.sleep(0.5)  # lines go on with it
    topic.expect(agent.path)
    assert agent.stop() == 0
    topic.read_to_end()
    assert agent.log.count("certificates of output.kafka changed") == 2
    assert len(topic.records) == sum(len(life) for life in topic.lives.values())


@pytest.mark.slow("three starts with all that librdkafka can log")
def test_the_log_at_level_debug_has_no_secret(
    agent: SecureAgent, topic: Topic, secure_broker: SecureBroker, certificates: CertificateDirectory
) -> None:
    certificate, key = certificates.issue(passphrase="open sesame")
    tls = {"certificate_authorities": [certificates.authorities()]}
    pair = {"certificate": certificate, "key": Path(key).read_text(), "key_passphrase": "open sesame"}
    by_scram = {"mechanism": "SCRAM-SHA-512"}
    for hosts, options in (
        (secure_broker.secure, {"username": "plain", "password": PASSWORD, "ssl": tls}),
        (secure_broker.secure, {"username": "scram", "password": PASSWORD, "ssl": tls, "sasl": by_scram}),
        (secure_broker.mutual, {"ssl": tls | pair}),
    ):
        agent.connect(hosts=[hosts], **options)
        agent.append("one")
        assert agent.once("-d", "*") == 0
    topic.expect(agent.path)
    assert agent.log.count('"log.logger":"librdkafka"') > 100
    assert "SCRAM" in agent.log
    for secret in (PASSWORD, "open sesame", *Path(key).read_text().splitlines()[4:-1]):
        assert secret not in agent.log
        assert json.dumps(secret)[1:-1] not in agent.log
