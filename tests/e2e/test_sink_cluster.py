"""The sink on a cluster of two workers, by the command of docs/cluster.md."""

from pathlib import Path

import pytest
from deltalake import DeltaTable

from demo.broker import Broker
from tests.e2e.clustering import WORKERS, Cluster
from tests.e2e.sinking import PARTITIONS, SinkLab

pytestmark = [pytest.mark.kafka, pytest.mark.slow("a cluster: five JVMs on two cores")]


def test_a_topic_is_landed_by_every_worker_of_a_cluster(lab: SinkLab, kafka_broker: Broker, tmp_path: Path) -> None:
    kafka_broker.create_topic(lab.topic, PARTITIONS)
    lab.send_lines(3000)
    lab.send_bad(b"no JSON", None)
    directory = tmp_path / "cluster"
    directory.mkdir()
    with Cluster(directory) as cluster:
        cluster.submit("-c", str(lab.directory / "sink.yml"), "--available-now")
        tasks, batches = cluster.tasks(), cluster.batches()
    assert lab.messages() == sorted(f"line {number}" for number in range(3000))
    assert lab.counts() == (3000, 2)
    assert DeltaTable(str(lab.lines)).to_pyarrow_dataset().count_rows() == 3000, "open to other programs too"
    assert tasks.keys() == {f"worker{number}" for number in range(WORKERS)}, tasks
    assert sum(batch["landed"] for batch in batches) == 3000
    assert batches[-1]["lag"] == 0
    assert all(batch["seconds"] > 0 for batch in batches)
