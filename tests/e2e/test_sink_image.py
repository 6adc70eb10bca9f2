"""The container image of the sink: built, and run as the manifest of Kubernetes has it."""

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from deltalake import DeltaTable

from demo.broker import Broker
from tests.e2e.containers import Container, Mount, Spec, built_image
from tests.e2e.running import REPOSITORY, await_true
from tests.e2e.sinking import PATIENCE, send
from tests.object_store import ObjectStore

pytestmark = pytest.mark.slow("builds an image")
MAX_MEMORY = 1024**3  # bytes, which the manifest requests: of a sink that has hardly anything to do
STATE = "/var/lib/spark-sink"


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built_image("sink", tmp_path_factory.mktemp("image"))


@pytest.fixture
def sink(tmp_path: Path, kafka_broker: Broker, topic_name: str) -> Spec:
    """The sink as its manifest starts it: what it writes is on two volumes."""
    mounts = []
    for name, inside in (("state", STATE), ("tmp", "/tmp")):
        directory = tmp_path / name
        directory.mkdir()
        directory.chmod(0o775)  # of group 0, as the container's user
        mounts.append(Mount(directory, inside, read_only=False))
    kafka_broker.create_topic(topic_name, 1)
    environ = {"KAFKA_HOSTS": kafka_broker.bootstrap, "KAFKA_TOPICS": topic_name, "TABLE_PATH": f"{STATE}/logs"}
    return Spec(environ=environ, mounts=mounts, shares_network=True)


def landed(place: str | Path, options: Mapping[str, str] | None = None) -> int:
    """Return how many rows a table has."""
    store = dict(options or {})
    if not DeltaTable.is_deltatable(str(place), store):
        return 0
    return int(DeltaTable(str(place), storage_options=store).to_pyarrow_dataset().count_rows())


def test_a_sink_without_its_variables_names_them(run: Callable[[Spec], Container]) -> None:
    with run(Spec()) as container:
        assert container.wait() == 1
    for variable in ("KAFKA_HOSTS", "KAFKA_TOPICS", "TABLE_PATH"):
        assert f"variable {variable} is not set" in container.log


@pytest.mark.kafka
def test_a_pod_lands_each_line_once_also_after_one_that_took_the_checkpoint_with_it(
    run: Callable[[Spec], Container], sink: Spec, tmp_path: Path, kafka_broker: Broker, topic_name: str
) -> None:
    state = tmp_path / "state"
    with run(sink) as pod:
        send(kafka_broker.bootstrap, topic_name, 0, 500)
        await_true(lambda: landed(state / "logs") == 500, lambda: pod.log, PATIENCE)
        assert json.loads(pod.exec("curl", "-fsS", "localhost:5067/health").stdout)["status"] == "ok"
        assert pod.memory() < MAX_MEMORY
        assert pod.stop() == 0, pod.log
    shutil.rmtree(state / "checkpoint")
    with run(sink) as pod:
        send(kafka_broker.bootstrap, topic_name, 0, 100)
        await_true(lambda: landed(state / "logs") >= 600, lambda: pod.log, PATIENCE)
        assert pod.stop() == 0, pod.log
    assert landed(state / "logs") == 600


@pytest.mark.kafka
def test_the_variables_of_the_compose_file_land_lines_in_a_bucket(
    run: Callable[[Spec], Container], sink: Spec, kafka_broker: Broker, topic_name: str, object_store: ObjectStore
) -> None:
    compose = yaml.safe_load((REPOSITORY / "deploy" / "compose.yml").read_text())
    table = f"{object_store.create_bucket()}/logs"
    here = {"TABLE_PATH": table, "AWS_ENDPOINT": object_store.endpoint}
    environ = {**compose["services"]["sink"]["environment"], **(sink.environ or {}), **here}
    with run(replace(sink, environ=environ)) as pod:
        send(kafka_broker.bootstrap, topic_name, 0, 500)
        await_true(lambda: landed(table, object_store.options) == 500, lambda: pod.log, PATIENCE)
        assert pod.stop() == 0, pod.log
