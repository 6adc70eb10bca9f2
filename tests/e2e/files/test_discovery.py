"""Containers that are discovered, by real processes: their lines arrive with their metadata, the last one too."""

import hashlib
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest

from log_shipper.runtime.http import UnixSocket
from log_shipper.runtime.monitor.client import get
from log_shipper.shipper.event import Doc
from tests.docker_api import DockerApi
from tests.e2e.files.local import LocalAgent
from tests.e2e.files.test_kubelet import compress
from tests.e2e.running import await_true
from tests.kubernetes_api import KubernetesApi, container, kubeconfig, namespace, node, pod

pytestmark = pytest.mark.slow("real processes")

QUEUE = 500  # events
COUNT = 20 * QUEUE  # lines of a container that are not all read yet when it ends
ENDING = "shipper_autodiscover_inputs_ending "
LOOKS = 3.0  # seconds, in which the agent looks several times whether they are


class Platform(Protocol):
    """What runs containers, one at a time of each name."""

    provider: dict[str, Any]

    def run(self, name: str) -> Path:
        """Start a container, and return its log, which is empty."""

    def line(self, text: str) -> bytes: ...

    def end(self, name: str) -> None:
        """End a container as far as its API shows it; its log stays."""

    def metadata(self, name: str) -> Doc:
        """Return members that each of its events has."""


def identity_of(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


class Pods:
    def __init__(self, directory: Path, api: KubernetesApi) -> None:
        self._api = api
        self._directory = directory
        (directory / "containers").mkdir()
        config = directory / "kubeconfig"
        config.write_text(json.dumps(kubeconfig(api)))
        api.put("namespaces", namespace("shop", team="shop"))
        api.put("nodes", node("n1"))
        self.provider = {
            "type": "kubernetes",
            "node": "n1",
            "kube_config": str(config),
            "hints.default_config": input_of(f"{directory}/containers/*-${{data.container.id}}.log"),
        }

    def run(self, name: str) -> Path:
        log = self._directory / "pods" / f"shop_{name}_uid-{name}" / "web" / "0.log"
        log.parent.mkdir(parents=True)
        log.touch()
        (self._directory / "containers" / f"{name}_shop_web-{identity_of(name)}.log").symlink_to(log)
        self._api.put("pods", pod(name, containers=[container("web", "")], phase="Pending"))
        self._api.put("pods", self._running(name))
        return log

    def line(self, text: str) -> bytes:
        return f"2026-11-25T02:00:00.123456789Z stdout F {text}\n".encode()

    def end(self, name: str) -> None:
        going = self._running(name)
        going["status"]["phase"] = "Succeeded"
        self._api.put("pods", going)
        self._api.delete("pods", name)

    def metadata(self, name: str) -> Doc:
        return {"kubernetes": {"pod": {"name": name}, "namespace": "shop", "labels": {"app": name}}}

    def _running(self, name: str) -> Doc:
        return pod(name, labels={"app": name}, containers=[container("web", identity_of(name))])


class DockerContainers:
    def __init__(self, directory: Path, api: DockerApi) -> None:
        self._api = api
        self._directory = directory / "containers"
        path = f"{self._directory}/${{data.container.id}}/*-json.log"
        self.provider = {
            "type": "docker",
            "host": f"unix://{api.path}",
            "hints.default_config": input_of(path),
        }

    def run(self, name: str) -> Path:
        log = self._directory / identity_of(name) / f"{identity_of(name)}-json.log"
        log.parent.mkdir(parents=True)
        log.touch()
        self._api.run(identity_of(name), name, labels={"app": name})
        return log

    def line(self, text: str) -> bytes:
        return json.dumps({"log": f"{text}\n", "stream": "stdout", "time": "2026-11-25T02:00:00.1Z"}).encode() + b"\n"

    def end(self, name: str) -> None:
        self._api.stop(identity_of(name))
        self._api.remove(identity_of(name))

    def metadata(self, name: str) -> Doc:
        return {"container": {"id": identity_of(name), "name": name, "labels": {"app": name}}}


def input_of(path: str) -> dict[str, Any]:
    """Return the default input, for files of the test."""
    return {
        "type": "filestream",
        "id": "container-logs-${data.container.id}",
        "paths": [path],
        "prospector.scanner": {"symlinks": True, "check_interval": "1s"},
        "parsers": [{"container": {}}],
    }


@pytest.fixture(params=["kubernetes", "docker"])
def platform(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Platform]:
    directory = tmp_path / "runtime"
    directory.mkdir()
    if request.param == "kubernetes":
        with KubernetesApi() as server:
            yield Pods(directory, server)
    else:
        with DockerApi(tmp_path / "docker.sock") as daemon:
            yield DockerContainers(directory, daemon)


@pytest.fixture
def discovering(agent: LocalAgent, platform: Platform) -> LocalAgent:
    provider = {**platform.provider, "hints.enabled": True, "cleanup_timeout": "0s"}
    agent.settings = {"shipper.autodiscover.providers": [provider], "logging.level": "debug"}
    agent.settings["queue.mem.events"] = QUEUE
    agent.configure()
    return agent


def write(platform: Platform, log: Path, *texts: str) -> None:
    with log.open("ab") as file:
        file.write(b"".join(map(platform.line, texts)))


def has_ending_inputs(agent: LocalAgent) -> bool:
    """Return True if there is an input of a container that has ended."""
    text = get(UnixSocket(agent.data / "shipper.sock"), "/metrics").decode()
    return next(line for line in text.splitlines() if line.startswith(ENDING)).split()[1] != "0.0"


def is_forgotten(agent: LocalAgent, name: str) -> bool:
    """Return True if the agent has read a container to its end, and has removed its input."""
    return any(name in line and "read to its end" in line for line in agent.log.splitlines())


def has(event: Doc, members: Doc) -> bool:
    """Return True if an event has at least these members."""
    return all(
        has(event.get(name, {}), value) if isinstance(value, dict) else event.get(name) == value
        for name, value in members.items()
    )


def test_the_lines_of_a_container_arrive_with_its_metadata_up_to_the_last_one(
    discovering: LocalAgent, platform: Platform
) -> None:
    """It ends, and its log is rotated, while nothing can be delivered: little of that is read by then."""
    agent = discovering
    first = platform.run("web-1")
    write(platform, first, "web-1: there before the agent")
    agent.start()
    agent.await_messages("web-1: there before the agent")
    second = platform.run("web-2")
    write(platform, second, "web-2: began")
    agent.await_messages("web-2: began")

    agent.fill_disk()
    unread = [f"web-2: line {number}" for number in range(COUNT)]
    write(platform, second, *unread)
    rotated = second.with_name(f"{second.name}.20261125-020000")
    second.rename(rotated)
    write(platform, second, "web-2: after the rotation", "web-2: the last words")
    platform.end("web-2")
    await_true(lambda: has_ending_inputs(agent), "it knows that the container has ended")
    time.sleep(LOOKS)
    agent.fill_disk(full=False)
    agent.await_messages(*unread, "web-2: after the rotation", "web-2: the last words")
    compress(rotated)
    await_true(lambda: is_forgotten(agent, "web-2"), "its input is removed")

    write(platform, first, "web-1: undisturbed")
    agent.await_messages("web-1: undisturbed")
    assert agent.stop() == 0
    others = ["web-1: there before the agent", "web-1: undisturbed", "web-2: began"]
    last = ["web-2: after the rotation", "web-2: the last words"]
    assert sorted(agent.all) == sorted([*others, *unread, *last])
    assert [event for event in agent.events if not has(event, platform.metadata(event["message"][:5]))] == []
