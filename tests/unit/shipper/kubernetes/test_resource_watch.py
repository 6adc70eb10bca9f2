"""One step is one list, or one watch until the server ends it; the test is the server."""

import logging
from collections.abc import Iterator

import pytest

from log_shipper.shipper.kubernetes.cache import Change, Pods
from log_shipper.shipper.kubernetes.client import Client, RequestLimits
from log_shipper.shipper.kubernetes.objects import pod_of
from log_shipper.shipper.kubernetes.resource_watch import (
    BACKOFF,
    MAX_FAILURES,
    PAUSE_WITHOUT_RIGHT,
    REFUSALS_OF_A_START,
    Copying,
    Resource,
    ResourceWatch,
)
from tests.fakes import ManualClock
from tests.kubernetes_api import Answer, KubernetesApi, pod

PODS = "/api/v1/pods"


class ResourceWatchLab:
    def __init__(self, api: KubernetesApi) -> None:
        self.api = api
        self.clock = ManualClock()
        self.pods = Pods(self.clock, keep_deleted=60)
        self.changes: list[tuple[str, str]] = []
        self.pods.listen(self._note)
        copying = Copying(self.pods, pod_of, lambda client: "spec.nodeName=n1")
        self.client = Client(api.access(), self.clock, RequestLimits(answer=100_000))
        self.watch = ResourceWatch(Resource("pods", "labels"), self.client, copying, self.clock)

    def _note(self, change: Change) -> None:
        self.changes.append((change.kind, change.pod.name))

    def list(self) -> None:
        assert self.watch.step() == 0

    def watch_until_it_ends(self) -> float:
        """Watch what is there, and end."""
        self.api.end_watch_when_idle()
        return self.watch.step()

    def refused(self) -> float:
        """Step until a refusal is a missing right. Return the pause after that."""
        for _ in range(REFUSALS_OF_A_START):
            assert 0 < self.watch.step() <= BACKOFF.max
            assert not self.watch.is_refused
        pause = self.watch.step()
        assert self.watch.is_refused
        return pause

    @property
    def names(self) -> set[str]:
        return {name for name in ("a", "b", "c") if self.pods.get_by_name("shop", name)}


@pytest.fixture
def lab(api: KubernetesApi) -> Iterator[ResourceWatchLab]:
    made = ResourceWatchLab(api)
    yield made
    made.client.close()


def test_pods_of_the_node_are_listed_and_then_watched(api: KubernetesApi, lab: ResourceWatchLab) -> None:
    for name in ("a", "b", "c"):
        api.put("pods", pod(name))
    api.put("pods", pod("other", node="n2"))
    lab.list()
    assert lab.names == {"a", "b", "c"}
    assert [request.parameters["resourceVersion"] for request in api.requests] == ["0"]  # of the server's memory
    assert len(lab.pods) == 3
    api.put("pods", pod("b", labels={"new": "1"}))
    api.delete("pods", "a")
    api.put("pods", pod("elsewhere", node="n2"))
    lab.watch_until_it_ends()
    assert lab.changes[3:] == [("changed", "b"), ("deleted", "a")]
    assert api.requests[-1].parameters["allowWatchBookmarks"] == "true"
    assert (lab.watch.counts.lists, lab.watch.counts.events, lab.watch.counts.errors) == (1, 2, {})


def test_a_watch_that_ended_continues_where_it_was(api: KubernetesApi, lab: ResourceWatchLab) -> None:
    api.put("pods", pod("a"))
    lab.list()
    version = api.bookmark("pods")
    lab.watch_until_it_ends()
    api.put("pods", pod("b"))
    lab.watch_until_it_ends()
    assert api.watches("pods")[-1].parameters["resourceVersion"] == str(version)
    assert lab.names == {"a", "b"}
    assert lab.watch.counts.lists == 1


def test_a_version_that_expired_makes_it_list_again_and_notice_what_was_deleted(
    api: KubernetesApi, lab: ResourceWatchLab
) -> None:
    api.put("pods", pod("a"))
    api.put("pods", pod("b"))
    lab.list()
    api.delete("pods", "a")
    api.put("pods", pod("c"))
    api.expire()
    assert 0 < lab.watch.step() <= BACKOFF.init
    assert lab.watch.counts.errors == {"expired": 1}
    api.most_in_page = 1
    lab.list()
    pages = [request.parameters for request in api.requests if not request.is_watch][1:]
    assert ["resourceVersion" in page for page in pages] == [False, False]  # not from a memory that may be as old
    assert ["continue" in page for page in pages] == [False, True]
    assert lab.changes[2:] == [("deleted", "a"), ("added", "c")]
    assert lab.names == {"a", "b", "c"}  # the deleted one stays for its last lines


def test_a_version_that_expires_during_the_watch_does_the_same(api: KubernetesApi, lab: ResourceWatchLab) -> None:
    lab.list()
    api.send("pods", {"type": "ERROR", "object": {"code": 410, "message": "too old"}})
    lab.watch.step()
    api.put("pods", pod("a"))
    lab.list()
    assert lab.names == {"a"}


def test_a_connection_that_breaks_within_an_event_loses_nothing(
    api: KubernetesApi, lab: ResourceWatchLab, caplog: pytest.LogCaptureFixture
) -> None:
    lab.list()
    api.put("pods", pod("a"))
    api.end_watch_when_idle(within_a_chunk=True)
    assert lab.watch.step() > 0
    assert lab.watch.counts.errors == {"connection": 1}
    api.put("pods", pod("b"))
    lab.watch_until_it_ends()
    assert lab.names == {"a", "b"}
    assert caplog.messages == []  # once is no trouble


@pytest.mark.parametrize("answer", [Answer(raw=b""), Answer(503, "no server is up")])
def test_a_server_that_was_away_is_asked_for_everything_because_its_versions_may_have_been_set_back(
    api: KubernetesApi, lab: ResourceWatchLab, answer: Answer
) -> None:
    lab.list()
    api.answers[PODS] = answer
    assert lab.watch.step() > 0
    api.answers.clear()
    api.put("pods", pod("a"))
    lab.list()
    assert (lab.names, lab.watch.counts.lists) == ({"a"}, 2)
    assert "resourceVersion" not in api.requests[-1].parameters


def test_a_missing_right_is_reported_once_with_what_to_add(
    api: KubernetesApi, lab: ResourceWatchLab, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    api.refuse(PODS)
    assert lab.refused() == PAUSE_WITHOUT_RIGHT
    assert lab.watch.step() == PAUSE_WITHOUT_RIGHT
    [message] = caplog.messages
    assert 'cannot list resource "pods" in API group "" at the cluster scope' in message
    assert 'a ClusterRole with apiGroups: [""], resources: [pods], verbs: [get, list, watch]' in message
    del api.answers[PODS]
    lab.list()
    assert not lab.watch.is_refused
    assert caplog.messages[1:] == ["kubernetes: pods are up to date again"]


def test_a_server_that_has_just_started_may_refuse_what_it_then_allows(
    api: KubernetesApi, lab: ResourceWatchLab, caplog: pytest.LogCaptureFixture
) -> None:
    """It answers before it has read its roles, and a minute without what changes meanwhile would be one too many."""
    caplog.set_level(logging.INFO)
    api.put("pods", pod("a"))
    lab.list()
    api.refuse(PODS)
    assert 0 < lab.watch.step() <= BACKOFF.init
    del api.answers[PODS]
    api.put("pods", pod("b"))
    lab.watch_until_it_ends()
    assert lab.names == {"a", "b"}
    assert (lab.watch.counts.lists, lab.watch.counts.errors) == (1, {"forbidden": 1})
    assert caplog.messages == []


def test_a_trouble_is_over_when_a_watch_is_answered_though_nothing_happens_in_it(
    api: KubernetesApi, lab: ResourceWatchLab, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    lab.list()
    api.answers[PODS] = Answer(401, "Unauthorized")
    for _ in range(2):
        assert lab.watch.step() > 0
    assert lab.watch.problem
    del api.answers[PODS]
    api.end_watch_when_idle(within_a_chunk=True)  # no end in order and no event is a sign of it
    lab.watch.step()
    assert caplog.messages[1:] == ["kubernetes: pods are up to date again"]


def test_attempts_wait_longer_and_longer_and_as_long_as_the_server_asks(
    api: KubernetesApi, lab: ResourceWatchLab
) -> None:
    api.answers[PODS] = Answer(500, "etcd is away")
    pauses = [lab.watch.step() for _ in range(9)]
    assert pauses[0] < 1 < BACKOFF.max / 2 <= pauses[-1] <= BACKOFF.max
    api.answers[PODS] = Answer(429, "too many requests", headers={"Retry-After": "44"})
    assert lab.watch.step() == 44
    assert lab.watch.counts.errors == {"server": 9, "throttled": 1}


def test_a_server_that_ends_each_watch_at_once_is_not_asked_without_a_pause(
    api: KubernetesApi, lab: ResourceWatchLab
) -> None:
    lab.list()
    assert 0 < lab.watch_until_it_ends() < lab.watch_until_it_ends() * 2


def test_a_list_that_is_too_large_is_asked_for_in_smaller_pages(api: KubernetesApi, lab: ResourceWatchLab) -> None:
    api.answers[PODS] = Answer(raw=b"HTTP/1.1 200 OK\r\n\r\n" + b" " * 100_001)
    for _ in range(2):
        assert lab.watch.step() > 0
    assert lab.watch.counts.errors == {"too_large": 2}
    del api.answers[PODS]
    lab.list()
    asked = [(request.parameters["limit"], "resourceVersion" in request.parameters) for request in api.requests]
    assert asked == [("250", True), ("250", False), ("25", False)]  # of a list from memory pages make nothing smaller


def test_many_objects_are_listed_in_pages_from_the_start(api: KubernetesApi, lab: ResourceWatchLab) -> None:
    """One answer with all pods of a large cluster would take hundreds of megabytes for a moment."""
    api.most_in_page = 20
    for number in range(30):
        api.put("pods", pod(f"web-{number}"))
    watch = ResourceWatch(Resource("pods", "labels", are_many=True), lab.client, Copying(lab.pods, pod_of), lab.clock)
    assert watch.step() == 0
    assert len(lab.pods) == 30
    assert ["resourceVersion" in request.parameters for request in api.requests] == [False, False]


def test_a_server_that_has_more_in_its_memory_than_fits_is_asked_for_pages_of_its_store(
    api: KubernetesApi, lab: ResourceWatchLab
) -> None:
    api.most_in_page = 10
    for number in range(30):
        api.put("pods", pod(f"web-{number}", labels={"text": "x" * 3000}))
    assert lab.watch.step() > 0
    assert lab.watch.counts.errors == {"too_large": 1}
    lab.list()
    assert len(lab.pods) == 30


def test_an_event_that_can_never_be_read_is_passed_over_by_a_list(
    api: KubernetesApi, lab: ResourceWatchLab, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    lab.list()
    api.send("pods", {"type": "ADDED"})
    api.put("pods", pod("a"))
    for _ in range(MAX_FAILURES):
        assert lab.watch.step() > 0
    assert lab.names == set()
    lab.list()
    assert lab.names == {"a"}
    api.put("pods", pod("b"))
    lab.watch_until_it_ends()
    assert lab.names == {"a", "b"}
    assert lab.watch.counts.lists == 2
    assert len(caplog.messages) == 2, "an answer is no end of this trouble"
    assert caplog.messages[-1].endswith("are up to date again")


@pytest.mark.parametrize(
    "event",
    [{"type": "ADDED"}, {"type": "ERROR", "object": {"code": 500, "message": "x"}}, {"type": "ADDED", "object": 1}],
)
def test_a_malformed_event_ends_the_watch_with_an_error(
    api: KubernetesApi, lab: ResourceWatchLab, event: dict[str, object]
) -> None:
    lab.list()
    api.send("pods", event)
    assert lab.watch.step() > 0
    assert sum(lab.watch.counts.errors.values()) == 1


def test_a_right_that_is_taken_away_again_is_reported_again(
    api: KubernetesApi, lab: ResourceWatchLab, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(2):
        api.refuse(PODS)
        lab.refused()
        api.answers.clear()
        lab.list()
        lab.watch_until_it_ends()
    assert len([message for message in caplog.messages if "denies listing and watching pods" in message]) == 2


def test_the_right_to_list_without_that_to_watch_is_one_trouble(
    api: KubernetesApi, lab: ResourceWatchLab, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    api.refuse_watches = True
    lab.list()
    assert lab.refused() == PAUSE_WITHOUT_RIGHT
    for _ in range(2):
        lab.list()
        assert lab.watch.step() == PAUSE_WITHOUT_RIGHT
        assert lab.watch.is_refused
    [message] = caplog.messages
    assert 'cannot watch resource "pods"' in message
    assert lab.watch.counts.lists == 3  # once a minute they are up to date


def test_a_client_that_is_closed_is_no_trouble(lab: ResourceWatchLab, caplog: pytest.LogCaptureFixture) -> None:
    lab.client.interrupt()
    assert lab.watch.step() == 0
    assert (caplog.messages, lab.watch.counts.errors) == ([], {})
