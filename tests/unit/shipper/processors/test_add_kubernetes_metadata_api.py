"""add_kubernetes_metadata with an API server: what events get of what it knows, and how long they wait for it."""

import json
import logging
import queue
import threading
import weakref
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from log_shipper.shipper.clock import SystemClock
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.event import Batch, Doc
from log_shipper.shipper.kubernetes.access import ApiAccess
from log_shipper.shipper.kubernetes.cluster import Cluster, Waking
from log_shipper.shipper.kubernetes.objects import namespace_of, node_of, pod_of
from log_shipper.shipper.kubernetes.watcher import ClusterWatcher, WatchScope
from log_shipper.shipper.options.kubernetes import AddResourceMetadataConfig, LabelsConfig
from log_shipper.shipper.processor import chain
from log_shipper.shipper.processor.metadata.pod_origins import PodOrigins
from log_shipper.shipper.processor.waiting import WaitingChain
from log_shipper.shipper.processors.add_kubernetes_metadata import AddKubernetesMetadata, AddKubernetesMetadataConfig
from tests.builders import messages, nothing, source
from tests.kubernetes_api import ID, KubernetesApi, container, kubeconfig, namespace, node, pod
from tests.metadata_lab import MetadataLab, collecting_nothing
from tests.processing import records, section

LINK = f"/var/log/containers/web-1_shop_nginx-{ID}.log"
POD = "/var/log/pods/shop_web-1_uid-web-1/nginx/0.log"
DOCKER = f"/var/lib/docker/containers/{ID}/{ID}-json.log"
VOLUME = "/var/lib/kubelet/pods/uid-web-1/volumes/logs/app.log"
NGINX = {"id": ID, "runtime": "containerd", "image": {"name": "registry.example/nginx:1"}}
WEB: Doc = {
    "pod": {"name": "web-1", "uid": "uid-web-1", "ip": "10.1.0.7"},
    "namespace": "shop",
    "node": {"name": "n1"},
    "container": {"name": "nginx"},
}


class Node:
    """A node whose API server shows what the test puts."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.lab = MetadataLab()
        self.woken = 0
        self.waking = Waking(self._wake)
        scope = WatchScope(node="n1")
        self.watcher = ClusterWatcher(scope, ApiAccess("localhost", 1, "the test"), self.lab.clock, self.waking)
        self.cluster = Cluster(self.watcher, self.waking)
        self.version = 0
        for watch in self.watcher.watches.values():
            watch.is_listed = True

    def _wake(self) -> None:
        self.woken += 1

    def put(self, document: Doc) -> None:
        self.version += 1
        document["metadata"]["resourceVersion"] = str(self.version)
        match document["kind"]:
            case "Pod":
                self.watcher.pods.store(pod_of(document))
            case "Namespace":
                self.watcher.namespaces.store(namespace_of(document))
            case "Node":
                self.watcher.nodes.store(node_of(document))

    def step(self, **options: Any) -> AddKubernetesMetadata:
        config = AddKubernetesMetadataConfig(hostfs=str(self.root), **options)
        return AddKubernetesMetadata(config, self.lab.context, {"NODE_NAME": "env"}, self.cluster)

    def record(self, path: str = POD, made: AddKubernetesMetadata | None = None, **options: Any) -> Doc:
        self.lab.open_file(path)
        record = self.lab.records(made or self.step(**options))[0]
        return {name: record[name] for name in ("kubernetes", "container") if name in record}

    def kubernetes(self, path: str = POD, **options: Any) -> Doc:
        members: Doc = self.record(path, **options)["kubernetes"]
        return members


@pytest.fixture
def host(tmp_path: Path) -> Node:
    return Node(tmp_path)


@pytest.mark.parametrize("path", [LINK, POD, DOCKER])
def test_a_pod_is_found_by_each_kind_of_path(host: Node, path: str) -> None:
    host.put(pod("web-1"))
    assert host.record(path) == {"kubernetes": WEB, "container": NGINX}


@pytest.mark.parametrize("runtime", ["docker", "cri-o"])
def test_the_runtime_is_that_of_the_containers_id(host: Node, runtime: str) -> None:
    host.put(pod("web-1", containers=[container("nginx", ID, runtime)]))
    assert host.record(LINK)["container"] == {**NGINX, "runtime": runtime}


def test_a_volume_belongs_to_a_pod_and_to_no_container(host: Node) -> None:
    host.put(pod("web-1"))
    assert host.record(VOLUME) == {"kubernetes": {name: WEB[name] for name in WEB if name != "container"}}


def test_the_log_of_an_earlier_container_has_no_id(host: Node) -> None:
    host.put(pod("web-1", containers=[container("nginx", ID, restarts=3)]))
    assert host.record(POD.replace("0.log", "3.log"))["container"] == NGINX
    assert host.record(POD.replace("0.log", "2.log"))["container"] == {"image": NGINX["image"]}


def test_a_static_pod_is_found_by_the_hash_that_its_path_has(host: Node) -> None:
    host.put(pod("etcd-n1", uid="real", annotations={"kubernetes.io/config.mirror": "hash"}))
    assert host.kubernetes("/var/log/pods/shop_etcd-n1_hash/nginx/0.log")["pod"]["uid"] == "real"


def test_labels_and_annotations_are_chosen_and_dedotted(host: Node) -> None:
    labels = {"app.kubernetes.io/name": "web", "team": "red"}
    host.put(pod("web-1", labels=labels, annotations={"note.a": "1", "other": "2"}))
    made = host.kubernetes()
    assert made["labels"] == {"app_kubernetes_io/name": "web", "team": "red"}
    assert "annotations" not in made
    assert host.kubernetes(include_labels=("team",))["labels"] == {"team": "red"}
    assert host.kubernetes(exclude_labels=("team",))["labels"] == {"app_kubernetes_io/name": "web"}
    assert host.kubernetes(include_annotations=("note.a",))["annotations"] == {"note_a": "1"}
    dotted = host.kubernetes(labels_dedot=False, annotations_dedot=False, include_annotations=("note.a",))
    assert dotted["labels"]["app"] == {"kubernetes": {"io/name": "web"}}
    assert dotted["annotations"] == {"note": {"a": "1"}}


def test_namespace_and_node_add_theirs(host: Node) -> None:
    host.put(pod("web-1"))
    host.put(namespace("shop", team="red"))
    host.put(node("n1", zone="z1"))
    made = host.kubernetes()
    assert (made["namespace"], made["namespace_uid"], made["namespace_labels"]) == ("shop", "uid-shop", {"team": "red"})
    assert made["node"] == {"name": "n1", "uid": "uid-n1", "hostname": "n1.example", "labels": {"zone": "z1"}}
    off = AddResourceMetadataConfig(namespace=LabelsConfig(enabled=False), node=LabelsConfig(exclude_labels=("zone",)))
    made = host.kubernetes(add_resource_metadata=off)
    assert {name for name in made if name.startswith("namespace")} == {"namespace"}
    assert "labels" not in made["node"]
    off = AddResourceMetadataConfig(node=LabelsConfig(enabled=False))
    assert host.kubernetes(add_resource_metadata=off)["node"] == {"name": "n1"}


@pytest.mark.parametrize(
    ("owner", "labels", "options", "expected"),
    [
        (("StatefulSet", "db"), {}, {}, {"statefulset": {"name": "db"}}),
        (("DaemonSet", "agent"), {}, {}, {"daemonset": {"name": "agent"}}),
        (("ReplicaSet", "web-7d"), {"pod-template-hash": "7d"}, {}, {"replicaset": {"name": "web-7d"}}),
        (
            ("ReplicaSet", "web-7d"),
            {"pod-template-hash": "7d"},
            {"deployment": True},
            {"replicaset": {"name": "web-7d"}, "deployment": {"name": "web"}},
        ),
        (("ReplicaSet", "alone"), {}, {"deployment": True}, {"replicaset": {"name": "alone"}}),
        (
            ("ReplicaSet", "alone"),
            {"pod-template-hash": "7d"},
            {"deployment": True},
            {"replicaset": {"name": "alone"}},
        ),
        (("Job", "daily-1"), {}, {"cronjob": True}, {"job": {"name": "daily-1"}}),
        (("Node", "n1"), {}, {}, {}),
    ],
)
def test_the_owner_is_named_by_its_kind(
    host: Node, owner: tuple[str, str], labels: dict[str, str], options: dict[str, Any], expected: Doc
) -> None:
    host.put(pod("web-1", owner=owner, labels=labels))
    made = host.kubernetes(add_resource_metadata=AddResourceMetadataConfig(**options))
    assert {name: value for name, value in made.items() if name not in {*WEB, "labels"}} == expected


def test_what_changes_reaches_the_next_events_and_costs_nothing_while_it_does_not(host: Node) -> None:
    host.put(pod("web-1", labels={"v": "1"}))
    made = host.step()
    assert host.record(made=made)["kubernetes"]["labels"] == {"v": "1"}
    assert host.lab.costs_nothing
    host.put(pod("web-1", labels={"v": "2"}))
    host.lab.records(made)
    assert host.record(made=made)["kubernetes"]["labels"] == {"v": "2"}


def test_what_is_known_of_a_file_is_one_object_until_it_changes(host: Node) -> None:
    host.put(pod("web-1"))
    origins = PodOrigins(host.root, 60.0, host.cluster, host.lab.clock)
    first = origins.origin_of(LINK)
    assert origins.origin_of(LINK) is first
    host.put(namespace("shop"))
    assert origins.origin_of(LINK) is not first


def test_a_processor_that_no_input_has_any_more_is_freed_at_once(host: Node) -> None:
    """And with it, if it was the last one, the watcher: the collector never looks at what was there at a reload."""
    host.put(pod("web-1"))
    made = host.step()
    host.record(made=made)
    freed = weakref.ref(made)
    with collecting_nothing():
        del made
        assert freed() is None


def test_the_last_lines_of_a_deleted_pod_have_its_labels(host: Node) -> None:
    host.put(pod("web-1", labels={"app": "web"}))
    made = host.step()
    assert host.record(made=made)["kubernetes"]["labels"]
    host.watcher.pods.replace_all([])
    assert host.kubernetes(LINK)["labels"]
    host.lab.clock.advance(61)
    host.watcher.pods.replace_all([])
    assert host.record(made=made)["kubernetes"]["labels"] == {"app": "web"}  # the file is known
    assert "labels" not in host.kubernetes(LINK)


def test_a_pod_with_the_name_of_the_one_before_is_another_one(host: Node) -> None:
    host.put(pod("web-1", uid="new", labels={"v": "2"}))
    assert "labels" not in host.kubernetes(POD)
    assert host.kubernetes(POD)["pod"] == {"name": "web-1", "uid": "uid-web-1"}


def test_what_the_server_does_not_know_has_what_the_path_reveals(host: Node) -> None:
    assert host.record(LINK) == {
        "kubernetes": {
            "pod": {"name": "web-1"},
            "namespace": "shop",
            "container": {"name": "nginx"},
            "node": {"name": "env"},
        },
        "container": {"id": ID},
    }


class TestWaits:
    @staticmethod
    def waits_until(made: AddKubernetesMetadata, path: str = POD) -> float:
        return made.waits_until(Batch(source(path=path), messages(["x"]), 0.0, nothing))

    def test_a_file_waits_until_its_pod_is_known(self, host: Node) -> None:
        made, now = host.step(), host.lab.clock.monotonic()
        assert self.waits_until(made) == now + 2
        host.lab.clock.advance(1)
        assert self.waits_until(made) == now + 2
        assert host.woken == 0
        host.put(pod("web-1"))
        assert host.woken == 1
        host.put(namespace("shop"))
        assert self.waits_until(made) == 0
        host.woken = 0
        for name in ("web-2", "web-3", "web-4"):
            host.put(pod(name))
        assert host.woken <= 1  # no one waits

    def test_it_waits_once_for_a_pod_and_not_for_each_of_its_files(self, host: Node) -> None:
        made, clock = host.step(), host.lab.clock
        assert self.waits_until(made) > clock.monotonic()
        clock.advance(2)
        sidecar = POD.replace("nginx", "sidecar")
        assert 0 < self.waits_until(made) == self.waits_until(made, sidecar) <= clock.monotonic()
        assert self.waits_until(made, POD.replace("web-1", "web-2")) > clock.monotonic()

    def test_events_that_waited_in_vain_are_counted(self, host: Node) -> None:
        made, metrics = host.step(), host.lab.metrics
        waiting = WaitingChain([made], metrics, host.lab.clock, awaiting=[made])
        lines = [Batch(source(path=POD), messages(["x", "y"]), 0.0, nothing) for _ in range(2)]
        parts = [part for line in lines for part in waiting(line) or ()]
        assert [part.done for part in parts] == [False, False]
        host.lab.clock.advance(2)
        for part in parts:
            part.resume()
        assert [part.done for part in parts] == [True, True]
        assert metrics.metadata_timeouts == 4
        assert waiting(Batch(source(path=POD), messages(["z"]), 0.0, nothing)) is None
        assert metrics.metadata_timeouts == 4

    def test_it_waits_for_the_namespace_and_the_node_too(self, host: Node) -> None:
        host.put(pod("web-1"))
        made = host.step()
        assert self.waits_until(made) > 0
        host.put(namespace("shop"))
        host.watcher.watches["nodes"].is_listed = False
        assert self.waits_until(made) > 0
        host.watcher.watches["nodes"].is_refused = True
        assert self.waits_until(made) == 0

    def test_a_namespace_that_may_not_be_read_is_not_waited_for(self, host: Node) -> None:
        host.put(pod("web-1"))
        host.watcher.watches["namespaces"].is_refused = True
        assert self.waits_until(host.step()) == 0

    def test_without_the_right_to_read_pods_nothing_waits(self, host: Node) -> None:
        host.watcher.watches["pods"].is_refused = True
        made = host.step()
        assert self.waits_until(made) == 0
        host.watcher.watches["pods"].is_refused = False
        assert self.waits_until(made) > 0

    @pytest.mark.parametrize("path", ["/var/log/syslog", "/var/log/containers/odd.log"])
    def test_a_file_of_no_pod_does_not_wait(self, host: Node, path: str) -> None:
        assert self.waits_until(host.step(), path) == 0

    def test_a_container_of_docker_alone_does_not_wait(self, host: Node) -> None:
        assert self.waits_until(host.step(), DOCKER) > 0
        config = host.root / "var/lib/docker/containers" / ID / "config.v2.json"
        config.parent.mkdir(parents=True)
        config.write_text('{"Config": {"Labels": {"a": "b"}}}')
        assert self.waits_until(host.step(), DOCKER) == 0

    def test_files_outside_of_the_matchers_do_not_wait(self, host: Node) -> None:
        assert self.waits_until(host.step(default_matchers=False)) == 0

    def test_waiting_can_be_switched_off(self, host: Node) -> None:
        assert self.waits_until(host.step(wait_for_metadata=0.0)) == 0

    def test_without_a_server_nothing_waits(self, host: Node) -> None:
        made = AddKubernetesMetadata(AddKubernetesMetadataConfig(), host.lab.context)
        assert self.waits_until(made) == 0


class TestConnecting:
    @pytest.mark.parametrize(
        ("options", "level"), [({"node": "n1"}, logging.WARNING), ({}, logging.INFO)], ids=["wanted", "by default"]
    )
    def test_without_a_server_that_is_reported_and_the_path_is_used(
        self, host: Node, caplog: pytest.LogCaptureFixture, options: dict[str, Any], level: int
    ) -> None:
        """A warning where it is wanted; the processor alone is in each configuration that is as installed."""
        caplog.set_level(logging.INFO)
        made = AddKubernetesMetadataConfig(**options).build(host.lab.context)
        assert host.record(made=made)["kubernetes"]["pod"] == {"name": "web-1", "uid": "uid-web-1"}
        [record] = caplog.records
        assert "no API server found: the agent is not in a pod" in record.getMessage()
        assert record.levelno == level

    def test_a_kubeconfig_that_cannot_be_used_is_an_error(self, host: Node) -> None:
        config = AddKubernetesMetadataConfig(kube_config=str(host.root / "none"))
        with pytest.raises(StartError, match="correct kube_config"):
            config.build(host.lab.context)

    def test_a_batch_waits_for_its_pod_in_a_chain_of_a_real_configuration(self, host: Node) -> None:
        wakes: queue.SimpleQueue[None] = queue.SimpleQueue()
        context = replace(host.lab.context, clock=SystemClock(), wake=lambda: wakes.put(None))
        with KubernetesApi() as api:
            api.put("namespaces", namespace("shop"))
            config = host.root / "config"
            config.write_text(json.dumps(kubeconfig(api)))
            text = f"- add_kubernetes_metadata: {{kube_config: {config}, node: n1, wait_for_metadata: 1m}}"
            made = chain.build(section(text).processors, context)
            assert made is not None
            waiting = Batch(source(path=POD), messages(["x"]), 0.0, nothing)
            parts = made(waiting)
            assert parts is not None
            api.put("pods", pod("web-1", labels={"app": "web"}))
            while not parts[0].done:
                wakes.get(timeout=30)
                parts[0].resume()
            [record] = records(waiting)
            assert record["kubernetes"]["labels"] == {"app": "web"}
            with collecting_nothing():
                del made, parts, waiting  # and with them the watcher
            for thread in [thread for thread in threading.enumerate() if thread.name.startswith("kubernetes-")]:
                thread.join(30)
                assert not thread.is_alive()
