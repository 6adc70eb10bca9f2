"""Metadata of pods and autodiscover with a real API server: the test does what kubelet and controllers do, and the
agent has the account of the manifests, so that the server judges its rights."""

import os
import shlex
import shutil
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import yaml

from log_shipper.shipper.event import Doc
from tests.e2e.files.local import LocalAgent
from tests.e2e.running import REPOSITORY, await_true
from tests.kubernetes_api import ID, node, pod
from tests.real_kubernetes import RealKubernetes, Refused, needs_kube_apiserver

pytestmark = [pytest.mark.slow("starts an API server of Kubernetes"), needs_kube_apiserver]
MANIFESTS = REPOSITORY / "deploy" / "kubernetes"
PAGES = [REPOSITORY / "docs" / "guides" / f"{name}.md" for name in ("containers", "kubernetes", "sink-container")]
# What the kubelet gives a pod: its host name, where the API server is, and the files of its account.
IN_POD = """
mount -t tmpfs tmpfs /run && mkdir -p /run/secrets/kubernetes.io/serviceaccount
mount --bind "$1" /run/secrets/kubernetes.io/serviceaccount
hostname "$2" && export KUBERNETES_SERVICE_HOST=127.0.0.1 KUBERNETES_SERVICE_PORT="$3"
shift 3 && exec "$@"
"""
PARSERS = {"parsers": [{"container": None}]}


@pytest.fixture(scope="module")
def kubernetes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealKubernetes]:
    """A cluster to which the manifests were applied, as the pages have it, with the namespace shop."""
    with RealKubernetes(tmp_path_factory.mktemp("kubernetes")) as kubernetes:
        for command in commands():
            kubernetes.kubectl(*shlex.split(command, comments=True)[1:])
        kubernetes.create_namespace("shop", team="red")
        yield kubernetes


def commands() -> list[str]:
    """Return the commands of the pages that need an API server and nothing more."""
    lines = [line for page in PAGES for line in page.read_text().splitlines()]
    return [line for line in lines if line.startswith("kubectl ") and "untested" not in line]


def test_the_pages_have_commands_for_the_manifests() -> None:
    assert sum("apply -k" in command for command in commands()) == 3


class Node:
    """The node n1 with an agent. The test runs pods on it, and writes what their containers log."""

    def __init__(self, kubernetes: RealKubernetes, directory: Path) -> None:
        self.kubernetes = kubernetes
        self.agent = LocalAgent(directory)
        self.token = directory / "token"
        self._pods = directory / "pods"
        config = kubernetes.kubeconfig(directory / "kubeconfig", tokenFile=str(self.token))
        self.access = {"kube_config": str(config), "node": "n1"}
        kubernetes.put("nodes", node("n1", zone="z1"))
        self.token.write_text(kubernetes.token("logging", "shipper"))

    def enrich(self, *before: str, **options: Any) -> None:
        """Start the agent with add_kubernetes_metadata; `before` is the command that starts it."""
        self.agent.settings["processors"] = [{"add_kubernetes_metadata": {**self.access, **options}}]
        self.agent.configure([f"{self._pods}/*/*/*.log"], **PARSERS)
        self.agent.start(before=before)

    def discover(self, **options: Any) -> None:
        """Start the agent with the provider kubernetes."""
        provider = {"type": "kubernetes", **self.access, **options}
        self.agent.settings["shipper.autodiscover"] = {"providers": [provider]}
        self.agent.configure([str(self.agent.logs / "none")])
        self.agent.start()

    @property
    def log_path(self) -> str:
        """The path of a container's log with the variables of autodiscover."""
        pod = "${data.kubernetes.namespace}_${data.kubernetes.pod.name}_${data.kubernetes.pod.uid}"
        return f"{self._pods}/{pod}/${{data.kubernetes.container.name}}/*.log"

    def put(self, name: str, **changes: Any) -> Doc:
        """Run a pod, or change it."""
        return self.kubernetes.put("pods", pod(name, **changes))

    def log(self, made: Doc, *messages: str) -> None:
        metadata = made["metadata"]
        file = self._pods / f"shop_{metadata['name']}_{metadata['uid']}" / "nginx" / "0.log"
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a") as log:
            log.writelines(f"2026-11-25T02:00:00.123456789Z stdout F {message}\n" for message in messages)

    def event(self, message: str) -> Doc:
        self.agent.await_messages(message)
        (event,) = (event for event in self.agent.events if event["message"] == message)
        return event

    def labels(self, made: Doc, message: str) -> Doc:
        """Log a message, and return the labels that its event has."""
        self.log(made, message)
        labels: Doc = self.event(message)["kubernetes"].get("labels", {})
        return labels

    def await_labels(self, made: Doc, expected: Doc) -> None:
        """Log until events have these labels: a change needs some time to arrive."""
        lines = iter(range(1_000_000))

        def arrived() -> bool:
            return self.labels(made, f"{made['metadata']['name']} {expected} {next(lines)}") == expected

        await_true(arrived, lambda: f"labels {expected}; logged:\n{self.agent.log[-3000:]}")


@pytest.fixture
def host(kubernetes: RealKubernetes, tmp_path: Path) -> Iterator[Node]:
    host = Node(kubernetes, tmp_path)
    yield host
    host.agent.end()
    kubernetes.call("DELETE", "/api/v1/namespaces/shop/pods", {"gracePeriodSeconds": 0})


def test_events_have_what_the_server_knows_of_their_pod(host: Node) -> None:
    labels = {"app.kubernetes.io/name": "web", "pod-template-hash": "5f7c"}
    made = host.put("web-5f7c-x", labels=labels, annotations={"note": "1"}, owner=("ReplicaSet", "web-5f7c"))
    host.log(made, "first")
    host.enrich(include_annotations=["note"], **{"add_resource_metadata.deployment": True})
    event = host.event("first")
    namespace = host.kubernetes.call("GET", "/api/v1/namespaces/shop")["metadata"]
    this_node = host.kubernetes.call("GET", "/api/v1/nodes/n1")["metadata"]
    assert event["kubernetes"] == {
        "pod": {"name": "web-5f7c-x", "uid": made["metadata"]["uid"], "ip": "10.1.0.7"},
        "namespace": "shop",
        "namespace_uid": namespace["uid"],
        "namespace_labels": {"kubernetes_io/metadata_name": "shop", "team": "red"},
        "node": {"name": "n1", "uid": this_node["uid"], "hostname": "n1.example", "labels": {"zone": "z1"}},
        "labels": {"app_kubernetes_io/name": "web", "pod-template-hash": "5f7c"},
        "annotations": {"note": "1"},
        "replicaset": {"name": "web-5f7c"},
        "deployment": {"name": "web"},
        "container": {"name": "nginx"},
    }
    assert event["container"] == {"id": ID, "runtime": "containerd", "image": {"name": "registry.example/nginx:1"}}


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, for namespaces")
def test_in_a_pod_the_agent_has_its_account_and_its_node_is_that_of_the_pod(host: Node) -> None:
    host.kubernetes.create_account("logging", "default")
    host.put("agent-x", namespace="logging")
    account = host.token.parent / "account"
    account.mkdir()
    (account / "namespace").write_text("logging")
    shutil.copyfile(host.kubernetes.authorities, account / "ca.crt")
    host.token.rename(account / "token")
    made = host.put("web", labels={"app": "web"})
    host.access = {}
    namespaces = ("unshare", "--mount", "--uts", "--propagation", "private", "sh", "-ec", IN_POD, "sh")
    host.enrich(*namespaces, str(account), "agent-x", str(host.kubernetes.port))
    host.await_labels(made, {"app": "web"})
    host.agent.await_log("kubernetes: this node is 'n1'")


def test_what_changes_is_on_the_events_that_are_read_after_it(host: Node) -> None:
    made = host.put("web", labels={"app": "web"})
    host.enrich()
    host.await_labels(made, {"app": "web"})
    host.put("web", labels={"app": "api"})
    host.await_labels(made, {"app": "api"})
    host.kubernetes.delete("pods", "web")
    assert host.labels(made, "its last line") == {"app": "api"}
    again = host.put("web", labels={"app": "another"})
    assert host.labels(again, "of the new one") == {"app": "another"}
    assert "kubernetes:" not in host.agent.log, "nothing of this is a trouble"


def test_an_account_without_rights_is_a_warning_and_events_have_what_the_path_reveals(host: Node) -> None:
    host.kubernetes.create_account("logging", "nobody")
    host.token.write_text(host.kubernetes.token("logging", "nobody"))
    made = host.put("web", labels={"app": "web"})
    host.log(made, "hello")
    host.enrich()
    assert host.event("hello")["kubernetes"] == {
        "pod": {"name": "web", "uid": made["metadata"]["uid"]},
        "namespace": "shop",
        "node": {"name": "n1"},
        "container": {"name": "nginx"},
    }
    host.agent.await_log("the API server denies listing and watching pods: HTTP 403: pods is forbidden")
    host.agent.await_log('User \\"system:serviceaccount:logging:nobody\\" cannot list resource')


def test_a_server_that_is_restarted_is_no_trouble_and_nothing_of_the_meantime_is_missed(host: Node) -> None:
    made = host.put("web", labels={"app": "web"})
    host.enrich()
    host.await_labels(made, {"app": "web"})
    host.put("web", labels={"app": "api"})
    host.kubernetes.expire()  # it forgets the versions that the agent knows, too
    host.await_labels(made, {"app": "api"})
    host.kubernetes.restart()
    host.put("web", labels={"app": "web"})
    host.await_labels(made, {"app": "web"})
    assert "denies" not in host.agent.log, "the right was never missing: the server had not read its roles yet"


def test_a_cluster_that_is_restored_from_a_backup_is_known_as_it_is_now(host: Node) -> None:
    kubernetes = host.kubernetes
    made = host.put("web", labels={"app": "web"})
    kubernetes.stop_all()
    backup = kubernetes.back_up()
    kubernetes.start()
    for number in range(50):  # their versions are yet to come after it
        host.put("web", labels={"app": f"api-{number}"})
    host.enrich()
    host.await_labels(made, {"app": "api-49"})
    kubernetes.stop_all()
    host.agent.await_log("pods are out of date: no connection to the API server")
    kubernetes.restore(backup)
    kubernetes.start()
    host.await_labels(made, {"app": "web"})


def test_a_token_that_is_revoked_is_a_warning_until_the_file_has_another(host: Node) -> None:
    secrets = "/api/v1/namespaces/logging/secrets"
    secret = host.kubernetes.call("POST", secrets, {"metadata": {"generateName": "bound-"}})["metadata"]
    bound = {"kind": "Secret", "apiVersion": "v1", "name": secret["name"], "uid": secret["uid"]}
    host.token.write_text(host.kubernetes.token("logging", "shipper", bound))
    made = host.put("web", labels={"app": "web"})
    host.enrich()
    host.await_labels(made, {"app": "web"})
    host.kubernetes.call("DELETE", f"{secrets}/{secret['name']}")
    host.kubernetes.restart()  # a watch that is open stays
    host.agent.await_log("pods are out of date: HTTP 401: Unauthorized")
    host.put("web", labels={"app": "api"})
    assert host.labels(made, "meanwhile") == {"app": "web"}
    host.token.write_text(host.kubernetes.token("logging", "shipper"))
    host.await_labels(made, {"app": "api"})
    host.agent.await_log("pods are up to date again")


def test_while_the_server_is_frozen_events_have_what_is_known(host: Node) -> None:
    made = host.put("web", labels={"app": "web"})
    new = host.put("new", labels={"app": "new"}, node="n2")
    host.enrich()
    host.await_labels(made, {"app": "web"})
    host.kubernetes.freeze()
    try:
        assert host.labels(made, "meanwhile") == {"app": "web"}
        assert host.labels(new, "of a pod that is not known") == {}
    finally:
        host.kubernetes.thaw()
    host.put("web", labels={"app": "api"})
    host.await_labels(made, {"app": "api"})


def test_containers_are_read_as_templates_and_their_annotations_have_it(host: Node) -> None:
    template = {"type": "filestream", "id": "api-${data.container.id}", "paths": [host.log_path], "tags": ["template"]}
    by_hints = {"type": "container", "paths": [host.log_path]}
    first = host.put("first", annotations={"co.elastic.logs/exclude_lines": "^DBG"})
    host.log(first, "DBG x", "one")
    host.discover(
        templates=[{"condition.equals.kubernetes.labels.app": "api", "config": [template | PARSERS]}],
        **{"hints.enabled": True, "hints.default_config": by_hints},
    )
    assert host.event("one")["kubernetes"]["pod"]["name"] == "first"
    left_out = host.put("left-out", annotations={"co.elastic.logs/enabled": "false"})
    host.log(left_out, "not read")
    api = host.put("api", labels={"app": "api"})
    host.log(api, "two")
    event = host.event("two")
    assert (event["tags"], event["kubernetes"]["labels"]) == (["template"], {"app": "api"})
    host.kubernetes.delete("pods", "first")
    host.log(first, "its last line")
    again = host.put("first")
    host.log(again, "DBG y")
    host.agent.await_messages("its last line", "DBG y")
    assert set(host.agent.messages) == {"one", "two", "its last line", "DBG y"}


def test_containers_of_the_time_without_a_server_are_read_when_it_is_there(host: Node) -> None:
    """The agent is restarted while the server is away: it neither repeats what was read nor loses what was not."""
    by_hints = {"hints.enabled": True, "hints.default_config": {"type": "container", "paths": [host.log_path]}}
    made = host.put("web")
    host.log(made, "one")
    host.discover(**by_hints)
    host.event("one")
    assert host.agent.stop() == 0
    host.kubernetes.stop()
    host.log(made, "two")
    host.discover(**by_hints)
    host.agent.await_log("no list of containers yet")
    host.kubernetes.start()
    new = host.put("new")
    host.log(new, "three")
    host.agent.await_messages("two", "three")
    assert sorted(host.agent.all) == ["one", "three", "two"]


def test_the_manifests_are_accepted_by_the_server_without_a_warning(kubernetes: RealKubernetes) -> None:
    kinds = {"daemonset": 6, "sidecar": 2, "sink": 2, "sink-on-spark": 6}
    for base, count in kinds.items():
        arguments = ("apply", "--warnings-as-errors", "-k", str(MANIFESTS / base))
        for dry_run in ("server", "none"):
            assert len(kubernetes.kubectl(*arguments, f"--dry-run={dry_run}").splitlines()) == count


@pytest.mark.parametrize(
    ("base", "kind", "level", "refused"),
    [
        ("sidecar", "Deployment", "restricted", ""),
        ("sidecar", "Job", "restricted", ""),
        ("sink", "Deployment", "restricted", ""),
        ("sink-on-spark", "Deployment", "restricted", ""),
        ("daemonset", "DaemonSet", "privileged", ""),
        ("daemonset", "DaemonSet", "baseline", "hostPath volumes"),
    ],
)
def test_pods_are_admitted_by_the_level_of_pod_security_that_they_claim(
    kubernetes: RealKubernetes, base: str, kind: str, level: str, refused: str
) -> None:
    documents = yaml.safe_load_all(kubernetes.kubectl("kustomize", str(MANIFESTS / base)))
    (template,) = (document["spec"]["template"] for document in documents if document["kind"] == kind)
    namespace = f"{base}-{kind.lower()}-{level}"
    kubernetes.create_namespace(namespace, **{"pod-security.kubernetes.io/enforce": level})
    if account := template["spec"].get("serviceAccountName"):
        kubernetes.create_account(namespace, account)
    made = {**template, "metadata": {**template["metadata"], "name": "p", "namespace": namespace}}
    with pytest.raises(Refused, match=refused) if refused else nullcontext():
        kubernetes.call("POST", f"/api/v1/namespaces/{namespace}/pods", made)
