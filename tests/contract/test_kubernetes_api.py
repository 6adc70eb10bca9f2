"""What the agent relies on of an API server: the small one of the tests keeps it, and so does the real one."""

import threading
from collections.abc import Iterator

import pytest

from log_shipper.shipper.clock import SystemClock
from log_shipper.shipper.event import Doc
from log_shipper.shipper.kubernetes.api_error import ApiError
from log_shipper.shipper.kubernetes.client import METADATA_ONLY, Client
from tests.kubernetes_api import KubernetesApi, job, namespace, node, pod
from tests.real_kubernetes import RealKubernetes, needs_kube_apiserver

PODS = "/api/v1/pods"
SHOP = "/api/v1/namespaces/shop/pods"
OF_N1 = "spec.nodeName=n1"
STATUS = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
Api = KubernetesApi | RealKubernetes


class Server:
    """Either server with a client that may do everything."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.client = Client(api.access(), SystemClock())

    def page(self, **parameters: str) -> Doc:
        return self.client.get(SHOP, parameters)

    @property
    def version(self) -> str:
        return str(self.page()["metadata"]["resourceVersion"])

    def watch(self, version: str, **parameters: str) -> list[Doc]:
        """Return the events of a watch until it is idle: of the real server, for a second."""
        if isinstance(self.api, KubernetesApi):
            self.api.end_watch_when_idle()
        return list(self.events(version, timeoutSeconds="1", **parameters))

    def events(self, version: str, **parameters: str) -> Iterator[Doc]:
        wanted = {"watch": "true", "resourceVersion": version, **parameters}
        return self.client.watch(SHOP, wanted, 60.0)

    def problem(self, path: str, **parameters: str) -> ApiError:
        with pytest.raises(ApiError) as raised:
            self.client.get(path, parameters)
        return raised.value


def names(items: list[Doc]) -> list[str]:
    return [item["metadata"]["name"] for item in items]


def changes(events: list[Doc]) -> list[tuple[str, str]]:
    return [(event["type"], event["object"]["metadata"]["name"]) for event in events]


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealKubernetes]:
    with RealKubernetes(tmp_path_factory.mktemp("kubernetes")) as kubernetes:
        kubernetes.create_namespace("shop")
        kubernetes.create_namespace("logging")
        kubernetes.create_account("logging", "shipper")
        yield kubernetes


REAL = pytest.param("real", marks=[pytest.mark.slow("starts an API server of Kubernetes"), needs_kube_apiserver])


@pytest.fixture(params=["small", REAL])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    if request.param == "small":
        with KubernetesApi(token="t") as api:
            api.put("namespaces", namespace("shop"))
            server = Server(api)
            yield server
            server.client.close()
        return
    kubernetes: RealKubernetes = request.getfixturevalue("real")
    server = Server(kubernetes)
    yield server
    server.client.close()
    kubernetes.call("DELETE", SHOP, {"gracePeriodSeconds": 0})


def test_a_list_from_the_store_comes_in_pages_of_one_version(server: Server) -> None:
    for name in ("a", "b", "c"):
        server.api.put("pods", pod(name))
    first = server.page(limit="2")
    rest = server.page(limit="2", **{"continue": first["metadata"]["continue"]})
    assert names(first["items"] + rest["items"]) == ["a", "b", "c"]
    assert rest["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    assert "continue" not in rest["metadata"]
    assert first["kind"] == "PodList"
    assert "kind" not in first["items"][0]


def test_a_list_from_the_servers_memory_is_one_page_whatever_was_asked_for(server: Server) -> None:
    for name in ("a", "b", "c"):
        server.api.put("pods", pod(name))
    page = server.page(limit="2", resourceVersion="0")
    assert (len(page["items"]), "continue" in page["metadata"]) == (3, False)


def test_a_field_selects_and_an_unknown_namespace_has_nothing(server: Server) -> None:
    server.api.put("pods", pod("a"))
    server.api.put("pods", pod("far", node="n2"))
    assert names(server.client.get(PODS, {"fieldSelector": OF_N1})["items"]) == ["a"]
    assert server.client.get("/api/v1/namespaces/none/pods")["items"] == []
    server.api.put("nodes", node("n1"))
    assert names(server.client.get("/api/v1/nodes", {"fieldSelector": "metadata.name=n1"})["items"]) == ["n1"]


def test_a_watch_has_what_happened_after_its_version(server: Server) -> None:
    server.api.put("pods", pod("a"))
    version = server.version
    made = server.api.put("pods", pod("a", labels={"new": "1"}))
    server.api.put("pods", pod("far", node="n2"))
    server.api.delete("pods", "a")
    server.api.put("pods", pod("late"))
    events = server.watch(version, fieldSelector=OF_N1)
    assert list(dict.fromkeys(changes(events)))[:2] == [("MODIFIED", "a"), ("DELETED", "a")]
    assert {name for _, name in changes(events)} == {"a", "late"}
    deleted = next(event["object"] for event in events if event["type"] == "DELETED")
    assert deleted["metadata"]["labels"] == {"new": "1"}
    assert int(deleted["metadata"]["resourceVersion"]) > int(made["metadata"]["resourceVersion"])
    assert deleted["kind"] == "Pod"


def test_a_pod_that_gets_its_node_is_new_to_a_watch_of_that_node(server: Server) -> None:
    waiting = pod("a", phase="Pending")
    del waiting["spec"]["nodeName"]
    server.api.put("pods", waiting)
    version = server.version
    server.api.bind("a", "n1")
    assert changes(server.watch(version, fieldSelector=OF_N1)) == [("ADDED", "a")]


def test_a_bookmark_leads_past_what_is_not_selected(server: Server) -> None:
    def elsewhere() -> None:
        server.api.put("pods", pod("far", node="n2"))
        if isinstance(server.api, KubernetesApi):
            server.api.bookmark("pods")  # the real one sends one two seconds before the end of the watch

    version = server.version
    timer = threading.Timer(0.3, elsewhere)
    timer.start()
    longest = "60" if isinstance(server.api, KubernetesApi) else "5"
    events = server.events(version, timeoutSeconds=longest, allowWatchBookmarks="true", fieldSelector=OF_N1)
    event = next(events)
    timer.join()
    reached = event["object"]["metadata"]["resourceVersion"]
    empty = {"spec": {"containers": None}, "status": {}}
    bookmark = {"kind": "Pod", "apiVersion": "v1", "metadata": {"resourceVersion": reached}, **empty}
    assert event == {"type": "BOOKMARK", "object": bookmark}
    assert int(reached) > int(version)


def test_a_version_that_is_too_old_is_an_error_within_the_watch_and_the_end_of_a_list(server: Server) -> None:
    server.api.put("pods", pod("a"))
    server.api.put("pods", pod("b"))
    first = server.page(limit="1")["metadata"]
    server.api.put("pods", pod("c"))
    server.api.expire()
    (event,) = server.watch(first["resourceVersion"])
    assert event["type"] == "ERROR"
    message = event["object"].pop("message")
    assert message.startswith(f"too old resource version: {first['resourceVersion']} (")
    assert event["object"] == {**STATUS, "reason": "Expired", "code": 410}
    error = server.problem(SHOP, limit="1", **{"continue": first["continue"]})
    assert (error.kind, "The provided continue parameter is too old" in str(error)) == ("expired", True)


def test_a_version_that_is_yet_to_come_is_waited_for_in_silence(server: Server) -> None:
    server.api.put("pods", pod("a"))
    assert server.watch(str(int(server.version) + 1000), allowWatchBookmarks="true") == []


def test_of_an_object_only_the_metadata_can_be_asked_for(server: Server) -> None:
    server.api.put("jobs", full_job(job("daily-1", "daily")))
    path = "/apis/batch/v1/namespaces/shop/jobs/daily-1"
    document = server.client.get(path, accept=METADATA_ONLY)
    assert {"kind", "apiVersion", "metadata"} == set(document)
    assert (document["kind"], document["apiVersion"]) == ("PartialObjectMetadata", "meta.k8s.io/v1")
    (owner,) = document["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["controller"]) == ("CronJob", "daily", True)


def full_job(document: Doc) -> Doc:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    return {**document, "spec": {"template": template}}


def test_what_does_not_exist_and_who_is_unknown_are_reported_in_words(server: Server) -> None:
    assert str(server.problem(f"{SHOP}/none")) == 'HTTP 404: pods "none" not found'
    assert str(server.problem("/apis/batch/v1/namespaces/shop/jobs/none")) == 'HTTP 404: jobs.batch "none" not found'
    stranger = Client(server.api.access(token="wrong"), SystemClock())
    with pytest.raises(ApiError) as raised:
        stranger.get(SHOP)
    stranger.close()
    assert (raised.value.kind, str(raised.value)) == ("unauthorized", "HTTP 401: Unauthorized")


def test_a_missing_right_is_reported_with_account_verb_and_resource(server: Server) -> None:
    token = "t"
    if isinstance(server.api, RealKubernetes):
        token = server.api.token("logging", "shipper")
    else:
        server.api.refuse(PODS)
    account = Client(server.api.access(token=token), SystemClock())
    with pytest.raises(ApiError) as raised:
        account.get(PODS)
    account.close()
    assert str(raised.value) == (
        'HTTP 403: pods is forbidden: User "system:serviceaccount:logging:shipper" cannot list resource "pods" in API '
        'group "" at the cluster scope'
    )


def test_a_watch_sees_what_happens_while_it_is_open_and_ends_when_its_time_is_over(server: Server) -> None:
    def seen(name: str) -> list[tuple[str, str]]:
        version = server.version
        timer = threading.Timer(0.2, lambda: server.api.put("pods", pod(name)))
        timer.start()
        events = list(server.events(version, timeoutSeconds="2"))
        timer.join()
        return changes(events)

    for name in (f"a{number}" for number in range(10)):
        if events := seen(name):  # else it happened after the time of the watch, on a busy machine
            break
    assert events[0] == ("ADDED", name)
