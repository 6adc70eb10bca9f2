"""The chart of deploy/helm makes the manifests of deploy/kubernetes, by Helm itself."""

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from log_shipper import VERSION
from tests.kubernetes_schemas import RELEASES, mistakes, needs_schemas
from tests.unit.deploy.manifests import KUBERNETES, Document, documents, pods_of

CHART = KUBERNETES.parent / "helm" / "kafka-log-shipper"
FILES = {"shipper.yml": "daemonset", "sink.yml": "sink"}
NAMESPACE = "logging"
CHECKSUM = "checksum/config"
BUILT = Path(os.environ.get("SHIPPER_CACHE", KUBERNETES.parents[1] / ".cache")) / "tools" / "helm"
HELM = str(BUILT) if BUILT.exists() else shutil.which("helm")
needs_helm = pytest.mark.skipif(HELM is None, reason="helm is not installed: script/tools --all builds it, with Go")
slow = pytest.mark.slow("needs Helm, which script/tools --all builds")


def helm(*words: str) -> subprocess.CompletedProcess[str]:
    assert HELM is not None
    return subprocess.run([HELM, *words], capture_output=True, text=True, check=False)


def rendered(*options: str, release: str = RELEASES[-1]) -> list[Document]:
    command = ("template", "logs", str(CHART), "--namespace", NAMESPACE, "--kube-version", f"{release}.0", *options)
    done = helm(*command)
    assert done.returncode == 0, done.stderr
    return [document for document in yaml.safe_load_all(done.stdout) if document]


def by_name(made: Sequence[Document]) -> dict[tuple[str, str], Document]:
    return {(document["kind"], document["metadata"]["name"]): document for document in made}


def plain() -> list[Document]:
    """Return what kustomize makes of both directories, but for the namespace, and the digests in names."""
    made: list[Document] = []
    for file, base in FILES.items():
        directory = KUBERNETES / base
        kustomization = yaml.safe_load((directory / "kustomization.yaml").read_text())
        (config,) = kustomization["configMapGenerator"]
        content = {file: (directory / file).read_text()}
        made.append({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": config["name"]}, "data": content})
        made += [document for document in documents(base) if document["kind"] != "Namespace"]
        images = {image["name"]: f"{image['newName']}:{image['newTag']}" for image in kustomization["images"]}
        for pod in pods_of(made):
            for container in pod["containers"]:
                container["image"] = images.get(container["image"], container["image"])
    return made


def annotations(made: Sequence[Document], kind: str) -> dict[str, Any]:
    (workload,) = (document for document in made if document["kind"] == kind)
    return dict(workload["spec"]["template"]["metadata"]["annotations"])


@pytest.mark.parametrize("file", FILES)
def test_the_configurations_are_those_of_the_manifests(file: str) -> None:
    assert (CHART / "files" / file).read_text() == (KUBERNETES / FILES[file] / file).read_text()


def test_the_chart_and_its_images_have_the_version_of_the_programs() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    tags = {values[part]["image"].rpartition(":")[2] for part in ("agent", "sink")}
    assert {chart["version"], chart["appVersion"], *tags} == {VERSION}


@slow
@needs_helm
def test_the_chart_makes_the_manifests() -> None:
    made = rendered()
    for document in made:
        if "template" in document.get("spec", {}):
            del document["spec"]["template"]["metadata"]["annotations"][CHECKSUM]
    assert by_name(made) == by_name(plain())


@slow
@needs_helm
def test_helm_finds_no_mistake_in_the_chart() -> None:
    done = helm("lint", "--strict", str(CHART))
    assert done.returncode == 0, done.stdout + done.stderr


@slow
@needs_helm
@needs_schemas
@pytest.mark.parametrize("release", RELEASES)
def test_kubernetes_accepts_what_the_chart_makes(release: str) -> None:
    options = ("--set", "sink.serviceAccountName=lake", "--set", "imagePullSecrets[0].name=registry")
    made = rendered(*options, release=release)
    assert [problem for document in made for problem in mistakes(document, release)] == []


@slow
@needs_helm
def test_a_configuration_of_your_own_is_used_as_it_is_and_restarts_the_pods(tmp_path: Path) -> None:
    own = tmp_path / "sink.yml"
    own.write_text('kafka.topics: ["{{ not a template }}"]\n')
    made = rendered("--set-file", f"sink.config={own}")
    assert by_name(made)["ConfigMap", "spark-sink"]["data"] == {"sink.yml": own.read_text()}
    assert annotations(made, "Deployment")[CHECKSUM] != annotations(rendered(), "Deployment")[CHECKSUM]
    assert annotations(made, "DaemonSet") == annotations(rendered(), "DaemonSet")


@slow
@needs_helm
@pytest.mark.parametrize(("part", "kind"), [("agent", "DaemonSet"), ("sink", "Deployment")])
def test_each_part_can_be_left_out(part: str, kind: str) -> None:
    left_out = {document["kind"] for document in rendered()} - {
        document["kind"] for document in rendered("--set", f"{part}.enabled=false")
    }
    assert kind in left_out


@slow
@needs_helm
@pytest.mark.parametrize("value", ["sink.configuration=x", "sinks.enabled=false", "agent.enabled=maybe"])
def test_a_value_that_the_chart_does_not_have_is_refused(value: str) -> None:
    done = helm("template", "logs", str(CHART), "--kube-version", f"{RELEASES[-1]}.0", "--set", value)
    assert done.returncode != 0
    assert re.search(r"additional properties|want boolean", done.stderr), done.stderr
