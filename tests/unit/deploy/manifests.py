"""The manifests of deploy/kubernetes, as documents."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

KUBERNETES = Path(__file__).parents[3] / "deploy" / "kubernetes"
OF_SHIPPER = ("daemonset", "sidecar")
OF_SINK = ("sink", "sink-on-spark")
Document = dict[str, Any]


def documents(base: str) -> list[Document]:
    """Return what the kustomization of a directory consists of."""
    kustomization = yaml.safe_load((KUBERNETES / base / "kustomization.yaml").read_text())
    files = [KUBERNETES / base / name for name in kustomization["resources"]]
    return [document for file in files for document in yaml.safe_load_all(file.read_text())]


def pods_of(made: Sequence[Document]) -> Iterator[Document]:
    for document in made:
        if "template" in document.get("spec", {}):
            yield document["spec"]["template"]["spec"]


def containers(pod: Document) -> list[Document]:
    return [*pod.get("initContainers", []), *pod["containers"]]


def check_names(pod: Document) -> None:
    """Check that what containers of a pod mount and probe is there."""
    volumes = {volume["name"] for volume in pod["volumes"]}
    for container in containers(pod):
        assert {mount["name"] for mount in container["volumeMounts"]} <= volumes
        ports = {port["name"] for port in container.get("ports", [])}
        probes = [probe["httpGet"] for name, probe in container.items() if name.endswith("Probe")]
        assert {probe["port"] for probe in probes} <= ports
