"""Providers against small servers, from the configuration to what is reported."""

import json
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue

import pytest

from log_shipper.shipper.autodiscover.composition import ProviderContext
from log_shipper.shipper.autodiscover.configuring import Configurer
from log_shipper.shipper.autodiscover.discoveries import ContainerReport
from log_shipper.shipper.autodiscover.providers import make_provider
from log_shipper.shipper.autodiscover.reporter import ContainerReporter
from log_shipper.shipper.clock import SystemClock
from log_shipper.shipper.errors import StartError
from tests.containers import Rules
from tests.docker_api import DockerApi
from tests.kubernetes_api import KubernetesApi, kubeconfig, namespace, node, pod

SECONDS = 30.0  # that a report may take
Make = Callable[[str], tuple[object, ProviderContext]]


@pytest.fixture
def reports() -> "SimpleQueue[ContainerReport]":
    return SimpleQueue()


@pytest.fixture
def make(tmp_path: Path, reports: "SimpleQueue[ContainerReport]") -> Make:
    def make(yaml: str) -> tuple[object, ProviderContext]:
        provider = Rules(tmp_path).provider(yaml)
        reporter = ContainerReporter(Configurer(provider, "providers[0]"), 60.0, reports.put)
        return provider, ProviderContext(reporter, SystemClock(), "autodiscover.providers[0]")

    return make


def test_containers_of_docker_come_and_go(tmp_path: Path, make: Make, reports: "SimpleQueue[ContainerReport]") -> None:
    with DockerApi(tmp_path / "docker.sock") as docker:
        docker.run("a" * 64, "web", labels={"co.elastic.logs/exclude_lines": "^DBG", "app.name": "web"})
        provider = make_provider(*make(f"type: docker\nhost: unix://{tmp_path}/docker.sock\nhints.enabled: true\n"))
        provider.start()
        report = reports.get(timeout=SECONDS)
        assert report.container is not None
        (item,) = report.made.inputs
        assert item.paths == (f"/var/lib/docker/containers/{'a' * 64}/*-json.log",)
        assert item.exclude_lines == ("^DBG",)
        assert report.container.label == "container web"
        assert report.container.text("docker.container.labels.app.name") == "web"
        assert report.container.metadata["container"]["labels"]["app_name"] == "web"
        docker.stop("a" * 64)
        ended = reports.get(timeout=SECONDS)
        assert (ended.key, ended.container) == ("a" * 64, None)
        assert provider.is_listed
        provider.close()


def test_pods_of_the_api_server_come_and_go(
    tmp_path: Path, make: Make, reports: "SimpleQueue[ContainerReport]"
) -> None:
    with KubernetesApi() as api:
        api.put("namespaces", namespace("shop"))
        api.put("nodes", node("n1"))
        api.put("pods", pod("web", annotations={"co.elastic.logs/multiline.pattern": "^x"}))
        file = tmp_path / "kubeconfig"
        file.write_text(json.dumps(kubeconfig(api)))
        provider = make_provider(*make(f"type: kubernetes\nnode: n1\nkube_config: {file}\nhints.enabled: true\n"))
        provider.start()
        report = reports.get(timeout=SECONDS)
        assert report.container is not None
        assert [len(item.parsers) for item in report.made.inputs] == [2]
        api.delete("pods", "web")
        while report.container is not None:  # it is reported again when its namespace and node are known
            report = reports.get(timeout=SECONDS)
        assert provider.is_listed
        provider.close()


def test_a_kubeconfig_that_is_missing_ends_the_start(tmp_path: Path, make: Make) -> None:
    with pytest.raises(StartError, match="nothing"):
        make_provider(*make(f"type: kubernetes\nkube_config: {tmp_path}/nothing\nhints.enabled: true\n"))
