"""Determines the pod and container of a file: by its path, files of the container runtime, and the API server, for
which it waits once per pod."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from log_shipper.shipper.clock import Clock
from log_shipper.shipper.event import Doc
from log_shipper.shipper.kubernetes.fields import container_of, present
from log_shipper.shipper.kubernetes.objects import Named, Node, Pod
from log_shipper.shipper.processor.metadata.pod_paths import PodPlace, container_behind, pod_on_disk
from log_shipper.shipper.processor.metadata.runtime_files import FULL_ID, RuntimeContainer, RuntimeFiles

if TYPE_CHECKING:
    from log_shipper.shipper.kubernetes.cluster import Cluster

SANDBOX = "io.kubernetes.sandbox.id"
# The kubelet names a container's log by its number of restarts.
RESTART = re.compile(r".*/(\d+)\.log")
MAX_CACHED = 10_000
LINK_EVERY = 5.0  # seconds between checks of a path's links, while something is unknown
# Labels and annotations with these values: Docker's (set by the kubelet), and containerd's.
KEYS = {
    "pod": ("io.kubernetes.pod.name", "io.kubernetes.cri.sandbox-name"),
    "uid": ("io.kubernetes.pod.uid", "io.kubernetes.cri.sandbox-uid"),
    "namespace": ("io.kubernetes.pod.namespace", "io.kubernetes.cri.sandbox-namespace"),
    "container": ("io.kubernetes.container.name", "io.kubernetes.cri.container-name"),
}
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """The known origin of a file; a new object when anything has changed. `on_disk`: the part of `place` that the path
    and its links reveal; `sandbox`: Docker's container of the pod itself."""

    on_disk: PodPlace
    place: PodPlace
    container: RuntimeContainer | None = None
    sandbox: RuntimeContainer | None = None
    pod: Pod | None = None
    namespace: Named | None = None
    node: Node | None = None

    def is_as(self, other: Origin) -> bool:
        """Return True if nothing has changed: each part stays the same object until it does."""
        return all(getattr(self, name) is getattr(other, name) for name in self.__slots__)

    @property
    def is_foreign(self) -> bool:
        """Return True for a container known to its runtime that belongs to no pod."""
        return self.container is not None and not self.place.pod and not self.place.uid

    def container_at(self, path: str) -> tuple[Doc, str]:
        """Return the members of `container`, and the container name; `path`: of the file."""
        place, of_files = self.place, self.container
        of_pod = container_of(self.pod, place.id, place.container) if self.pod is not None else None
        identity, runtime, image = place.id, "", ""
        if of_files is not None:
            identity, runtime, image = of_files.id, of_files.runtime, of_files.image
        if of_pod is not None:
            image = of_pod.image or image
            restart = RESTART.fullmatch(path)
            if not identity and restart is not None and int(restart[1]) == of_pod.restarts:
                identity = of_pod.id
            if identity == of_pod.id:
                runtime = of_pod.runtime or runtime
        members = present(id=identity, runtime=runtime)
        if image:
            members["image"] = {"name": image}
        return members, place.container or (of_pod.name if of_pod is not None else "")


UNKNOWN = Origin(PodPlace(), PodPlace())


class PodOrigins:
    """`cluster` is None without an API server. `cleanup`: seconds for which metadata of a deleted container is kept.
    `logs_paths`: directories of files whose names begin with their container id."""

    def __init__(
        self,
        root: Path,
        cleanup: float,
        cluster: Cluster | None,
        clock: Clock,
        logs_paths: Sequence[str] = (),
    ) -> None:
        self._logs_paths = logs_paths
        self._links = str(root / "var/log/containers")
        self._files = RuntimeFiles(root, clock, cleanup)
        self._cluster = cluster
        self._clock = clock
        self._places: dict[str, tuple[float, PodPlace]] = {}
        self._origins: dict[str, Origin] = {}

    def origin_of(self, path: str) -> Origin:
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

    def _sandbox(self, container: RuntimeContainer | None) -> RuntimeContainer | None:
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


def _with_labels(place: PodPlace, container: RuntimeContainer | None) -> PodPlace:
    if container is None:
        return place
    values = {
        name: next((container.labels[key] for key in keys if key in container.labels), "")
        for name, keys in KEYS.items()
    }
    return place.with_more(PodPlace(**values))


class PodWaits:
    """Decides how long files wait for their pods, at most `max_wait` seconds."""

    def __init__(self, cluster: Cluster, max_wait: float, clock: Clock) -> None:
        self._cluster = cluster
        self._max_wait = max_wait
        self._clock = clock
        self._settled: dict[str, None] = {}  # paths that do not wait any more, oldest first
        self._deadlines: dict[str, float] = {}  # by pod, oldest first

    def is_settled(self, path: str) -> bool:
        return path in self._settled or not self._max_wait

    def can_wait(self) -> bool:
        """Return True if pods can be awaited; the next change then wakes the loop."""
        return self._cluster.can_be_awaited()

    def end(self, path: str) -> None:
        remember(self._settled, path, None)

    def waits_until(self, path: str, place: PodPlace, pod: Pod | None) -> float:
        """Return the monotonic time until which the file waits for its pod, shared by all files of the pod, perhaps
        past; 0 if it need not wait any more."""
        if pod is not None and self._cluster.has_all_of(pod):
            self.end(path)
            return 0.0
        key = place.uid or (f"{place.namespace}/{place.pod}" if place.pod else place.id)
        deadline = self._deadlines.get(key)
        if deadline is None:
            deadline = self._clock.monotonic() + self._max_wait
            remember(self._deadlines, key, deadline)
        return deadline


def remember(known: dict[str, Value], key: str, value: Value) -> None:
    """Keep a value, up to a maximum number."""
    if key not in known and len(known) >= MAX_CACHED:
        del known[next(iter(known))]
    known[key] = value
