"""The provider `kubernetes`: containers of the pods from the API server."""

import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from log_shipper.shipper.autodiscover.containers import DiscoveredContainer
from log_shipper.shipper.autodiscover.reporter import ContainerReporter
from log_shipper.shipper.event import Doc
from log_shipper.shipper.kubernetes import objects
from log_shipper.shipper.kubernetes.cache import Change
from log_shipper.shipper.kubernetes.objects import Named, Node, Pod
from log_shipper.shipper.kubernetes.watcher import ClusterWatcher

FieldsOf = Callable[[Pod, Named | None, Node | None], Doc]  # the members of `kubernetes`


def containers_of(
    pod: Pod, namespace: Named | None, node: Node | None, fields_of: FieldsOf
) -> Iterator[DiscoveredContainer]:
    """Yield the created containers of a pod, including init and ephemeral ones."""
    fields = fields_of(pod, namespace, node)
    inherited = namespace.annotations if namespace is not None else {}
    labels = {**fields.get("labels", {}), **pod.labels}
    for item in pod.containers:
        if not item.id:
            continue
        known = {"id": item.id, "name": item.name, "image": item.image, "runtime": item.runtime}
        data: dict[str, Any] = {
            "kubernetes": {
                **fields,
                "labels": labels,
                "annotations": pod.annotations,
                "namespace_annotations": inherited,
                "container": known,
            },
            "container": known,
            **_network(pod, item),
        }
        yield DiscoveredContainer(
            key=f"{pod.uid}.{item.name}.{item.id}",
            label=f"pod {pod.namespace}/{pod.name}, container {item.name}",
            id=item.id,
            name=item.name,
            data=data,
            annotations={**inherited, **pod.annotations},
            metadata={
                "kubernetes": {**fields, "container": {"name": item.name}},
                "container": {"id": item.id, "runtime": item.runtime, "image": {"name": item.image}},
            },
            owned=(item.id, *pod.uids),
        )


def _network(pod: Pod, item: objects.Container) -> Mapping[str, Any]:
    """Return data that only running containers have, so that a template that needs it waits for them."""
    if not item.is_running:
        return {}
    first = next(iter(item.ports.values()), None)
    return {"host": pod.ip, "ports": item.ports} | ({"port": first} if first is not None else {})


class PodProvider:
    """Reports pods. The threads of its watcher call it, one at a time."""

    def __init__(
        self, reporter: ContainerReporter, fields_of: FieldsOf, make: Callable[[Callable[[], None]], ClusterWatcher]
    ) -> None:
        """Create the provider; `make` returns a watcher that calls back after each change of a namespace or node."""
        self._reporter = reporter
        self._fields_of = fields_of
        self._lock = threading.Lock()
        self._pods: dict[str, Pod] = {}  # by uid
        self._keys: dict[str, set[str]] = {}  # the reported containers of a pod, by its uid
        # What is known about the pod's namespace and node, by its uid.
        self._around: dict[str, tuple[Named | None, Node | None]] = {}
        self._watcher = make(self._objects_changed)
        self._watcher.listen(self._take)

    @property
    def is_listed(self) -> bool:
        return self._watcher.is_listed

    def start(self) -> None:
        self._watcher.start()

    def close(self) -> None:
        self._watcher.close()

    def _take(self, change: Change) -> None:
        with self._lock:
            if change.kind == "deleted":
                self._forget(change.pod.uid)
            else:
                self._show(change.pod)

    def _show(self, pod: Pod) -> None:
        """Report a pod's current state. For an ended one (of a job), its containers and their end are reported."""
        around = self._watcher.namespaces.get(pod.namespace), self._watcher.nodes.get(pod.node)
        self._pods[pod.uid], self._around[pod.uid] = pod, around
        containers = list(containers_of(pod, *around, self._fields_of))
        keys = {container.key for container in containers}
        before = self._keys.get(pod.uid, set())
        self._keys[pod.uid] = keys
        for container in containers:
            if not (pod.is_terminated and container.key in before and not self._reporter.is_present(container.key)):
                self._reporter.present(container)
        for key in (before - keys) | (keys if pod.is_terminated else set()):
            self._reporter.ended(key)

    def _forget(self, uid: str) -> None:
        for key in self._keys.pop(uid, ()):
            self._reporter.ended(key)
        self._pods.pop(uid, None)
        self._around.pop(uid, None)

    def _objects_changed(self) -> None:
        """Report the pods again whose namespace or node has changed."""
        with self._lock:
            for uid, pod in list(self._pods.items()):
                namespace, node = self._around[uid]
                if (
                    self._watcher.namespaces.get(pod.namespace) is not namespace
                    or self._watcher.nodes.get(pod.node) is not node
                ):
                    self._show(pod)
