"""A lookup creates no topic on a broker with auto.create.topics.enable, which is Kafka's default."""

import uuid
from collections.abc import Callable

import pytest

from demo.broker import Broker
from log_shipper.shipper.cli.checks import print_step
from log_shipper.shipper.inputs.kafka import client as input_client
from log_shipper.shipper.inputs.kafka.options import KafkaInputConfig
from log_shipper.shipper.options.kafka import KafkaOutputConfig
from log_shipper.shipper.output.kafka_settings import clients, latest
from log_shipper.shipper.output.positions_topic import PositionsTopic
from log_shipper.shipper.outputs.kafka_check import check_kafka
from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.kafka import client as sink_client
from log_shipper.spark_sink.kafka.admin import Admin
from log_shipper.spark_sink.options.kafka import KafkaSource


def positions(hosts: tuple[str, ...], topic: str) -> bool:
    store = PositionsTopic(topic, "web-1", clients(latest(KafkaOutputConfig(hosts=hosts, topic="logs"))))
    return "does not exist" not in store.inspect()


def output_topics(hosts: tuple[str, ...], topic: str) -> bool:
    store = PositionsTopic("positions", "web-1", clients(latest(KafkaOutputConfig(hosts=hosts, topic="logs"))))
    refused = store.refused([topic], 60.0)
    assert refused is not None
    return topic not in refused


def input_topics(hosts: tuple[str, ...], topic: str) -> bool:
    config = KafkaInputConfig(id="relay", hosts=hosts, topics=(topic,), group_id="group")
    return input_client.clients(config).topic_lookup().look_up([topic])[topic].exists


def sink_topics(hosts: tuple[str, ...], topic: str) -> bool:
    options = sink_client.client_options(KafkaSource(hosts=hosts, topics=(topic,)))
    with Admin(lambda: options) as admin:
        try:
            return bool(admin.partitions([topic]))
        except SinkError:
            return False


@pytest.mark.kafka
@pytest.mark.parametrize("looks_up", [positions, output_topics, input_topics, sink_topics])
def test_a_missing_topic_is_missing_each_time(
    looks_up: Callable[[tuple[str, ...], str], bool], creating_broker: Broker
) -> None:
    topic = f"missing-{uuid.uuid4().hex}"
    for _ in range(2):
        assert not looks_up((creating_broker.bootstrap,), topic)
        assert topic not in creating_broker.admin().list_topics(timeout=60).topics


@pytest.mark.kafka
def test_a_topic_that_the_broker_would_create_is_no_error_of_test_output(
    creating_broker: Broker, capsys: pytest.CaptureFixture[str]
) -> None:
    topic = f"missing-{uuid.uuid4().hex}"
    for _ in range(2):
        assert check_kafka(KafkaOutputConfig(hosts=(creating_broker.bootstrap,), topic=topic), print_step)
        assert "does not exist; the broker would create it with the first event... OK" in capsys.readouterr().out
        assert topic not in creating_broker.admin().list_topics(timeout=60).topics


@pytest.mark.kafka
def test_a_topic_that_the_broker_would_not_create_is_an_error_of_test_output(
    kafka_broker: Broker, capsys: pytest.CaptureFixture[str]
) -> None:
    config = KafkaOutputConfig(hosts=(kafka_broker.bootstrap,), topic=f"missing-{uuid.uuid4().hex}")
    assert not check_kafka(config, print_step)
    assert "Unknown topic or partition" in capsys.readouterr().out
