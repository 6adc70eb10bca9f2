"""The manifests of deploy/kubernetes: what Kubernetes accepts, and that what those of the shipper name exists."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from log_shipper.config.text.units import parse_duration
from log_shipper.config.yaml.load import load
from log_shipper.shipper.clock import SystemClock
from log_shipper.shipper.kubernetes.access import ApiAccess
from log_shipper.shipper.kubernetes.watcher import ClusterWatcher, WatchScope
from log_shipper.shipper.options.model import ShipperConfig
from log_shipper.shipper.processors.add_kubernetes_metadata import AddKubernetesMetadataConfig
from tests.kubernetes_schemas import RELEASES, mistakes, needs_schemas
from tests.unit.deploy.manifests import (
    KUBERNETES,
    OF_SHIPPER,
    OF_SINK,
    Document,
    check_names,
    containers,
    documents,
    pods_of,
)

IMAGE_CONFIG = KUBERNETES.parent / "container" / "shipper.yml"
PROCESSING = KUBERNETES.parents[1] / "docs" / "guides" / "processing.md"
each_base = pytest.mark.parametrize("base", [*OF_SHIPPER, *OF_SINK])


def pods() -> Iterator[Document]:
    for base in OF_SHIPPER:
        yield from pods_of(documents(base))


def shipper_of(pod: Document) -> Document:
    (container,) = (container for container in containers(pod) if container["image"] == "kafka-log-shipper")
    return container


@needs_schemas
@pytest.mark.parametrize("release", RELEASES)
@each_base
def test_kubernetes_accepts_every_manifest(base: str, release: str) -> None:
    assert [problem for document in documents(base) for problem in mistakes(document, release)] == []


@needs_schemas
def test_a_misspelt_field_and_a_wrong_type_are_found() -> None:
    (daemonset,) = (document for document in documents("daemonset") if document["kind"] == "DaemonSet")
    pod = daemonset["spec"]["template"]["spec"]
    pod["terminationGracePeriod"] = 30
    pod["containers"][0]["readinessProbe"]["periodSeconds"] = "ten"
    problems = "\n".join(mistakes(daemonset, RELEASES[-1]))
    assert "'terminationGracePeriod' was unexpected" in problems
    assert "'ten' is not" in problems


def test_there_are_pods() -> None:
    assert len(list(pods())) == 3


def test_what_a_container_mounts_and_probes_is_in_its_pod() -> None:
    for pod in pods():
        check_names(pod)
        probes = [probe["httpGet"] for name, probe in shipper_of(pod).items() if name.endswith("Probe")]
        assert {probe["path"] for probe in probes} <= {"/healthz", "/readyz"}


def test_the_shipper_may_write_to_its_data_only() -> None:
    for pod in pods():
        shipper = shipper_of(pod)
        rights = pod.get("securityContext", {}) | shipper["securityContext"]
        assert rights["readOnlyRootFilesystem"] is True
        assert rights["allowPrivilegeEscalation"] is False
        assert (rights["capabilities"], rights["seccompProfile"]) == ({"drop": ["ALL"]}, {"type": "RuntimeDefault"})
        writable = [mount["mountPath"] for mount in shipper["volumeMounts"] if not mount.get("readOnly")]
        assert writable == [load(IMAGE_CONFIG, ShipperConfig, env={"KAFKA_HOSTS": "k", "KAFKA_TOPIC": "t"}).path.data]


def test_a_sidecar_starts_before_its_program_and_is_not_root() -> None:
    for document in documents("sidecar"):
        pod = document["spec"]["template"]["spec"]
        (sidecar,) = pod["initContainers"]
        assert (sidecar["image"], sidecar["restartPolicy"]) == ("kafka-log-shipper", "Always")
        assert "startupProbe" in sidecar
        assert pod["securityContext"]["runAsNonRoot"] is True


def test_a_sidecar_is_configured_by_variables_that_the_image_knows() -> None:
    known = set(re.findall(r"\$\{(\w+):", IMAGE_CONFIG.read_text()))
    for document in documents("sidecar"):
        variables = shipper_of(document["spec"]["template"]["spec"])["env"]
        environ = {variable["name"]: variable.get("value", "set") for variable in variables}
        assert set(environ) <= known
        config = load(IMAGE_CONFIG, ShipperConfig, env=environ)
        assert config.file_inputs[0].read_until_eof.enabled


def test_a_pod_is_given_more_time_than_a_stop_takes() -> None:
    (node_agent, *sidecars) = pods()
    config = load(KUBERNETES / "daemonset" / "shipper.yml", ShipperConfig, env={"KAFKA_HOSTS": "kafka:9092"})
    assert node_agent["terminationGracePeriodSeconds"] > 2 * config.shutdown_timeout
    for pod in sidecars:
        variables = {variable["name"]: variable.get("value", "") for variable in shipper_of(pod)["env"]}
        timeout = parse_duration(variables["SHIPPER_SHUTDOWN_TIMEOUT"])
        assert pod["terminationGracePeriodSeconds"] > 2 * timeout


def test_the_configuration_of_the_node_agent_is_accepted() -> None:
    config = load(KUBERNETES / "daemonset" / "shipper.yml", ShipperConfig, env={"KAFKA_HOSTS": "kafka:9092"})
    assert (config.notes, config.warnings) == ((), ())
    (pod,) = (document for document in documents("daemonset") if document["kind"] == "DaemonSet")
    mounts = {mount["mountPath"] for mount in shipper_of(pod["spec"]["template"]["spec"])["volumeMounts"]}
    assert {config.path.data, "/var/log"} <= mounts


def test_the_account_may_read_what_add_kubernetes_metadata_asks_for_and_nothing_else() -> None:
    role, binding, account, daemonset = (
        next(document for document in documents("daemonset") if document["kind"] == kind)
        for kind in ("ClusterRole", "ClusterRoleBinding", "ServiceAccount", "DaemonSet")
    )
    watcher = ClusterWatcher(WatchScope(), ApiAccess("localhost", 1, "the test"), SystemClock())
    (rule,) = role["rules"]
    assert rule == {"apiGroups": [""], "resources": list(watcher.watches), "verbs": ["get", "list", "watch"]}
    (of_documentation,) = (block for block in _yaml_blocks(PROCESSING) if block.get("kind") == "ClusterRole")
    (always, for_cron_jobs) = of_documentation["rules"]
    assert rule == always
    assert for_cron_jobs == {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["get"]}
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    assert binding["subjects"][0]["name"] == account["metadata"]["name"]
    assert daemonset["spec"]["template"]["spec"]["serviceAccountName"] == account["metadata"]["name"]


def test_the_node_agent_asks_for_no_cron_jobs_which_its_account_may_not_read() -> None:
    config = load(KUBERNETES / "daemonset" / "shipper.yml", ShipperConfig, env={"KAFKA_HOSTS": "kafka:9092"})
    (processor,) = (item for item in config.processors if isinstance(item, AddKubernetesMetadataConfig))
    assert not processor.add_resource_metadata.cronjob


def _yaml_blocks(page: Path) -> Iterator[Document]:
    for block in re.findall(r"^```yaml\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL):
        loaded = yaml.safe_load(block)
        if isinstance(loaded, dict):  # other blocks are lists: parts of a configuration
            yield loaded


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
@each_base
def test_kustomize_makes_manifests_of_it(base: str) -> None:
    done = subprocess.run(["kubectl", "kustomize", KUBERNETES / base], capture_output=True, text=True, check=True)
    made = list(yaml.safe_load_all(done.stdout))
    assert len(made) >= len(documents(base))
    images = [container["image"] for pod in pods_of(made) for container in containers(pod)]
    assert all(image.startswith(("registry.example/", "docker.io/")) for image in images)
    names = {document["metadata"]["name"] for document in made if document["kind"] == "ConfigMap"}
    used = {v["configMap"]["name"] for pod in pods_of(made) for v in pod["volumes"] if "configMap" in v}
    assert used == names
