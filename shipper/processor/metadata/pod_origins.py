"""Which pod and container a file is from: by its path, the files of the container runtime, and the API server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from log_shipper.shipper.clock import Clock
from log_shipper.shipper.kubernetes.objects import Named, Node, Pod
from log_shipper.shipper.processor.metadata.pod_paths import PodPlace, container_behind, pod_on_disk
from log_shipper.shipper.processor.metadata.pod_waits import remember
from log_shipper.shipper.processor.metadata.runtime_files import FULL_ID, Container, RuntimeFiles

if TYPE_CHECKING:
    from log_shipper.shipper.kubernetes.cluster import Cluster

SANDBOX = "io.kubernetes.sandbox.id"
LINK_EVERY = 5.0  # seconds between two checks of a path's links, while something is unknown
# The labels and annotations of runtimes with these values: Docker's (set by the kubelet), and containerd's.
KEYS = {
    "pod": ("io.kubernetes.pod.name", "io.kubernetes.cri.sandbox-name"),
    "uid": ("io.kubernetes.pod.uid", "io.kubernetes.cri.sandbox-uid"),
    "namespace": ("io.kubernetes.pod.namespace", "io.kubernetes.cri.sandbox-namespace"),
    "container": ("io.kubernetes.container.name", "io.kubernetes.cri.container-name"),
}


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """What is known of a file; another object when anything of it has changed. `on_disk` is the part of `place` that
    the path and its links reveal; `sandbox` is Docker's container of the pod itself."""

    on_disk: PodPlace
    place: PodPlace
    container: Container | None = None
    sandbox: Container | None = None
    pod: Pod | None = None
    namespace: Named | None = None
    node: Node | None = None

    def is_as(self, other: Origin) -> bool:
        """True if nothing has changed: each part stays the same object until it does."""
        return all(getattr(self, name) is getattr(other, name) for name in self.__slots__)


UNKNOWN = Origin(PodPlace(), PodPlace())


class PodOrigins:
    """`cluster` is None where there is no API server. `logs_paths`: directories of files whose names begin with the id
    of their container."""

    def __init__(
        self,
        root: Path,
        files: RuntimeFiles,
        cluster: Cluster | None,
        clock: Clock,
        logs_paths: Sequence[str] = (),
    ) -> None:
        self._logs_paths = logs_paths
        self._links = str(root / "var/log/containers")
        self._files = files
        self._cluster = cluster
        self._clock = clock
        self._places: dict[str, tuple[float, PodPlace]] = {}
        self._origins: dict[str, Origin] = {}

    def of(self, path: str) -> Origin:
        on_disk = self._on_disk(path)
        if not on_disk.known:
            return UNKNOWN
        before = self._origins.get(path, UNKNOWN)
        container = self._files.container(on_disk.id, path) if on_disk.id else None
        is_same_place = on_disk is before.on_disk and container is before.container
        place = before.place if is_same_place else _with_labels(on_disk, container)
        # A file keeps its pod: its last lines may be read long after the pod was deleted.
        pod = self._pod(place) or (before.pod if is_same_place else None)
        namespace, node = before.namespace, before.node
        if pod is not None and self._cluster is not None:
            namespace = self._cluster.namespace(pod.namespace) or namespace
            node = self._cluster.node(pod.node) or node
        origin = Origin(on_disk, place, container, self._sandbox(container), pod, namespace, node)
        if origin.is_as(before):
            return before
        remember(self._origins, path, origin)
        return origin

    def _sandbox(self, container: Container | None) -> Container | None:
        identity = container.labels.get(SANDBOX, "") if container is not None else ""
        return self._files.container(identity) if FULL_ID.fullmatch(identity) else None

    def _pod(self, place: PodPlace) -> Pod | None:
        if self._cluster is None:
            return None
        return self._cluster.pod(place.uid, place.id, (place.namespace, place.pod))

    def _on_disk(self, path: str) -> PodPlace:
        expires, place = self._places.get(path, (0.0, PodPlace()))
        now = self._clock.monotonic()
        if now >= expires:
            seen = pod_on_disk(path, self._links)
            if not seen.known:
                seen = container_behind(path, self._logs_paths)
            if seen != place:
                place = seen
            complete = not place.known or (place.id and place.uid)
            remember(self._places, path, (float("inf") if complete else now + LINK_EVERY, place))
        return place


def _with_labels(place: PodPlace, container: Container | None) -> PodPlace:
    if container is None:
        return place
    values = {
        name: next((container.labels[key] for key in keys if key in container.labels), "")
        for name, keys in KEYS.items()
    }
    return place.with_more(PodPlace(**values))
