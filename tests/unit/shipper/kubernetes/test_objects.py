"""What is read of the documents of the API."""

from typing import Any

import pytest

from log_shipper.shipper.kubernetes.objects import Container, Owner, namespace_of, node_of, pod_of
from tests.kubernetes_api import container, namespace, node, pod


def test_a_pod_has_its_names_containers_and_owner() -> None:
    document = pod(
        "web-1",
        labels={"app": "web"},
        annotations={"note": "1"},
        owner=("ReplicaSet", "web"),
        containers=[container("nginx", "cd" * 32, "cri-o", restarts=2)],
    )
    document["status"]["containerStatuses"][0]["lastState"] = {"terminated": {"containerID": "cri-o://ef"}}
    document["spec"]["initContainers"] = [{"name": "first", "image": "i"}]
    read = pod_of(document)
    assert (read.name, read.namespace, read.uid, read.node, read.ip) == ("web-1", "shop", "uid-web-1", "n1", "10.1.0.7")
    assert (read.labels, read.annotations, read.owner) == ({"app": "web"}, {"note": "1"}, Owner("ReplicaSet", "web"))
    assert read.containers == (
        Container(
            name="nginx",
            image="registry.example/nginx:1",
            id="cd" * 32,
            runtime="cri-o",
            previous="ef",
            restarts=2,
            is_running=True,
            ports={"http": 8080},
        ),
        Container(name="first", image="i"),
    )


def test_a_static_pod_has_two_uids() -> None:
    static = pod_of(pod("etcd-n1", annotations={"kubernetes.io/config.mirror": "hash"}))
    assert static.uids == ("uid-etcd-n1", "hash")
    assert pod_of(pod("web")).uids == ("uid-web",)
    # Whoever may create a pod may write this one, with the uid of another's.
    assert pod_of(pod("web", annotations={"kubernetes.io/config.hash": "hash"})).uids == ("uid-web",)


def test_a_pod_is_terminated_when_none_of_its_containers_runs_any_more() -> None:
    assert not pod_of(pod("a")).is_terminated
    assert not pod_of(pod("a", phase="Succeeded")).is_terminated  # its status is behind
    ended = pod_of(pod("a", phase="Succeeded", containers=[container("x", "")]))
    assert ended.is_terminated
    deleted = pod("a", containers=[container("x", "")])
    deleted["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert pod_of(deleted).is_terminated


def test_a_node_has_its_hostname_and_a_namespace_its_labels() -> None:
    assert node_of(node("n1", zone="z")).hostname == "n1.example"
    assert node_of({"metadata": {"name": "n1"}}).hostname == ""
    assert namespace_of(namespace("shop", team="red")).labels == {"team": "red"}


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"metadata": 1, "spec": [], "status": "x"},
        {"metadata": {"name": 1, "labels": [1], "annotations": {"a": 1}, "ownerReferences": [1, {"controller": 1}]}},
        {"spec": {"containers": {"name": 1}}, "status": {"containerStatuses": [1, {"name": []}]}},
        {"status": {"addresses": [1, {"type": "Hostname", "address": 1}]}},
    ],
)
def test_a_damaged_document_has_less(document: dict[str, Any]) -> None:
    read = pod_of(document)
    assert (read.name, read.labels, read.annotations, read.owner, read.containers) == ("", {}, {}, None, ())
    assert node_of(document).hostname == ""
