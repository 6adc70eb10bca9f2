"""What is reported of pods, as a fake of the watcher's copy shows them."""

from collections.abc import Callable, Sized
from pathlib import Path
from typing import Any, cast

import pytest

from log_shipper.shipper.autodiscover.discoveries import ContainerReport
from log_shipper.shipper.autodiscover.kubernetes_pods import PodProvider, containers_of
from log_shipper.shipper.autodiscover.reporter import ContainerReporter
from log_shipper.shipper.event import Doc
from log_shipper.shipper.kubernetes.cache import Objects, Pods
from log_shipper.shipper.kubernetes.fields import PodFields
from log_shipper.shipper.kubernetes.objects import Named, Node, namespace_of, node_of, pod_of
from log_shipper.shipper.kubernetes.watcher import ClusterWatcher
from log_shipper.shipper.options.kubernetes import AddResourceMetadataConfig, LabelsConfig
from tests.containers import Rules
from tests.fakes import ManualClock
from tests.kubernetes_api import container, namespace, node, pod

A, B = "a" * 64, "b" * 64
FIELDS = PodFields(LabelsConfig(), AddResourceMetadataConfig())


class Copy:
    """The watcher's copy of the cluster, without its threads: a test changes it."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self.clock = ManualClock()
        self.pods = Pods(self.clock, 60.0)
        self.namespaces: Objects[Named] = Objects(self.clock, 60.0, changed)
        self.nodes: Objects[Node] = Objects(self.clock, 60.0, changed)
        self.is_listed = True
        self.listen = self.pods.listen
        self._version = 0

    def put(self, document: Doc) -> None:
        self._version += 1
        document["metadata"]["resourceVersion"] = str(self._version)
        self.pods.store(pod_of(document))

    def delete(self, document: Doc) -> None:
        self.pods.delete(pod_of(document))


class Cluster:
    def __init__(self, rules: Rules) -> None:
        self.reports: list[ContainerReport] = []
        reporter = ContainerReporter(
            rules.configurer("type: kubernetes\nhints.enabled: true\n"), 60.0, self.reports.append
        )
        self.copy: Copy | None = None
        self.provider = PodProvider(reporter, FIELDS.build, self._made)

    def _made(self, changed: Callable[[], None]) -> ClusterWatcher:
        self.copy = Copy(changed)
        return cast("ClusterWatcher", self.copy)

    @property
    def api(self) -> Copy:
        assert self.copy is not None
        return self.copy

    def taken(self) -> list[str]:
        """Return the reports since the last call: + for a container, - for its end."""
        words = [("+" if report.container else "-") + report.key for report in self.reports]
        self.reports.clear()
        return words


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    return Cluster(Rules(tmp_path))


def test_a_pod_owns_what_has_its_uid_and_not_what_has_whatever_it_was_annotated_with() -> None:
    """Else it would have the logs of others read as its own, by a hint for paths that contain "log"."""
    item = pod("web", containers=[container("nginx", A)], annotations={"kubernetes.io/config.hash": "log"})
    [made] = containers_of(pod_of(item), None, None, FIELDS.build)
    assert made.owned == (A, "uid-web")


def test_a_container_is_reported_when_it_was_created_and_when_its_pod_is_deleted(cluster: Cluster) -> None:
    cluster.api.put(pod("web", containers=[container("nginx", identity="")]))
    assert cluster.taken() == []
    running = pod("web", containers=[container("nginx", identity=A)])
    cluster.api.put(running)
    assert cluster.taken() == [f"+uid-web.nginx.{A}"]
    cluster.api.put(running)
    assert cluster.taken() == [], "nothing about it has changed"
    cluster.api.delete(running)
    assert cluster.taken() == [f"-uid-web.nginx.{A}"]


def test_a_restart_makes_another_container_and_ends_the_one_before(cluster: Cluster) -> None:
    cluster.api.put(pod("web", containers=[container("nginx", identity=A), container("sidecar", identity="c" * 64)]))
    cluster.taken()
    again = [container("nginx", identity=B, restarts=1), container("sidecar", identity="c" * 64)]
    cluster.api.put(pod("web", containers=again))
    assert cluster.taken() == [f"+uid-web.nginx.{B}", f"-uid-web.nginx.{A}"]


def test_a_pod_that_has_completed_is_read_and_ended_once(cluster: Cluster) -> None:
    spec, status = container("job", identity=A)
    completed = pod("job", phase="Succeeded", containers=[(spec, {**status, "state": {"terminated": {}}})])
    cluster.api.put(completed)
    assert cluster.taken() == [f"+uid-job.job.{A}", f"-uid-job.job.{A}"]
    cluster.api.put(completed)
    cluster.api.namespaces.store(namespace_of(namespace("shop")))
    assert cluster.taken() == []


def test_labels_that_change_and_a_namespace_that_is_known_later_are_reported(cluster: Cluster) -> None:
    cluster.api.put(pod("web", labels={"app": "web"}))
    cluster.taken()
    cluster.api.put(pod("web", labels={"app": "api"}))
    assert len(cluster.taken()) == 1
    cluster.api.namespaces.store(namespace_of(namespace("shop", team="red")))
    (report,) = cluster.reports
    assert report.container is not None
    assert report.container.metadata["kubernetes"]["namespace_labels"] == {"team": "red"}


def test_what_is_known_of_a_container_and_what_its_events_get() -> None:
    document = pod("web", labels={"app.kubernetes.io/name": "web"}, annotations={"co.elastic.logs/enabled": "true"})
    inherited: dict[str, Any] = namespace("shop")
    inherited["metadata"]["annotations"] = {"co.elastic.logs/exclude_lines": "x", "co.elastic.logs/enabled": "false"}
    (found,) = containers_of(pod_of(document), namespace_of(inherited), node_of(node("n1")), FIELDS.build)
    assert found.label == "pod shop/web, container nginx"
    expected = {
        "kubernetes.container.name": "nginx",
        "kubernetes.container.image": "registry.example/nginx:1",
        "kubernetes.container.runtime": "containerd",
        "container.id": found.id,
        "kubernetes.pod.uid": "uid-web",
        "kubernetes.namespace": "shop",
        "kubernetes.node.name": "n1",
        "kubernetes.labels.app.kubernetes.io/name": "web",
        "kubernetes.labels.app_kubernetes_io/name": "web",
        "kubernetes.annotations.co.elastic.logs/enabled": "true",
        "host": "10.1.0.7",
        "port": "8080",
        "kubernetes.deployment.name": None,
        "kubernetes.pod": None,
    }
    assert {name: found.text(name) for name in expected} == expected
    assert found.annotations == {"co.elastic.logs/exclude_lines": "x", "co.elastic.logs/enabled": "true"}
    kubernetes = found.metadata["kubernetes"]
    assert kubernetes["container"] == {"name": "nginx"}
    assert kubernetes["labels"] == {"app_kubernetes_io/name": "web"}
    assert "annotations" not in kubernetes
    assert found.metadata["container"]["image"] == {"name": "registry.example/nginx:1"}


def test_what_needs_the_network_is_not_known_before_a_container_runs() -> None:
    spec, status = container("nginx", identity=A)
    document = pod("web", containers=[(spec, {**status, "state": {"waiting": {}}})])
    (found,) = containers_of(pod_of(document), None, None, FIELDS.build)
    assert found.text("host") is None


def kept(cluster: Cluster) -> list[int]:
    """How much is in each table that is kept by pod, or by container."""
    provider, pods = cluster.provider, cluster.api.pods
    tables: list[Sized] = [provider._pods, provider._keys, provider._around, provider._reporter._present]
    tables += [pods._pods, pods._by_name, pods._by_container, pods._deleted._expires]
    return list(map(len, tables))


def test_nothing_is_left_of_pods_that_came_and_went(cluster: Cluster) -> None:
    for number in range(5):
        identity = f"{number:064x}"
        item = pod(f"web-{number}", containers=[container("nginx", identity)])
        cluster.api.put(pod(f"web-{number}", containers=[container("nginx", "")]))
        cluster.api.put(item)
        cluster.api.put(pod(f"web-{number}", containers=[container("nginx", identity)], phase="Succeeded"))
        cluster.api.delete(item)
    cluster.api.clock.advance(61.0)
    cluster.api.put(pod("last", containers=[container("nginx", A)]))
    assert kept(cluster) == [1, 1, 1, 1, 1, 1, 1, 0]
