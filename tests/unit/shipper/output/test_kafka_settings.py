from pathlib import Path
from typing import Any, Literal

import pytest
from confluent_kafka import KafkaError

from log_shipper.config.text.secrets import Secret
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.options.kafka import KafkaOutputConfig
from log_shipper.shipper.options.model import SaslConfig, SslConfig
from log_shipper.shipper.output.kafka_settings import latest, make_producer, settings, transactional
from tests.certificates import CertificateDirectory


def config(**changes: Any) -> KafkaOutputConfig:
    options: dict[str, Any] = {"hosts": ("a:9092", "b:9092"), "topic": "logs", **changes}
    return KafkaOutputConfig(**options)


def ignore(error: KafkaError) -> None:
    pass


def test_the_guarantees_are_always_set() -> None:
    made = settings(config())
    assert (made["enable.idempotence"], made["acks"], made["message.timeout.ms"]) == (True, "all", 0)
    assert made["bootstrap.servers"] == "a:9092,b:9092"


def test_a_raw_setting_wins_over_ours() -> None:
    assert settings(config(librdkafka={"linger.ms": 50}))["linger.ms"] == 50


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("acks", 1),
        ("enable.idempotence", False),
        ("message.timeout.ms", 300000),
        ("delivery.report.only.error", True),
    ],
)
def test_a_raw_setting_that_would_lose_lines_is_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(StartError, match=rf"output\.kafka\.librdkafka\.{name}: .* remove it"):
        settings(config(librdkafka={name: value}))


@pytest.mark.parametrize(("name", "value"), [("acks", -1), ("acks", "all"), ("enable.idempotence", "true")])
def test_a_raw_setting_that_says_the_same_is_accepted(name: str, value: object) -> None:
    assert settings(config(librdkafka={name: value}))["message.timeout.ms"] == 0


@pytest.mark.parametrize(
    ("changes", "protocol"),
    [
        ({}, "PLAINTEXT"),
        ({"username": "u", "password": Secret("p")}, "SASL_PLAINTEXT"),
        ({"username": "", "password": Secret("")}, "PLAINTEXT"),
        ({"ssl": SslConfig(enabled=True)}, "SSL"),
        ({"username": "u", "password": Secret("p"), "ssl": SslConfig(enabled=True)}, "SASL_SSL"),
    ],
)
def test_the_protocol_follows_from_user_and_tls(changes: dict[str, object], protocol: str) -> None:
    assert settings(config(**changes))["security.protocol"] == protocol


def test_a_raw_setting_that_is_an_option_names_it() -> None:
    with pytest.raises(StartError, match=r"librdkafka\.transactional\.id: set output\.kafka\.delivery: exactly_once"):
        settings(config(librdkafka={"transactional.id": "mine"}))


def test_a_producer_with_transactions_reports_failures_only() -> None:
    made = transactional(settings(config()), "mine", relays=False)
    assert (made["transactional.id"], made["delivery.report.only.error"], made["acks"]) == ("mine", True, "all")


def test_only_a_producer_with_offsets_of_groups_stays_with_the_brokers_it_knows() -> None:
    name = "metadata.recovery.strategy"
    assert transactional(settings(config()), "mine", relays=True)[name] == "none"
    assert name not in transactional(settings(config()), "mine", relays=False)
    chosen = settings(config(librdkafka={name: "rebootstrap"}))
    assert transactional(chosen, "mine", relays=True)[name] == "rebootstrap"


def test_credentials_are_passed_on() -> None:
    made = settings(config(username="u", password=Secret("p"), sasl=SaslConfig(mechanism="SCRAM-SHA-512")))
    assert (made["sasl.mechanism"], made["sasl.username"], made["sasl.password"]) == ("SCRAM-SHA-512", "u", "p")


def test_verification_can_be_turned_off() -> None:
    made = settings(config(ssl=SslConfig(enabled=True, verification_mode="none")))
    assert made["enable.ssl.certificate.verification"] is False


def test_librdkafka_takes_all_our_settings() -> None:
    producer = make_producer(config(hosts=("127.0.0.1:1",), compression_level=3))(ignore)
    assert producer.flush(0) == 0


def test_a_setting_that_librdkafka_refuses_stops_the_start() -> None:
    with pytest.raises(StartError, match=r"no\.such\.setting"):
        make_producer(config(librdkafka={"no.such.setting": 1}))(ignore)


@pytest.mark.parametrize(
    ("mode", "name", "chain"),
    [("full", None, None), ("strict", None, None), ("certificate", "none", None), ("none", "none", False)],
)
def test_what_is_verified_is_what_was_asked_for(
    mode: Literal["full", "strict", "certificate", "none"], name: str | None, chain: bool | None
) -> None:
    made = settings(config(ssl=SslConfig(enabled=True, verification_mode=mode)))
    assert made.get("ssl.endpoint.identification.algorithm") == name
    assert made.get("enable.ssl.certificate.verification") is chain


def test_files_of_tls_are_read_again_for_each_client_and_the_last_good_ones_are_kept(tmp_path: Path) -> None:
    certificates = CertificateDirectory(tmp_path)
    ssl = SslConfig(enabled=True, certificate_authorities=(certificates.authorities(),))
    configured = latest(config(ssl=ssl))
    first = configured()["ssl.ca.pem"]
    CertificateDirectory(tmp_path).authorities()
    second = configured()["ssl.ca.pem"]
    assert second != first
    (tmp_path / "authority.pem").write_text("half of")
    assert configured()["ssl.ca.pem"] == second
