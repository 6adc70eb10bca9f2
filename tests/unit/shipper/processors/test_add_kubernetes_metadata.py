"""add_kubernetes_metadata: from paths, links, and the files of the runtimes."""

import json
from pathlib import Path
from typing import Any

import pytest

from log_shipper.shipper.event import Doc
from log_shipper.shipper.processor.metadata.pod_paths import PodPlace, pod_of
from log_shipper.shipper.processors.add_kubernetes_metadata import (
    AddKubernetesMetadata,
    AddKubernetesMetadataConfig,
    LogsPathMatcher,
    UnsupportedMatcher,
)
from tests.metadata_lab import MetadataLab

ID, SANDBOX = "ab" * 32, "cd" * 32
LINK = f"/var/log/containers/web-7d_shop_nginx-{ID}.log"
POD = "/var/log/pods/shop_web-7d_u-1/nginx/0.log"
DOCKER = f"/var/lib/docker/containers/{ID}/{ID}-json.log"
WEB = {"pod": {"name": "web-7d"}, "namespace": "shop", "container": {"name": "nginx"}}
WEB_UID = {**WEB, "pod": {"name": "web-7d", "uid": "u-1"}}
PLACE = {"pod": "web-7d", "namespace": "shop", "container": "nginx"}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (LINK, PodPlace(**PLACE, id=ID)),
        (f"/host{LINK}.gz", PodPlace(**PLACE, id=ID)),
        (f"/var/log/containers/a-b-c_ns_x-y-{ID}.log", PodPlace("a-b-c", "", "ns", "x-y", ID)),
        (POD, PodPlace(**PLACE, uid="u-1")),
        ("/var/log/pods/shop_web-7d_u-1/nginx/3.log.20260101-000000.gz", PodPlace(**PLACE, uid="u-1")),
        ("/var/lib/kubelet/pods/u-1/volumes/logs/app.log", PodPlace(uid="u-1")),
        (f"/var/lib/kubelet/pods/u-1/volumes/logs/other_shop_app-{ID}.log", PodPlace(uid="u-1")),
        ("/var/lib/kubelet/pods/u-1/volumes/logs/shop_other_u-2/app/0.log", PodPlace(uid="u-1")),
        ("/var/lib/kubelet/pods/u-1/volumes/kubelet/pods/u-2/app.log", PodPlace(uid="u-1")),
        (DOCKER, PodPlace(id=ID)),
        ("/var/log/syslog", PodPlace()),
        ("/var/log/containers/odd.log", PodPlace()),
        ("/var/log/pods/shop_web_u/nginx/previous.txt", PodPlace()),
    ],
)
def test_a_path_tells_what_it_can(path: str, expected: PodPlace) -> None:
    assert pod_of(path) == expected


class Node:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.lab = MetadataLab()

    def step(self, **options: Any) -> AddKubernetesMetadata:
        config = AddKubernetesMetadataConfig(hostfs=str(self.root), **options)
        return AddKubernetesMetadata(config, self.lab.context, {"NODE_NAME": ""})

    def record(self, path: str | Path, doc: Doc | None = None, **options: Any) -> Doc:
        self.lab.open_file(path)
        record = self.lab.records(self.step(**options), [doc or {}])[0]
        return {name: record[name] for name in ("kubernetes", "container") if name in record}

    def write(self, name: str, content: Doc) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content))

    def docker(self, identity: str, **labels: str) -> None:
        config = {"Image": "nginx:1.25", "Labels": {name.replace("__", "."): value for name, value in labels.items()}}
        self.write(f"var/lib/docker/containers/{identity}/config.v2.json", {"ID": identity, "Config": config})

    def link(self, name: str, to: str) -> Path:
        path = self.root / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(self.root / to.lstrip("/"))
        return path


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


@pytest.mark.parametrize(
    ("path", "doc", "options", "expected"),
    [
        (LINK, {}, {}, {"kubernetes": WEB, "container": {"id": ID}}),
        (POD, {}, {}, {"kubernetes": WEB_UID}),
        (POD, {}, {"node": "n1"}, {"kubernetes": {**WEB_UID, "node": {"name": "n1"}}}),
        ("/var/log/syslog", {}, {}, {}),
        (DOCKER, {}, {}, {}),
        (POD, {"kubernetes": {"x": 1}}, {}, {"kubernetes": {"x": 1}}),
        (
            POD,
            {"kubernetes": {"x": 1, "namespace": "own"}},
            {"append_fields": True},
            {"kubernetes": {**WEB_UID, "x": 1, "namespace": "own"}},
        ),
        (POD, {"y": 1}, {}, {"kubernetes": WEB_UID}),
        (
            POD,
            {},
            {"matchers": (LogsPathMatcher(logs_path="/var/log/pods"),), "default_matchers": False},
            {"kubernetes": WEB_UID},
        ),
        (POD, {}, {"matchers": (LogsPathMatcher(logs_path="/var/log/containers"),), "default_matchers": False}, {}),
        (POD, {}, {"matchers": (UnsupportedMatcher(),)}, {"kubernetes": WEB_UID}),
    ],
)
def test_what_is_added(node: Node, path: str, doc: Doc, options: dict[str, Any], expected: Doc) -> None:
    assert node.record(path, doc, **options) == expected


def test_it_is_added_once_for_a_file(node: Node) -> None:
    node.record(POD)
    assert node.lab.costs_nothing


def test_the_node_is_that_of_the_environment(node: Node) -> None:
    made = AddKubernetesMetadata(AddKubernetesMetadataConfig(), node.lab.context, {"NODE_NAME": "n2"})
    node.lab.open_file(POD)
    assert node.lab.records(made)[0]["kubernetes"]["node"] == {"name": "n2"}


def test_a_link_tells_the_uid_and_the_file_the_id(node: Node) -> None:
    path = node.link(LINK, POD)
    everything = {"kubernetes": WEB_UID, "container": {"id": ID}}
    assert node.record(path) == everything
    assert node.record(node.root / POD[1:]) == everything


def test_a_link_in_a_volume_does_not_lead_to_another_pod(node: Node) -> None:
    path = node.link("/var/lib/kubelet/pods/u-9/volumes/logs/app.log", LINK)
    assert node.record(path) == {"kubernetes": {"pod": {"uid": "u-9"}}}


def test_links_of_docker_are_followed_to_the_container(node: Node) -> None:
    path = node.link(LINK, POD)
    node.link(POD, DOCKER)
    node.docker(ID)
    found = node.record(path)
    assert found["container"] == {"id": ID, "runtime": "docker", "image": {"name": "nginx:1.25"}}


def test_docker_has_names_and_the_labels_of_the_pod(node: Node) -> None:
    node.docker(
        ID,
        io__kubernetes__pod__name="web-7d",
        io__kubernetes__pod__namespace="shop",
        io__kubernetes__pod__uid="u-1",
        io__kubernetes__container__name="nginx",
        io__kubernetes__sandbox__id=SANDBOX,
        own="no",
    )
    node.docker(SANDBOX, app="web", app__tier="x", io__kubernetes__pod__name="web-7d", annotation__note="1")
    labelled = {**WEB_UID, "labels": {"app": "web", "app_tier": "x"}}
    assert node.record(DOCKER)["kubernetes"] == labelled
    assert node.record(DOCKER, include_labels=("app",))["kubernetes"]["labels"] == {"app": "web"}
    assert node.record(DOCKER, exclude_labels=("app",))["kubernetes"]["labels"] == {"app_tier": "x"}
    assert node.record(DOCKER, labels_dedot=False)["kubernetes"]["labels"] == {"app": {"value": "web", "tier": "x"}}
    assert node.record(DOCKER, include_annotations=("note",))["kubernetes"]["annotations"] == {"note": "1"}


@pytest.mark.parametrize(
    ("path", "is_found"),
    [
        (f"/var/log/other/{ID}.log", True),
        (f"/var/log/other/{ID}/app.log", True),
        (f"/var/log/other/{ID}-json.log.1", True),
        (f"/var/log/other/app-{ID}.log", False),
        (f"/var/log/other/{ID}ab.log", False),
        (f"/var/log/another/{ID}.log", False),
        (f"/var/lib/kubelet/pods/u-9/volumes/logs/{ID}.log", False),
    ],
)
def test_a_container_id_behind_a_logs_path_is_that_of_the_file(node: Node, path: str, is_found: bool) -> None:
    labels = {"pod.name": "web-7d", "pod.namespace": "shop", "pod.uid": "u-1", "container.name": "nginx"}
    node.docker(ID, **{f"io.kubernetes.{name}": value for name, value in labels.items()})
    paths = ("/var/log/other", "/var/lib/kubelet/pods/u-9/volumes/logs/")
    matchers = tuple(LogsPathMatcher(logs_path=where) for where in paths)
    kubernetes = node.record(path, matchers=matchers).get("kubernetes", {})
    assert (kubernetes.get("pod", {}).get("name") == "web-7d") is is_found


@pytest.mark.parametrize("place", ["run/containerd", "run/k3s/containerd"])
def test_containerd_has_names_and_the_image(node: Node, place: str) -> None:
    cri = "io.kubernetes.cri."
    annotations = {
        f"{cri}sandbox-name": "web-7d",
        f"{cri}sandbox-namespace": "shop",
        f"{cri}sandbox-uid": "u-1",
        f"{cri}container-name": "nginx",
        f"{cri}image-name": "nginx:1.25",
    }
    node.write(f"{place}/io.containerd.runtime.v2.task/k8s.io/{ID}/config.json", {"annotations": annotations})
    assert node.record(LINK) == {
        "kubernetes": WEB_UID,
        "container": {"id": ID, "runtime": "containerd", "image": {"name": "nginx:1.25"}},
    }


def test_what_was_not_there_at_first_is_looked_for_again(node: Node) -> None:
    made = node.step()
    path = node.root / POD[1:]
    node.lab.open_file(path)
    assert "container" not in node.lab.records(made)[0]
    node.link(LINK, POD)
    node.lab.clock.advance(4)
    assert "container" not in node.lab.records(made)[0]
    node.lab.clock.advance(2)
    assert node.lab.records(made)[0]["container"] == {"id": ID}
