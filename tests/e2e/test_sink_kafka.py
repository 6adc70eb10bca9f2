"""What the sink asks of Kafka, and reads from it, against real brokers."""

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.cimpl import NewPartitions, TopicPartition
from pyspark.sql import SparkSession

from config.kafka_security import SaslConfig
from config.sink.kafka import KafkaSource
from config.sink.model import SinkConfig
from config.sink.parts import CheckpointConfig
from config.sink.security import SourceSslConfig
from config.sink.tables import TableConfig
from demo.broker import Broker
from spark_sink.errors import SPARK_ERRORS, Refused, SinkError, translate
from spark_sink.kafka import lost, source, start, topics
from spark_sink.kafka.admin import Admin
from spark_sink.kafka.group import Group
from tests.e2e.running import await_true
from tests.e2e.secure import PASSWORD, SecureBroker
from tests.e2e.sinking import PATIENCE, SinkLab

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

BEGAN = round(time.time() * 1000) - 60_000  # not long ago, or Kafka's retention takes the records away


def configured(host: str, directory: Path, **kafka: Any) -> SinkConfig:
    return SinkConfig(
        kafka=KafkaSource(hosts=(host,), **kafka),
        table=TableConfig(path=str(directory / "lines")),
        checkpoint=CheckpointConfig(path=str(directory / "checkpoint")),
    )


@pytest.fixture
def config(kafka_broker: Broker, topic_name: str, tmp_path: Path) -> SinkConfig:
    """Of a topic with ten records in each of two partitions, written a second after one another from BEGAN on."""
    kafka_broker.create_topic(topic_name, 2)
    send(kafka_broker.bootstrap, topic_name, 0, 10)
    send(kafka_broker.bootstrap, topic_name, 1, 10)
    return configured(kafka_broker.bootstrap, tmp_path, topics=(topic_name,))


@pytest.fixture
def admin(config: SinkConfig, spark: SparkSession) -> Iterator[Admin]:
    with Admin(spark, source.client_options(config)) as admin:
        yield admin


def send(host: str, topic: str, partition: int, count: int) -> None:
    producer = Producer({"bootstrap.servers": host})
    for number in range(count):
        producer.produce(
            topic, line(f"{topic}/{partition}/{number}"), partition=partition, timestamp=BEGAN + 1000 * number
        )
    assert producer.flush(30) == 0


def line(text: str) -> bytes:
    return json.dumps({"@timestamp": "2026-11-21T09:30:00Z", "message": text}).encode()


def delete_below(broker: Broker, topic: str, partition: int, offset: int) -> None:
    admin = broker.admin()
    for done in admin.delete_records([TopicPartition(topic, partition, offset)]).values():
        done.result(30)


def test_the_broker_tells_partitions_offsets_and_times(config: SinkConfig, admin: Admin, topic_name: str) -> None:
    a, b = (topic_name, 0), (topic_name, 1)
    assert topic_name in admin.names()
    assert admin.matching(f"{topic_name[:-1]}.") == {topic_name}
    assert admin.matching(topic_name[:-1]) == set()
    there = topics.present(config.kafka, admin)
    assert there == {a, b}
    assert admin.earliest(there) == {a: 0, b: 0}
    assert admin.latest(there) == {a: 10, b: 10}
    assert admin.at(there, BEGAN + 1500) == {a: 2, b: 2}
    assert admin.at(there, BEGAN + 2000) == {a: 2, b: 2}
    assert admin.at(there, BEGAN + 9001) == {}
    with pytest.raises(SinkError, match="Kafka does not have the topic"):
        admin.partitions([f"{topic_name}-none"])
    with pytest.raises(SinkError, match=r"cannot look for topics like '\*'"):
        admin.matching("*")


def test_a_groups_offsets_are_committed_for_people_and_can_be_begun_at(
    config: SinkConfig, admin: Admin, topic_name: str
) -> None:
    said: list[str] = []
    name = f"people-{topic_name}"
    group = Group(admin, name, said.append)
    group.commit({(topic_name, 0): 4})
    group.close()
    assert admin.committed(name) == {(topic_name, 0): 4}
    committed = replace(config, start="committed", start_group=name)
    begin = start.resolve(committed, admin, topics.present(config.kafka, admin))
    assert json.loads(begin.text) == {topic_name: {"0": 4, "1": -2}}
    assert said == []

    for end in (5, 6, 7):
        group.commit({(f"{topic_name}-none", 0): end})
    group.close()
    assert len(said) == 1
    assert f"cannot commit offsets of the group {name}" in said[0]


def test_what_kafka_has_deleted_is_refused_told_or_skipped_as_the_configuration_says(
    config: SinkConfig, admin: Admin, spark: SparkSession, kafka_broker: Broker, topic_name: str
) -> None:
    a, b = (topic_name, 0), (topic_name, 1)
    delete_below(kafka_broker, topic_name, 0, 6)
    named = replace(config, start="offsets", start_offsets={topic_name: {0: 2, 1: 0}})
    with pytest.raises(Refused, match=f"topic {topic_name}, partition 0: wanted 2, available 6 to 10"):
        start.resolve(named, admin, {a, b})

    starts, ends = {a: 2, b: 0}, {a: 10, b: 10}
    with pytest.raises(SPARK_ERRORS) as failed:
        source.between(spark, config, starts, ends).collect()
    told = str(translate(str(failed.value), "landing"))
    assert "records were deleted in Kafka" in told
    assert "lost_offsets: continue" in told
    assert "repair --from-kafka" in told

    careless = replace(config, lost_offsets="continue")
    rows = source.between(spark, careless, starts, ends).select("topic", "partition", "offset").collect()
    assert {row.offset for row in rows if row.partition == 0} == {6, 7, 8, 9}
    came = {at: min(row.offset for row in rows if (row.topic, row.partition) == at) for at in (a, b)}
    assert lost.ranges(starts, ends, came, admin.earliest(ends)) == [lost.Lost(topic_name, 0, 2, 5)]


def test_new_topics_that_match_and_new_partitions_are_found_while_the_sink_runs(
    lab: SinkLab, kafka_broker: Broker
) -> None:
    (lab.directory / "sink.yml").write_text(
        f"kafka: {{hosts: ['{kafka_broker.bootstrap}'], topics_pattern: '{lab.topic}-.'}}\n"
        f"table.path: {lab.lines}\ncheckpoint.path: {lab.checkpoint}\ntrigger.interval: 0s\n"
    )
    lab.start()
    await_true(
        lambda: f"waiting for a topic like '{lab.topic}-.'" in lab.said(), "the sink says that it waits", PATIENCE
    )
    one, two = f"{lab.topic}-1", f"{lab.topic}-2"
    kafka_broker.create_topic(f"{lab.topic}-no", 1)  # only a part of its name matches
    send(kafka_broker.bootstrap, f"{lab.topic}-no", 0, 1)
    kafka_broker.create_topic(one, 1)
    send(kafka_broker.bootstrap, one, 0, 2)
    await_true(lambda: "appeared" in lab.said() and lab.batches() > 0, "the first topic lands", PATIENCE)
    begun = time.monotonic()
    kafka_broker.create_topic(two, 1)
    send(kafka_broker.bootstrap, two, 0, 2)
    admin = kafka_broker.admin()
    admin.create_partitions([NewPartitions(one, 2)])[one].result(30)
    send(kafka_broker.bootstrap, one, 1, 2)
    await_true(lambda: ends(lab) == {one: {"0": 2, "1": 2}, two: {"0": 2}}, "both are found", PATIENCE)
    print("found and landed within", time.monotonic() - begun)  # noqa: T201 - for whoever measures
    assert lab.terminate() == 0, lab.said()
    assert lab.messages() == sorted(
        f"{at}/{number}" for at in (f"{one}/0", f"{one}/1", f"{two}/0") for number in (0, 1)
    )


def test_a_topic_that_was_left_out_and_is_back_lands_each_record_once(lab: SinkLab, kafka_broker: Broker) -> None:
    """Records without a file's id: only their place in Kafka tells that they have landed."""
    stays, back = f"{lab.topic}-stays", f"{lab.topic}-back"
    wanted = []
    for number, read in enumerate(([stays, back], [stays], [stays, back])):
        for topic in (stays, back):
            if not number:
                kafka_broker.create_topic(topic, 1)
            send(kafka_broker.bootstrap, topic, 0, 3)
            wanted += [f"{topic}/0/{each}" for each in range(3)]
        (lab.directory / "sink.yml").write_text(
            f"kafka: {{hosts: ['{kafka_broker.bootstrap}'], topics: [{', '.join(read)}]}}\n"
            f"table.path: {lab.lines}\ncheckpoint.path: {lab.checkpoint}\nlost_offsets: continue\n"
        )
        lab.start("--available-now")
        assert lab.wait() == 0, lab.said()
    assert f"{back}/0: the checkpoint does not name what has landed before" in lab.said()
    assert ends(lab) == {stays: {"0": 9}, back: {"0": 9}}
    assert lab.messages() == sorted(wanted)


def ends(lab: SinkLab) -> dict[str, dict[str, int]]:
    """Of the last batch that is done, as Spark's offset log has them in its last line."""
    done = max((int(file.name) for file in lab.checkpoint.glob("commits/[0-9]*")), default=None)
    text = (lab.checkpoint / "offsets" / str(done)).read_text() if done is not None else "{}"
    return json.loads(text.splitlines()[-1])  # type: ignore[no-any-return]  # JSON


@pytest.fixture(scope="module")
def secure_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureBroker]:
    with SecureBroker(tmp_path_factory.mktemp("secure")) as broker:
        broker.create_topic("sealed", 1)
        send(broker.bootstrap, "sealed", 0, 3)
        broker.add_user("scram", PASSWORD)
        yield broker


def sealed(host: str, directory: Path, ssl: dict[str, Any], mechanism: Any = "PLAIN", **more: Any) -> SinkConfig:
    more |= {"ssl": SourceSslConfig(enabled=True, **ssl), "sasl": SaslConfig(mechanism=mechanism)}
    return configured(host, directory, topics=("sealed",), **more)


@pytest.mark.parametrize("way", ["plain", "scram", "certificate", "without the host name"])
def test_admin_and_source_read_over_tls(
    way: str, secure_broker: SecureBroker, spark: SparkSession, tmp_path: Path
) -> None:
    trust: dict[str, Any] = {"certificate_authorities": (str(secure_broker.authority_file),)}
    user = {"username": "plain", "password": PASSWORD}
    match way:
        case "plain":
            config = sealed(secure_broker.secure, tmp_path, trust, **user)
        case "scram":
            config = sealed(secure_broker.secure, tmp_path, trust, "SCRAM-SHA-512", **(user | {"username": "scram"}))
        case "certificate":
            certificate, key = secure_broker.client(tmp_path)
            config = sealed(secure_broker.mutual, tmp_path, {**trust, "certificate": str(certificate), "key": str(key)})
        case _:
            by_number = secure_broker.secure.replace("localhost", "127.0.0.1")
            config = sealed(by_number, tmp_path, trust | {"verification_mode": "certificate"}, **user)
    assert PASSWORD not in repr(config)
    with Admin(spark, source.client_options(config)) as admin:
        end = admin.latest(topics.present(config.kafka, admin))
    assert end == {("sealed", 0): 3}
    assert source.between(spark, config, {("sealed", 0): 0}, end).count() == 3


@pytest.mark.parametrize(
    ("ssl", "user", "mechanism", "words"),
    [
        ({}, "plain", "PLAIN", r"refused the credentials \(kafka.username, kafka.password"),
        ({}, "scram", "SCRAM-SHA-512", r"refused the credentials \(kafka.username, kafka.password"),
        ({}, "scram", "SCRAM-SHA-256", r"look at kafka.sasl.mechanism"),
        (
            {"certificate_authorities": ()},
            "plain",
            "PLAIN",
            r"authority that is not trusted: .*certificate_authorities",
        ),
    ],
)
def test_what_is_wrong_with_the_security_is_said_and_no_secret_is(
    ssl: dict[str, Any], user: str, mechanism: str, words: str,
    secure_broker: SecureBroker, spark: SparkSession, tmp_path: Path,
) -> None:  # fmt: skip
    trust = {"certificate_authorities": (str(secure_broker.authority_file),)}
    config = sealed(secure_broker.secure, tmp_path, trust | ssl, mechanism, username=user, password="not the password")
    with Admin(spark, source.client_options(config)) as admin:
        assert "not the password" not in repr(admin)
        with pytest.raises(SinkError, match=words) as told:
            admin.names()
    assert f"cannot read from Kafka at {secure_broker.secure}: " in str(told.value)
    assert "not the password" not in str(told.value)
