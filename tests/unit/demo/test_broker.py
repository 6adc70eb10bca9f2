"""The fixture itself: a broker that can be stopped, killed and frozen, and leaves nothing behind."""

from pathlib import Path

import pytest
from confluent_kafka import KafkaException

from demo.broker import Broker, BrokerFailed
from demo.broker_config import cluster_of, server_properties

pytestmark = pytest.mark.kafka


@pytest.mark.slow("starts the broker three times")
def test_it_answers_on_the_same_port_with_the_same_topics_after_stop_and_kill(tmp_path: Path) -> None:
    with Broker(tmp_path / "kafka") as broker:
        broker.create_topic("logs", 3)
        address = broker.bootstrap
        broker.restart()
        broker.kill()
        assert not broker.running
        broker.start()
        assert broker.bootstrap == address
        assert len(broker.admin().list_topics(timeout=60).topics["logs"].partitions) == 3
    assert not broker.running


def test_a_frozen_broker_does_not_answer_until_it_is_thawed(tmp_path: Path) -> None:
    with Broker(tmp_path / "kafka") as broker:
        broker.freeze()
        with pytest.raises(KafkaException):
            broker.admin().list_topics(timeout=1)
        broker.thaw()
        assert broker.admin().list_topics(timeout=60).brokers


def test_a_broker_that_cannot_start_reports_the_reason_and_leaves_no_process(tmp_path: Path) -> None:
    broker = Broker(tmp_path / "kafka", properties={"num.partitions": "none"})
    with pytest.raises(BrokerFailed, match=r"num\.partitions"):
        broker.start()
    assert not broker.running


def test_extra_properties_go_over_ours(tmp_path: Path) -> None:
    text = server_properties(tmp_path, cluster_of(1)[0], {"num.partitions": "7"})
    assert [line for line in text.splitlines() if line.startswith("num.partitions=")] == ["num.partitions=7"]


def test_the_nodes_of_a_cluster_know_each_other_and_share_no_port(tmp_path: Path) -> None:
    nodes = cluster_of(3)
    assert [node.number for node in nodes] == [1, 2, 3]
    assert len({port for node in nodes for port in (node.port, node.controller_port)}) == 6
    assert {(node.cluster, node.voters) for node in nodes} == {(nodes[0].cluster, nodes[0].voters)}
    assert f"3@127.0.0.1:{nodes[2].controller_port}" in nodes[0].voters.split(",")
    assert "node.id=2" in server_properties(tmp_path, nodes[1], {}).splitlines()
