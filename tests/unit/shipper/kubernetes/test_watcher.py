"""The threads that keep pods, namespaces and nodes."""

import queue
import threading
from collections.abc import Iterator

import pytest

from log_shipper.shipper.clock import SystemClock
from log_shipper.shipper.kubernetes.api_error import ApiError
from log_shipper.shipper.kubernetes.cache import Change
from log_shipper.shipper.kubernetes.client import Client
from log_shipper.shipper.kubernetes.objects import namespace_of, node_of, pod_of
from log_shipper.shipper.kubernetes.watcher import MAX_REFUSED_START, ClusterWatcher, NodeName, WatchScope
from tests.fakes import ManualClock
from tests.kubernetes_api import Answer, KubernetesApi, namespace, node, pod

SECONDS = 30.0  # that a change may take


class Watched:
    """A watcher, and what its listener was called with."""

    def __init__(self, api: KubernetesApi, scope: WatchScope) -> None:
        self.wakes: queue.SimpleQueue[None] = queue.SimpleQueue()
        self.changes: queue.SimpleQueue[Change] = queue.SimpleQueue()
        self.watcher = ClusterWatcher(scope, api.access(), SystemClock(), lambda: self.wakes.put(None))
        self.watcher.listen(self.changes.put)
        self.watcher.start()

    def expect(self, kind: str, name: str) -> Change:
        change = self.changes.get(timeout=SECONDS)
        assert (change.kind, change.pod.name) == (kind, name)
        return change

    def wait_for(self, name: str, of: str) -> None:
        objects = getattr(self.watcher, of)
        while objects.get(name) is None:
            self.wakes.get(timeout=SECONDS)


@pytest.fixture
def watched(api: KubernetesApi) -> Iterator[Watched]:
    api.put("pods", pod("a"))
    api.put("pods", pod("far", node="n2"))
    api.put("nodes", node("n1", zone="z1"))
    api.put("nodes", node("n2"))
    api.put("namespaces", namespace("shop", team="red"))
    made = Watched(api, WatchScope(node="n1"))
    yield made
    made.watcher.close()


def test_pods_of_the_node_are_reported_when_they_come_change_and_go(api: KubernetesApi, watched: Watched) -> None:
    watched.expect("added", "a")
    api.put("pods", pod("b"))
    watched.expect("added", "b")
    api.put("pods", pod("b", phase="Succeeded"))
    change = watched.expect("changed", "b")
    assert change.pod.phase == "Succeeded"
    api.delete("pods", "b")
    watched.expect("deleted", "b")
    assert watched.watcher.pods.get_by_uid("uid-b") is not None  # for its last lines
    assert watched.watcher.pods.get_by_uid("uid-far") is None
    assert watched.watcher.is_listed


def test_the_own_node_and_all_namespaces_are_kept_beside_them(api: KubernetesApi, watched: Watched) -> None:
    watched.wait_for("n1", "nodes")
    watched.wait_for("shop", "namespaces")
    assert watched.watcher.nodes.get("n2") is None
    api.put("namespaces", namespace("new"))
    watched.wait_for("new", "namespaces")
    node_known, namespace_known = watched.watcher.nodes.get("n1"), watched.watcher.namespaces.get("shop")
    assert node_known is not None
    assert (node_known.hostname, node_known.labels) == ("n1.example", {"zone": "z1"})
    assert namespace_known is not None
    assert namespace_known.labels == {"team": "red"}


def test_a_change_of_a_pod_is_not_one_of_what_belongs_to_pods(api: KubernetesApi) -> None:
    """Autodiscover looks at all pods after such a change: too expensive for each of a thousand that come and go."""
    changes: list[None] = []
    watcher = ClusterWatcher(WatchScope(node="n1"), api.access(), SystemClock(), lambda: changes.append(None))
    watcher.pods.store(pod_of(pod("a")))
    assert changes == []
    watcher.nodes.store(node_of(node("n1")))
    watcher.namespaces.store(namespace_of(namespace("shop")))
    assert len(changes) == 2


def test_a_late_listener_learns_what_is_there(api: KubernetesApi, watched: Watched) -> None:
    watched.expect("added", "a")
    late: list[Change] = []
    stop = watched.watcher.listen(late.append)
    assert [(change.kind, change.pod.name) for change in late] == [("added", "a")]
    stop()
    api.wait_for_watches("pods", 1)  # which begins once the list is counted
    assert watched.watcher.counts().lists >= 1


def test_the_scope_decides_what_is_asked_for(api: KubernetesApi) -> None:
    made = Watched(api, WatchScope(whole_cluster=True, namespace="shop", with_nodes=False))
    api.wait_for_requests(3)
    made.watcher.close()
    asked = {request.path: request.parameters.get("fieldSelector") for request in api.requests}
    assert asked == {"/api/v1/namespaces/shop/pods": None, "/api/v1/namespaces": "metadata.name=shop"}
    first = {request.path: request.parameters.get("resourceVersion") for request in reversed(api.requests)}
    assert first == {"/api/v1/namespaces/shop/pods": None, "/api/v1/namespaces": "0"}  # many pods come in pages


def test_closing_ends_the_threads_also_while_nothing_comes(api: KubernetesApi) -> None:
    before = set(threading.enumerate())
    made = Watched(api, WatchScope(node="n1"))
    api.wait_for_watches("s", 3)  # of all kinds
    made.watcher.close(SECONDS)
    alive = set(threading.enumerate()) - before
    assert not [thread.name for thread in alive if thread.name.startswith("kubernetes-")]


class TestNode:
    @pytest.fixture
    def client(self, api: KubernetesApi) -> Iterator[Client]:
        made = Client(api.access(), SystemClock())
        yield made
        made.close()

    def name(self, configured: str = "", node_name: str = "", host: str = "pod-1") -> NodeName:
        environment = {"NODE_NAME": node_name} if node_name else {}
        self.clock = ManualClock()
        return NodeName(configured, "logging", self.clock, environment, host)

    def test_it_is_the_configured_one_or_that_of_the_environment(self, api: KubernetesApi, client: Client) -> None:
        assert self.name("own", "other").get(client) == "own"
        assert self.name("", "other").get(client) == "other"
        assert api.requests == []

    def test_else_it_is_that_of_the_own_pod_which_is_asked_for_once(self, api: KubernetesApi, client: Client) -> None:
        api.put("pods", pod("pod-1", namespace="logging", node="n7"))
        name = self.name()
        assert [name.get(client), name.get(client), len(api.requests)] == ["n7", "n7", 1]

    def test_a_pod_in_the_network_of_the_host_has_the_name_of_the_node(self, client: Client) -> None:
        assert self.name(host="n8").get(client) == "n8"

    def test_it_is_not_guessed_while_the_server_does_not_answer(self, api: KubernetesApi, client: Client) -> None:
        api.answers["/api/v1/namespaces/logging/pods/pod-1"] = Answer(500, "away")
        name = self.name()
        with pytest.raises(ApiError):
            name.get(client)
        api.answers.clear()
        api.put("pods", pod("pod-1", namespace="logging", node="n7"))
        assert name.get(client) == "n7"

    def test_nor_while_a_server_that_has_just_started_refuses_everything(
        self, api: KubernetesApi, client: Client
    ) -> None:
        path = "/api/v1/namespaces/logging/pods/pod-1"
        api.refuse(path, "get")
        name = self.name()
        with pytest.raises(ApiError):
            name.get(client)
        api.answers.clear()
        api.put("pods", pod("pod-1", namespace="logging", node="n7"))
        assert name.get(client) == "n7"

    def test_without_the_right_to_ask_it_is_the_name_of_the_host(self, api: KubernetesApi, client: Client) -> None:
        api.refuse("/api/v1/namespaces/logging/pods/pod-1", "get")
        name = self.name(host="pod-1")
        with pytest.raises(ApiError):
            name.get(client)
        self.clock.advance(MAX_REFUSED_START)
        assert name.get(client) == "pod-1"
