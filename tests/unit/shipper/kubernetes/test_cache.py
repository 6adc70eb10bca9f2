"""Pods by every name that a path may have of them, also after they were deleted."""

from typing import Any

import pytest

from log_shipper.shipper.kubernetes.cache import Change, Objects, Pods
from log_shipper.shipper.kubernetes.objects import Named, Pod, namespace_of, pod_of
from tests.fakes import ManualClock
from tests.kubernetes_api import ID, container, namespace, pod

OTHER = "cd" * 32
MIRROR = "kubernetes.io/config.mirror"


class PodsLab:
    def __init__(self) -> None:
        self.clock = ManualClock()
        self.pods = Pods(self.clock, keep_deleted=60)
        self.changes: list[Change] = []
        self.pods.listen(self.changes.append)
        self._version = 0

    def make(self, name: str = "web", **changes: Any) -> Pod:
        self._version += 1
        document = pod(name, **changes)
        document["metadata"]["resourceVersion"] = str(self._version)
        return pod_of(document)

    def put(self, name: str = "web", **changes: Any) -> Pod:
        made = self.make(name, **changes)
        self.pods.store(made)
        return made

    @property
    def kinds(self) -> list[str]:
        return [change.kind for change in self.changes]


@pytest.fixture
def lab() -> PodsLab:
    return PodsLab()


def test_a_pod_is_found_by_uid_name_and_container(lab: PodsLab) -> None:
    web = lab.put(annotations={MIRROR: "static"})
    pods = lab.pods
    assert (
        pods.get_by_uid("uid-web")
        is pods.get_by_uid("static")
        is pods.get_by_name("shop", "web")
        is pods.get_by_container(ID)
        is web
    )
    assert (pods.get_by_uid("x"), pods.get_by_name("shop", "x"), pods.get_by_container(OTHER)) == (None, None, None)


def test_a_pod_that_names_the_uid_of_another_does_not_take_its_files(lab: PodsLab) -> None:
    web = lab.put()
    static = lab.put("etcd", containers=[container("x", OTHER)], annotations={MIRROR: "hash"})
    for name, uid in (("evil", "uid-web"), ("worse", "hash")):
        evil = lab.put(name, namespace="evil", containers=[container("x", "")], annotations={MIRROR: uid})
        assert lab.pods.get_by_uid(evil.uid) is evil
        assert (lab.pods.get_by_uid("uid-web"), lab.pods.get_by_uid("hash")) == (web, static)
        lab.pods.delete(evil)
    lab.clock.advance(61)
    lab.put("z", containers=[container("z", "")])
    assert (lab.pods.get_by_uid("uid-web"), lab.pods.get_by_uid("hash")) == (web, static)


def test_a_static_pod_that_is_made_again_has_the_uid_of_its_paths(lab: PodsLab) -> None:
    lab.pods.delete(lab.put("etcd", uid="u1", annotations={MIRROR: "hash"}))
    new = lab.put("etcd", uid="u2", annotations={MIRROR: "hash"})
    lab.clock.advance(61)
    lab.put("z")
    assert lab.pods.get_by_uid("hash") is new
    lab.put("etcd", uid="u2", annotations={MIRROR: "other"})
    assert lab.pods.get_by_uid("hash") is None


def test_a_deleted_pod_stays_for_its_last_lines(lab: PodsLab) -> None:
    web = lab.put()
    lab.pods.delete(web)
    lab.clock.advance(59)
    lab.put("other", containers=[container("x", OTHER)])
    assert lab.pods.get_by_container(ID) is web
    lab.clock.advance(1)
    lab.put("third", containers=[])
    pods = lab.pods
    assert (pods.get_by_uid("uid-web"), pods.get_by_name("shop", "web"), pods.get_by_container(ID)) == (
        None,
        None,
        None,
    )
    assert len(pods) == 2
    assert lab.kinds == ["added", "deleted", "added", "added"]


def test_the_pod_that_follows_has_the_name_and_the_one_before_its_uid(lab: PodsLab) -> None:
    old = lab.put("db-0", uid="u1")
    lab.pods.delete(old)
    new = lab.put("db-0", uid="u2", containers=[container("x", OTHER)])
    assert lab.pods.get_by_name("shop", "db-0") is new
    lab.put("db-0", uid="u2", containers=[container("x", OTHER)], labels={"v": "2"})
    newest = lab.pods.get_by_name("shop", "db-0")
    assert newest is not None
    assert (newest.uid, newest.labels) == ("u2", {"v": "2"})
    assert (lab.pods.get_by_uid("u1"), lab.pods.get_by_container(ID)) == (old, old)
    lab.clock.advance(61)
    lab.put("z", containers=[])
    assert lab.pods.get_by_name("shop", "db-0") is newest


def test_an_end_that_is_noticed_late_does_not_take_the_name_from_the_pod_that_follows(lab: PodsLab) -> None:
    old = lab.put("db-0", uid="u1")
    new = lab.put("db-0", uid="u2", containers=[container("x", OTHER)])
    lab.pods.delete(old)
    assert lab.pods.get_by_name("shop", "db-0") is new


def test_a_container_that_was_restarted_is_known_by_both_ids(lab: PodsLab) -> None:
    lab.put()
    spec, status = container("nginx", OTHER, restarts=1)
    status["lastState"] = {"terminated": {"containerID": f"containerd://{ID}"}}
    lab.put(containers=[(spec, status)])
    assert lab.pods.get_by_container(ID) is lab.pods.get_by_container(OTHER)
    lab.put(containers=[container("nginx", OTHER, restarts=1)])
    assert lab.pods.get_by_container(ID) is None


def test_what_is_listed_again_unchanged_is_no_change(lab: PodsLab) -> None:
    web = lab.put()
    other = lab.put("b", containers=[])
    lab.pods.replace_all([web])
    lab.pods.replace_all([web])
    assert lab.kinds == ["added", "added", "deleted"]
    assert lab.changes[-1].pod is other


def test_a_pod_that_is_back_was_never_deleted(lab: PodsLab) -> None:
    web = lab.put()
    lab.pods.replace_all([])
    lab.pods.store(web)
    lab.clock.advance(61)
    lab.put("b", containers=[])
    assert lab.kinds == ["added", "deleted", "added", "added"]
    assert lab.pods.get_by_uid("uid-web") is web


def test_a_listener_that_comes_late_is_not_given_what_was_deleted(lab: PodsLab) -> None:
    lab.pods.delete(lab.put())
    lab.put("b", containers=[])
    late: list[Change] = []
    lab.pods.listen(late.append)
    assert [change.pod.name for change in late] == ["b"]


def test_namespaces_are_kept_by_name_and_for_a_while_after_their_end() -> None:
    clock = ManualClock()
    changes: list[None] = []
    objects: Objects[Named] = Objects(clock, 60, lambda: changes.append(None))
    shop = namespace_of(namespace("shop"))
    objects.store(shop)
    objects.replace_all([shop, namespace_of(namespace("b"))])
    objects.delete(shop)
    assert objects.get("shop") is shop
    clock.advance(60)
    objects.replace_all([])
    assert objects.get("shop") is None
    assert objects.get("b") is not None
    assert (len(objects._objects), len(changes)) == (1, 3)
