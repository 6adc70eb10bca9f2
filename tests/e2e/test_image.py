"""The container image of the shipper: built, and run as a sidecar, and in the place of Filebeat's image."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from demo.broker import Broker
from log_shipper import VERSION
from tests.e2e.containers import Container, Mount, Spec, built_image
from tests.e2e.running import Topic, await_true

pytestmark = pytest.mark.slow("builds an image")
CRI = "2026-11-25T03:00:00.000000001Z stdout F {}\n"
POD = "web-7d4b9c_shop_web-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.log"
# What Elastic's manifest for a DaemonSet has, and the values of its Helm chart: deploy/kubernetes in elastic/beats, and
# filebeat in elastic/helm-charts.
DAEMONSET = ("-c", "/etc/filebeat.yml", "-e")
CHART = ("-e", "-E", "http.enabled=true")
LIVENESS = ("sh", "-c", "#!/usr/bin/env bash -e\ncurl --fail 127.0.0.1:5066\n")
READINESS = ("sh", "-c", "#!/usr/bin/env bash -e\nfilebeat test output\n")
OF_THE_MANIFEST = """
filebeat.inputs:
- type: filestream
  id: kubernetes-container-logs
  paths: [/var/log/containers/*.log]
  parsers:
  - container: ~
  prospector:
    scanner:
      fingerprint.enabled: true
      symlinks: true
  file_identity.fingerprint: ~
  processors:
  - add_kubernetes_metadata:
      host: ${NODE_NAME}
      matchers: [{logs_path: {logs_path: /var/log/containers/}}]
processors:
- add_cloud_metadata:
- add_host_metadata:
cloud.id: ${ELASTIC_CLOUD_ID}
cloud.auth: ${ELASTIC_CLOUD_AUTH}
"""
OF_THE_CHART = """
filebeat.inputs:
- type: container
  paths: [/var/log/containers/*.log]
  processors:
  - add_kubernetes_metadata:
      host: ${NODE_NAME}
      matchers: [{logs_path: {logs_path: /var/log/containers/}}]
"""
ELASTICSEARCH = """
output.elasticsearch:
  hosts: ['${ELASTICSEARCH_HOST:elasticsearch}:${ELASTICSEARCH_PORT:9200}']
"""
MAX_MEMORY = 60_000_000  # bytes, of a sidecar that has hardly anything to do
TO_FILE = "output.file: {path: /usr/share/filebeat/data/out}\n"


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built_image("shipper", tmp_path_factory.mktemp("image"))


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """The directories of a node that Filebeat's manifests mount."""
    for name in ("log/containers", "docker", "data"):
        (tmp_path / "node" / name).mkdir(parents=True)
    return tmp_path / "node"


def of_filebeat(node: Path, config: str, inside: str, args: tuple[str, ...]) -> Spec:
    """Return how Filebeat's manifests start their image: as root, with these directories and variables."""
    file = node / "filebeat.yml"
    file.write_text(config)
    file.chmod(0o600)
    mounts = [
        Mount(file, inside),
        Mount(node / "data", "/usr/share/filebeat/data", read_only=False),
        Mount(node / "docker", "/var/lib/docker/containers"),
        Mount(node / "log", "/var/log"),
    ]
    environ = {"NODE_NAME": "node-1", "ELASTIC_CLOUD_ID": "", "ELASTIC_CLOUD_AUTH": ""}
    return Spec(args=args, environ=environ, mounts=mounts, user=0)


def log(node: Path, *texts: str) -> None:
    """Write as the kubelet does: a file of the pod, and a link to it that has the names."""
    file = node / "log" / "pods" / "shop_web-7d4b9c_0123" / "web" / "0.log"
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a") as opened:
        opened.write("".join(map(CRI.format, texts)))
    link = node / "log" / "containers" / POD
    if not link.is_symlink():
        link.symlink_to(Path("/var/log") / file.relative_to(node / "log"))


def arrived(node: Path) -> list[str]:
    written = node / "data" / "out" / "shipper"
    lines = written.read_text().split("\n")[:-1] if written.exists() else []
    return [json.loads(line)["message"] for line in lines]


def test_other_tools_take_the_image(archive: Path) -> None:
    command = ["skopeo", "inspect", "--config", f"oci-archive:{archive}"]
    config = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)["config"]
    assert (config["User"], config["Entrypoint"]) == ("1000:0", ["shipper-entrypoint"])
    assert config["Labels"]["org.opencontainers.image.version"] == VERSION


def test_a_sidecar_without_its_variables_names_them(run: Callable[[Spec], Container]) -> None:
    with run(Spec()) as container:
        assert container.wait() == 1
    assert "variable KAFKA_HOSTS is not set" in container.log
    assert "variable KAFKA_TOPIC is not set" in container.log


@pytest.mark.kafka
def test_a_sidecar_ships_all_that_its_program_wrote(
    run: Callable[[Spec], Container], tmp_path: Path, kafka_broker: Broker, topic: Topic
) -> None:
    logs, state = tmp_path / "logs", tmp_path / "state"
    for directory in (logs, state):
        directory.mkdir(mode=0o775)
        directory.chmod(0o775)  # of group 0, as the container's user
    environ = {"KAFKA_HOSTS": kafka_broker.bootstrap, "KAFKA_TOPIC": topic.name, "POD_NAME": "web-1"}
    environ |= {"SHIPPER_HTTP_PORT": "0"}
    mounts = [Mount(logs, "/logs"), Mount(state, "/var/lib/shipper", read_only=False)]
    with run(Spec(environ=environ, mounts=mounts, shares_network=True)) as sidecar:
        await_true(lambda: sidecar.exec("shipper", "test", "health", "--ready").returncode == 0, sidecar.log)
        (logs / "app.log").write_text("first\n")
        topic.await_message("first")
        assert sidecar.memory() < MAX_MEMORY
        sidecar.pause()
        lines = [f"line {number}" for number in range(3000)]
        (logs / "other.log").write_text("\n".join([*lines, "the last words"]))
        sidecar.terminate()
        sidecar.resume()
        assert sidecar.wait() == 0, sidecar.log
    topic.await_message("the last words")
    assert [record.value["message"] for record in topic.records][1:] == [*lines, "the last words"]
    assert topic.records[0].value["kubernetes"]["pod"]["name"] == "web-1"


def test_the_manifest_of_filebeat_runs_with_only_the_image_changed(
    run: Callable[[Spec], Container], node: Path
) -> None:
    long = "x" * 1024  # with its fingerprints a shorter file is not read
    log(node, long, "one")
    spec = of_filebeat(node, OF_THE_MANIFEST + TO_FILE, "/etc/filebeat.yml", DAEMONSET)
    with run(spec) as agent:
        await_true(lambda: arrived(node) == [long, "one"], agent.log)
        assert agent.stop() == 0
    log(node, "two")
    with run(spec) as agent:
        await_true(lambda: "two" in arrived(node), agent.log)
        assert agent.stop() == 0
    assert arrived(node) == [long, "one", "two"], "the positions are on the node"
    assert (node / "data" / "registry").is_dir()


def test_the_values_of_the_chart_of_filebeat_run_with_only_the_image_changed(
    run: Callable[[Spec], Container], node: Path
) -> None:
    log(node, "one")
    with run(of_filebeat(node, OF_THE_CHART + TO_FILE, "/usr/share/filebeat/filebeat.yml", CHART)) as agent:
        await_true(lambda: arrived(node) == ["one"], agent.log)
        for probe in (LIVENESS, READINESS, ("shipper", "test", "health")):
            probed = agent.exec(*probe)
            assert probed.returncode == 0, probed
        assert agent.stop() == 0


def test_the_output_of_the_manifest_is_refused_with_what_to_write_instead(
    run: Callable[[Spec], Container], node: Path
) -> None:
    with run(of_filebeat(node, OF_THE_MANIFEST + ELASTICSEARCH, "/etc/filebeat.yml", DAEMONSET)) as agent:
        assert agent.wait() == 1
    assert "output.elasticsearch: not supported" in agent.log
    assert "output.kafka" in agent.log
