"""Settings of Java's client, from the time when the sink read with it."""

from collections.abc import Callable

import pytest

from log_shipper.spark_sink.options.java_options import OF_JAVA, OF_SPARK, SAME, librdkafka_name, taken_over
from log_shipper.spark_sink.options.model import SinkConfig
from tests.config_lab import ConfigLab

REST = "kafka.hosts: [a:1]\nkafka.topics: [logs]\ntable.path: /data/logs\ncheckpoint.path: /data/checkpoint\n"


@pytest.fixture
def problems(lab: ConfigLab) -> Callable[[str], list[str]]:
    return lambda text: lab.problems(REST + text, SinkConfig)


def test_what_librdkafka_has_too_is_taken_over_with_a_remark(lab: ConfigLab) -> None:
    text = "kafka.options: {kafka.fetch.max.wait.ms: 50, kafka.client.rack: a, kafka.isolation.level: read_uncommitted}"
    loaded = lab.load(REST + text, SinkConfig)
    assert loaded.kafka.options == {}
    assert loaded.kafka.librdkafka == {
        "fetch.wait.max.ms": 50,
        "client.rack": "a",
        "isolation.level": "read_uncommitted",
    }
    assert [note for note in loaded.notes if "is now kafka.librdkafka.fetch.wait.max.ms; write it there" in note]


def test_a_setting_of_librdkafka_wins_over_one_that_is_taken_over(lab: ConfigLab) -> None:
    text = "kafka: {options: {kafka.fetch.min.bytes: 1}, librdkafka: {fetch.min.bytes: 2}}"
    assert lab.load(REST + text, SinkConfig).kafka.librdkafka == {"fetch.min.bytes": 2}


@pytest.mark.parametrize(
    ("name", "way_out"),
    [
        ("kafka.sasl.jaas.config", "set kafka.username, kafka.password and kafka.sasl.mechanism"),
        ("kafka.sasl.mechanism", "set kafka.username"),
        ("kafka.ssl.truststore.location", "set kafka.ssl.certificate_authorities to the authorities in PEM"),
        ("kafka.ssl.keystore.location", "set kafka.ssl.certificate and kafka.ssl.key"),
        ("kafka.ssl.endpoint.identification.algorithm", "set kafka.ssl.verification_mode"),
        ("kafka.max.poll.records", "max_offsets_per_trigger limits a micro-batch"),
        ("kafka.bootstrap.servers", "set kafka.hosts instead"),
        ("kafka.group.id", "set kafka.group_id instead"),
        ("minPartitions", "the sink divides a micro-batch among the available cores"),
        ("failondataloss", "set lost_offsets instead"),
        ("startingOffsets", "is set by start"),
        ("fetchOffset.numRetries", "remove it"),
        ("kafka.interceptor.classes", "put settings of librdkafka under kafka.librdkafka"),
        ("fetch.min.bytes", "put settings of librdkafka under kafka.librdkafka"),
    ],
)
def test_the_others_are_refused_with_what_to_do(problems: Callable[[str], list[str]], name: str, way_out: str) -> None:
    (reported,) = problems(f"kafka.options: {{{name}: s3cret}}")
    assert f"kafka.options.{name}: " in reported
    assert way_out in reported
    assert "s3cret" not in reported


def test_no_setting_is_both_taken_over_and_refused() -> None:
    refused = [name for name in SAME if name in OF_JAVA or f"kafka.{name}" in OF_SPARK]
    assert refused == []
    assert [name for name in OF_SPARK if name != name.lower()] == []


def test_names_are_those_of_java_with_sparks_prefix() -> None:
    assert librdkafka_name("kafka.request.timeout.ms") == "socket.timeout.ms"
    assert librdkafka_name("request.timeout.ms") is None
    assert taken_over({"kafka.check.crcs": True, "minPartitions": 3}) == {"check.crcs": True}
