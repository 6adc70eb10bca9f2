"""The provider `docker`: the containers of a Docker daemon."""

from collections.abc import Callable
from typing import Any

from log_shipper.shipper.autodiscover.containers import DiscoveredContainer
from log_shipper.shipper.autodiscover.reporter import ContainerReporter
from log_shipper.shipper.docker.containers import SHORT_ID, DockerContainer
from log_shipper.shipper.docker.watcher import ContainerListener, Watcher
from log_shipper.shipper.event import Doc


def container_of(docker: DockerContainer, labelled: Callable[[dict[str, str]], Doc]) -> DiscoveredContainer:
    """Return the description of a container. `labelled` turns its labels into members of events."""
    labels = dict(docker.labels)
    data: dict[str, Any] = {
        "docker": {"container": {"id": docker.id, "name": docker.name, "image": docker.image, "labels": labels}},
        "container": {"id": docker.id, "name": docker.name, "image": {"name": docker.image}, "labels": labels},
    }
    if docker.addresses:
        data["host"] = docker.addresses[0]
    if docker.ports:
        data["port"] = docker.ports[0]
    container: Doc = {"id": docker.id, "name": docker.name, "image": {"name": docker.image}}
    if labels:
        container["labels"] = labelled(labels)
    return DiscoveredContainer(
        key=docker.id,
        label=f"container {docker.name or docker.id[:SHORT_ID]}",
        id=docker.id,
        name=docker.name,
        data=data,
        annotations=labels,
        metadata={"container": container},
        owned=(docker.id,),
    )


class DockerContainers:
    """Reports running containers (`docker.watcher.ContainerListener`)."""

    def __init__(
        self,
        reporter: ContainerReporter,
        labelled: Callable[[dict[str, str]], Doc],
        make: Callable[[ContainerListener], Watcher],
    ) -> None:
        self._reporter = reporter
        self._labelled = labelled
        self._watcher = make(self)

    @property
    def is_listed(self) -> bool:
        return self._watcher.connected

    def start(self) -> None:
        self._watcher.start()

    def close(self) -> None:
        self._watcher.close()

    def started(self, container: DockerContainer) -> None:
        self._reporter.present(container_of(container, self._labelled))

    def stopped(self, container: DockerContainer) -> None:
        self._reporter.ended(container.id)

    def looked(self) -> None: ...
