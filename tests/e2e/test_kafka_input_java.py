"""The input `kafka` reads what Kafka's own client for Java has written: every compression, headers, transactions."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway  # type: ignore[import-untyped]

from demo.broker import Broker
from demo.jars import broker_class_path
from log_shipper.spark_sink.platform.java import find_java
from log_shipper.spark_sink.platform.jvm import spark_home
from tests.e2e.relaying import Relay
from tests.e2e.running import Topic, await_true
from tests.java import FIRST_COMPILER

pytestmark = [pytest.mark.kafka, pytest.mark.slow("starts a JVM for the producer")]

TIME = 1_790_000_000_123  # milliseconds since 1970
BYTES = "org.apache.kafka.common.serialization.ByteArraySerializer"


@pytest.fixture(scope="module")
def java() -> Iterator[JavaGateway]:
    (py4j,) = (spark_home() / "jars").glob("py4j-*.jar")
    port = launch_gateway(
        jarpath=str(py4j),
        classpath=broker_class_path(),
        javaopts=FIRST_COMPILER.split(),
        java_path=str(find_java().java),
        die_on_exit=True,
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port))
    yield gateway
    gateway.shutdown()


@pytest.fixture
def relay(kafka_broker: Broker, topic_name: str, tmp_path: Path) -> Iterator[Relay]:
    source, target = f"{topic_name}-in", f"{topic_name}-out"
    for topic in (source, target):
        kafka_broker.create_topic(topic, 1)
    relay = Relay(tmp_path / "relay", kafka_broker, source, target)
    yield relay
    relay.end()


def producer(java: JavaGateway, broker: Broker, **settings: str) -> Any:
    properties = java.jvm.java.util.Properties()
    for name, value in {"bootstrap.servers": broker.bootstrap, **settings}.items():
        properties.put(name.replace("_", "."), value)
    for name in ("key.serializer", "value.serializer"):
        properties.put(name, BYTES)
    return java.jvm.org.apache.kafka.clients.producer.KafkaProducer(properties)


def record(java: JavaGateway, topic: str, value: str | None, key: str | None = None) -> Any:
    raw = None if value is None else value.encode()
    made = java.jvm.org.apache.kafka.clients.producer.ProducerRecord
    return made(topic, 0, TIME, None if key is None else key.encode(), raw)


def events(relay: Relay, topic: Topic, count: int) -> list[dict[str, Any]]:
    """Relay all that is there; return the events in order."""
    relay.start("--once")
    assert relay.process.wait(60) == 0, relay.log
    topic.await_records(count)
    topic.read(1.0)
    return [record.value for record in topic.records]


def test_every_compression_keys_headers_and_times(
    java: JavaGateway, kafka_broker: Broker, topic_name: str, relay: Relay
) -> None:
    expected = []
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        writing = producer(java, kafka_broker, compression_type=codec, linger_ms="50")
        for number in range(50):
            text = f"{codec} {number} Łódź " + "x" * 200
            made = record(java, f"{topic_name}-in", text, f"key {number}")
            made.headers().add("codec", codec.encode())
            made.headers().add("codec", b"again")
            writing.send(made)
            expected.append((text, f"key {number}", [f"codec: {codec}", "codec: again"]))
        writing.close()
    topic = Topic(kafka_broker, f"{topic_name}-out")
    try:
        relayed = events(relay, topic, len(expected))
    finally:
        topic.close()
    assert [(event["message"], event["kafka"]["key"], event["kafka"]["headers"]) for event in relayed] == expected
    assert {event["@timestamp"] for event in relayed} == {"2026-09-21T14:13:20.123Z"}
    assert [event["log"]["offset"] for event in relayed] == list(range(len(expected)))


def test_of_transactions_only_what_was_committed(
    java: JavaGateway, kafka_broker: Broker, topic_name: str, relay: Relay
) -> None:
    relay.options["isolation_level"] = "read_committed"
    writing = producer(java, kafka_broker, transactional_id=f"{topic_name}-java")
    writing.initTransactions()
    for number in range(6):
        writing.beginTransaction()
        writing.send(record(java, f"{topic_name}-in", f"{number}"))
        if number % 2:
            writing.flush()
            writing.abortTransaction()
        else:
            writing.commitTransaction()
    writing.close()
    topic = Topic(kafka_broker, f"{topic_name}-out")
    try:
        assert [event["message"] for event in events(relay, topic, 3)] == ["0", "2", "4"]
    finally:
        topic.close()
    await_true(lambda: "summary" in relay.log, "the summary")
