"""The sink's requests to Kafka, and what it reads from it, against real brokers."""

import pickle
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Message, Producer, TopicPartition

from demo.broker import Broker
from log_shipper.config.text.secrets import Secret
from log_shipper.runtime.kafka.security_options import SaslConfig
from log_shipper.runtime.kafka.tls_options import SslConfig
from log_shipper.spark_sink.errors import Refused, SinkError
from log_shipper.spark_sink.kafka import client, failures, start, topics
from log_shipper.spark_sink.kafka.admin import Admin
from log_shipper.spark_sink.kafka.client import ClientOptions
from log_shipper.spark_sink.kafka.group import MonitoringGroup
from log_shipper.spark_sink.kafka.offsets import Partition
from log_shipper.spark_sink.options.kafka import KafkaSource
from log_shipper.spark_sink.options.model import SinkConfig
from log_shipper.spark_sink.options.parts import CheckpointConfig
from log_shipper.spark_sink.options.tables import TableConfig
from tests.e2e.running import PATIENCE
from tests.e2e.secure import PASSWORD, SecureBroker
from tests.e2e.sinking import BEGAN, send

pytestmark = pytest.mark.kafka


def configured(host: str, directory: Path, **kafka: Any) -> SinkConfig:
    return SinkConfig(
        kafka=KafkaSource(hosts=(host,), **kafka),
        table=TableConfig(path=str(directory / "lines")),
        checkpoint=CheckpointConfig(path=str(directory / "checkpoint")),
    )


@pytest.fixture
def config(kafka_broker: Broker, topic_name: str, tmp_path: Path) -> SinkConfig:
    """Return the name of a topic with ten records in each of two partitions, one second apart from BEGAN on."""
    kafka_broker.create_topic(topic_name, 2)
    send(kafka_broker.bootstrap, topic_name, 0, 10)
    send(kafka_broker.bootstrap, topic_name, 1, 10)
    return configured(kafka_broker.bootstrap, tmp_path, topics=(topic_name,))


@pytest.fixture
def admin(config: SinkConfig) -> Iterator[Admin]:
    with Admin(client.latest(config.kafka)) as admin:
        yield admin


def delete_below(broker: Broker, topic: str, partition: int, offset: int) -> None:
    admin = broker.admin()
    for done in admin.delete_records([TopicPartition(topic, partition, offset)]).values():
        done.result(PATIENCE)


def test_the_broker_returns_partitions_offsets_and_times(config: SinkConfig, admin: Admin, topic_name: str) -> None:
    a, b = (topic_name, 0), (topic_name, 1)
    assert topic_name in admin.topic_names()
    assert admin.topics_matching(f"{topic_name[:-1]}.") == {topic_name}
    assert admin.topics_matching(topic_name[:-1]) == set()
    present = topics.present(config.kafka, admin)
    assert present == {a, b}
    assert admin.earliest(present) == {a: 0, b: 0}
    assert admin.latest(present) == {a: 10, b: 10}
    assert admin.at_timestamp(present, BEGAN + 1500) == {a: 2, b: 2}
    assert admin.at_timestamp(present, BEGAN + 2000) == {a: 2, b: 2}
    assert admin.at_timestamp(present, BEGAN + 9001) == {}
    with pytest.raises(SinkError, match="the topic does not exist"):
        admin.partitions([f"{topic_name}-none"])
    with pytest.raises(SinkError, match=r"cannot list topics that match '\*'"):
        admin.topics_matching("*")


def read(options: ClientOptions, partition: Partition, start: int) -> list[Message]:
    """Return the records of a partition up to its end, with a client made from options that have travelled. Raises
    KafkaException."""
    consumer = client.consumer(pickle.loads(pickle.dumps(options)))
    try:
        consumer.assign([TopicPartition(*partition, start)])
        records = []
        while True:
            message = consumer.poll(PATIENCE)
            assert message is not None, "neither a record nor the end"
            if (error := message.error()) is None:
                records.append(message)
            elif error.code() == KafkaError._PARTITION_EOF:
                return records
            else:
                raise KafkaException(error)
    finally:
        consumer.close()


def test_a_topic_has_an_id_of_its_own(admin: Admin, kafka_broker: Broker, topic_name: str) -> None:
    first = admin.ids([topic_name])[topic_name]
    assert len(first) == 22
    kafka_broker.create_topic(f"{topic_name}-2", 1)
    assert admin.ids([f"{topic_name}-2"])[f"{topic_name}-2"] not in ("", first)


def test_an_open_transaction_is_before_the_end_for_readers_of_what_is_committed(
    config: SinkConfig, admin: Admin, kafka_broker: Broker, topic_name: str
) -> None:
    a = (topic_name, 0)
    every = replace(config.kafka, librdkafka={"isolation.level": "read_uncommitted"})
    producer = Producer({"bootstrap.servers": kafka_broker.bootstrap, "transactional.id": topic_name})
    producer.init_transactions(PATIENCE)
    producer.begin_transaction()
    producer.produce(topic_name, b"open", partition=0)
    assert producer.flush(PATIENCE) == 0
    with Admin(client.latest(every)) as uncommitted:
        assert (admin.latest([a]), uncommitted.latest([a])) == ({a: 10}, {a: 11})
    assert len(read(client.client_options(config.kafka), a, 0)) == 10
    assert len(read(client.client_options(every), a, 0)) == 11
    producer.abort_transaction(PATIENCE)


def test_an_offset_that_kafka_does_not_have_is_an_error_and_no_other_place(
    config: SinkConfig, kafka_broker: Broker, topic_name: str
) -> None:
    delete_below(kafka_broker, topic_name, 0, 6)
    options = client.client_options(config.kafka)
    for offset in (2, 500):
        with pytest.raises(KafkaException) as refused:
            read(options, (topic_name, 0), offset)
        assert refused.value.args[0].code() == KafkaError._AUTO_OFFSET_RESET
    message = str(failures.translate(refused.value.args[0], "reading"))
    assert "records were deleted in Kafka" in message
    assert "set lost_offsets: continue" in message


def test_a_groups_offsets_are_committed_to_show_the_lag_and_a_sink_can_start_at_them(
    config: SinkConfig, admin: Admin, topic_name: str
) -> None:
    warnings: list[str] = []
    name = f"people-{topic_name}"
    group = MonitoringGroup(admin, name, warnings.append)
    group.commit({(topic_name, 0): 4})
    group.close()
    assert admin.committed(name) == {(topic_name, 0): 4}
    committed = replace(config, start="committed", start_group=name)
    first = start.resolve(committed, admin, topics.present(config.kafka, admin))
    assert first.offsets == {(topic_name, 0): 4, (topic_name, 1): 0}
    assert warnings == []

    for end in (5, 6, 7):
        group.commit({(f"{topic_name}-none", 0): end})
    group.close()
    assert len(warnings) == 1
    assert f"cannot commit offsets of the group {name}" in warnings[0]


def test_a_start_before_what_kafka_has_deleted_is_refused(
    config: SinkConfig, admin: Admin, kafka_broker: Broker, topic_name: str
) -> None:
    delete_below(kafka_broker, topic_name, 0, 6)
    named = replace(config, start="offsets", start_offsets={topic_name: {0: 2, 1: 0}})
    with pytest.raises(Refused, match=f"topic {topic_name}, partition 0: wanted 2, available 6 to 10"):
        start.resolve(named, admin, {(topic_name, 0), (topic_name, 1)})


@pytest.fixture(scope="module")
def secure_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureBroker]:
    with SecureBroker(tmp_path_factory.mktemp("secure")) as broker:
        broker.create_topic("sealed", 1)
        send(broker.bootstrap, "sealed", 0, 3)
        broker.add_user("scram", PASSWORD)
        yield broker


def sealed(host: str, directory: Path, ssl: dict[str, Any], mechanism: Any = "PLAIN", **more: Any) -> SinkConfig:
    more |= {"ssl": SslConfig(enabled=True, **ssl), "sasl": SaslConfig(mechanism=mechanism)}
    return configured(host, directory, topics=("sealed",), **more)


@pytest.mark.parametrize("way", ["plain", "scram", "certificate", "without the host name"])
def test_admin_and_consumer_read_over_tls(way: str, secure_broker: SecureBroker, tmp_path: Path) -> None:
    trust: dict[str, Any] = {"certificate_authorities": (str(secure_broker.authority_file),)}
    user: dict[str, Any] = {"username": "plain", "password": Secret(PASSWORD)}
    match way:
        case "plain":
            config = sealed(secure_broker.secure, tmp_path, trust, **user)
        case "scram":
            config = sealed(secure_broker.secure, tmp_path, trust, "SCRAM-SHA-512", **(user | {"username": "scram"}))
        case "certificate":
            certificate, key = secure_broker.client(tmp_path)
            pair = {"certificate": str(certificate), "key": Secret(str(key))}
            config = sealed(secure_broker.mutual, tmp_path, {**trust, **pair})
        case _:
            by_number = secure_broker.secure.replace("localhost", "127.0.0.1")
            config = sealed(by_number, tmp_path, trust | {"verification_mode": "certificate"}, **user)
    assert PASSWORD not in repr(config)
    with Admin(client.latest(config.kafka)) as admin:
        end = admin.latest(topics.present(config.kafka, admin))
    assert end == {("sealed", 0): 3}
    assert [message.offset() for message in read(client.client_options(config.kafka), ("sealed", 0), 0)] == [0, 1, 2]


@dataclass(frozen=True)
class Refusal:
    user: str
    mechanism: str
    message: str
    trusted: bool = True


UNTRUSTED = "certificate is not trusted: .*certificate_authorities.*verification_mode: certificate"
WRONG_PASSWORD = r"refused the credentials \(kafka.username, kafka.password"


@pytest.mark.parametrize(
    "refusal",
    [
        Refusal("plain", "PLAIN", WRONG_PASSWORD),
        Refusal("scram", "SCRAM-SHA-512", WRONG_PASSWORD),
        Refusal("scram", "SCRAM-SHA-256", r"check kafka.sasl.mechanism"),
        Refusal(
            "plain",
            "PLAIN",
            UNTRUSTED,
            trusted=False,
        ),
    ],
)
def test_what_is_wrong_with_the_security_is_reported_and_no_secret_is(
    refusal: Refusal, secure_broker: SecureBroker, tmp_path: Path
) -> None:
    ssl = {"certificate_authorities": (str(secure_broker.authority_file),) if refusal.trusted else ()}
    login: dict[str, Any] = {"username": refusal.user, "password": Secret("not the password")}
    config = sealed(secure_broker.secure, tmp_path, ssl, refusal.mechanism, **login)
    with Admin(client.latest(config.kafka)) as admin:
        assert "not the password" not in repr(admin)
        with pytest.raises(SinkError, match=refusal.message) as caught:
            admin.topic_names()
    assert f"cannot read from Kafka at {secure_broker.secure}: " in str(caught.value)
    assert "not the password" not in str(caught.value)
