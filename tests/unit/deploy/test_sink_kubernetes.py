"""The manifests of the sink in deploy/kubernetes: that what they name exists, and what they may not."""

from pathlib import Path
from typing import Any

import pytest

from deploy.container.contents import IMAGES
from log_shipper.config.yaml.load import load
from log_shipper.spark_sink import commands
from log_shipper.spark_sink.__main__ import whole_parser
from log_shipper.spark_sink.options.model import SinkConfig
from tests.unit.deploy.manifests import KUBERNETES, OF_SINK, Document, check_names, documents

ENVIRON = {"KAFKA_HOSTS": "kafka:9092", "TABLE_PATH": "s3://lake/logs"}
each_base = pytest.mark.parametrize("base", OF_SINK)


def deployment(base: str) -> Document:
    (spec,) = (document["spec"] for document in documents(base) if document["kind"] == "Deployment")
    return dict(spec)


def container(base: str) -> tuple[Document, Document]:
    """Return the pod of the sink, and its only container."""
    pod = deployment(base)["template"]["spec"]
    (only,) = pod["containers"]
    return pod, only


def config(base: str) -> SinkConfig:
    return load(KUBERNETES / base / "sink.yml", SinkConfig, env=ENVIRON)


@each_base
def test_there_is_never_a_second_sink(base: str) -> None:
    assert (deployment(base)["replicas"], deployment(base)["strategy"]) == (1, {"type": "Recreate"})


@each_base
def test_what_the_sink_mounts_and_probes_is_in_its_pod(base: str) -> None:
    pod, sink = container(base)
    check_names(pod)
    (port,) = (port["containerPort"] for port in sink["ports"] if port["name"] == "http")
    assert (config(base).http.enabled, config(base).http.port) == (True, port)
    probes = [probe["httpGet"] for name, probe in sink.items() if name.endswith("Probe")]
    assert [probe["path"] for probe in probes] == ["/health"] * 3


@each_base
def test_a_probe_waits_longer_than_a_request_to_a_store_is_retried(base: str) -> None:
    probe = container(base)[1]["livenessProbe"]
    assert probe["periodSeconds"] * probe["failureThreshold"] > 180


@each_base
def test_the_sink_has_no_rights_and_writes_to_its_volumes_only(base: str) -> None:
    pod, sink = container(base)
    rights: dict[str, Any] = pod["securityContext"] | sink["securityContext"]
    assert (rights["runAsNonRoot"], rights["readOnlyRootFilesystem"]) == (True, True)
    assert (rights["allowPrivilegeEscalation"], rights["capabilities"]) == (False, {"drop": ["ALL"]})
    assert rights["seccompProfile"] == {"type": "RuntimeDefault"}
    writable = {mount["mountPath"] for mount in sink["volumeMounts"] if not mount.get("readOnly")}
    assert str(Path(config(base).checkpoint.path).parent) in writable
    assert writable <= {*IMAGES["sink"].writable, "/tmp"}


@each_base
def test_the_configuration_of_the_sink_is_accepted(base: str) -> None:
    assert (config(base).notes, config(base).warnings) == ((), ())
    mounts = {mount["mountPath"] for mount in container(base)[1]["volumeMounts"]}
    arguments = container(base)[1]["args"]
    options = whole_parser().parse_args(arguments[arguments.index("run") :])
    assert options.command == commands.run
    assert [str(file.parent) for file in options.files] == ["/etc/spark-sink"]
    assert "/etc/spark-sink" in mounts


def test_executors_reach_the_driver_by_the_ports_of_its_service() -> None:
    (service,) = (document for document in documents("sink-on-spark") if document["kind"] == "Service")
    pod, driver = container("sink-on-spark")
    settings = dict(word.removeprefix("--conf=").split("=", 1) for word in driver["args"] if word.startswith("--conf="))
    ports = {str(port["port"]) for port in service["spec"]["ports"]}
    assert {settings["spark.driver.port"], settings["spark.driver.blockManager.port"]} == ports
    assert settings["spark.driver.host"] == service["metadata"]["name"]
    labels = deployment("sink-on-spark")["template"]["metadata"]["labels"]
    assert service["spec"]["selector"].items() <= labels.items()
    (role,) = (document for document in documents("sink-on-spark") if document["kind"] == "Role")
    of_executors = settings["spark.kubernetes.authenticate.executor.serviceAccountName"]
    assert {pod["serviceAccountName"], of_executors} == {role["metadata"]["name"]}
    assert settings["spark.kubernetes.container.image"] == driver["image"]
