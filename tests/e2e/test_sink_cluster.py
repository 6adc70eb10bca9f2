"""The sink on a cluster of two workers, by the command of docs/guides/cluster.md."""

from pathlib import Path

import pytest

from demo.broker import Broker
from tests.e2e.clustering import WORKERS, Cluster
from tests.e2e.running import await_true
from tests.e2e.sinking import PARTITIONS, PATIENCE, SinkLab

pytestmark = [pytest.mark.kafka, pytest.mark.slow("a cluster: five JVMs on two cores")]

LINES = 240_000  # enough that each batch has a share for each core, which takes a while to write
BATCHES = 3
ONE_BATCH = f"max_offsets_per_trigger={LINES // BATCHES}"


def send_lines(lab: SinkLab) -> None:
    for _ in range(BATCHES):  # the client's queue has room for one
        lab.send_lines(LINES // BATCHES)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "cluster").mkdir()
    return tmp_path / "cluster"


def test_a_topic_is_landed_by_every_worker_of_a_cluster(lab: SinkLab, kafka_broker: Broker, directory: Path) -> None:
    kafka_broker.create_topic(lab.topic, PARTITIONS)
    send_lines(lab)
    lab.send_bad(b"no JSON", None)
    with Cluster(directory) as cluster:
        cluster.submit("-c", str(lab.directory / "sink.yml"), "-E", ONE_BATCH, "--available-now")
        assert cluster.wait() == 0, cluster.log_text()
        tasks, batches = cluster.tasks(), cluster.batches()
    lab.expect_all()
    assert tasks.keys() == {f"worker{number}" for number in range(WORKERS)}, tasks
    assert sum(batch["landed"] for batch in batches) == LINES
    assert batches[-1]["lag"] == 0
    assert all(batch["seconds"] > 0 for batch in batches)


def test_each_line_lands_once_though_an_executor_is_killed_twice(
    lab: SinkLab, kafka_broker: Broker, directory: Path
) -> None:
    kafka_broker.create_topic(lab.topic, PARTITIONS)
    send_lines(lab)

    def kill_in_a_batch() -> None:
        landed = lab.batches()
        await_true(lambda: is_killed(cluster, lab), "an executor writes, and is killed", PATIENCE)
        await_true(lambda: lab.batches() > landed, "the batch lands", PATIENCE)

    with Cluster(directory) as cluster:
        cluster.submit("-c", str(lab.directory / "sink.yml"), "-E", ONE_BATCH, "--available-now")
        kill_in_a_batch()
        kill_in_a_batch()
        assert cluster.wait() == 0, cluster.log_text()
        lost = cluster.lost_tasks()
    assert lost >= 2
    lab.expect_all()


def is_killed(cluster: Cluster, lab: SinkLab) -> bool:
    assert cluster.code is None, cluster.log_text()
    return cluster.kill_writer(lab.lines)


def test_executors_without_the_archive_are_refused_before_a_batch(
    lab: SinkLab, kafka_broker: Broker, directory: Path
) -> None:
    kafka_broker.create_topic(lab.topic, PARTITIONS)
    with Cluster(directory) as cluster:
        cluster.submit("-c", str(lab.directory / "sink.yml"), "--available-now", archives=False)
        assert cluster.wait() == 1
        log = cluster.log_text()
    assert "the Python of the executors is not the driver's" in log
    assert "msgspec is missing" in log
    assert not lab.checkpoint.exists()
