"""A cluster as processors see it: the pods with what belongs to them, kept by a watcher that ends with the last one
who has it."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass

from log_shipper.shipper.clock import Clock
from log_shipper.shipper.kubernetes.access import Access
from log_shipper.shipper.kubernetes.objects import Named, Node, Pod
from log_shipper.shipper.kubernetes.resource_watch import WatchCounts
from log_shipper.shipper.kubernetes.watcher import ClusterWatcher, WatchScope


@dataclass(slots=True)
class Waking:
    """Wakes the one that waits, and no one while no one does: in a busy cluster something changes all the time."""

    wake: Callable[[], None]
    is_awaited: bool = False

    def __call__(self) -> None:
        if self.is_awaited:
            self.is_awaited = False
            self.wake()


class Cluster:
    """Used by the reading thread; `size` and `counts` by any."""

    def __init__(self, watcher: ClusterWatcher, waking: Waking) -> None:
        self._watcher = watcher
        self._waking = waking
        watcher.listen(lambda change: waking())
        # The threads have the watcher, so they would never end by themselves.
        weakref.finalize(self, watcher.close, 0.0)

    @classmethod
    def open(cls, access: Access, scope: WatchScope, clock: Clock, wake: Callable[[], None]) -> Cluster:
        """Begin to watch. `wake` is called after a change that was awaited."""
        waking = Waking(wake)
        watcher = ClusterWatcher(scope, access, clock, waking)
        watcher.start()
        return cls(watcher, waking)

    def pod(self, uid: str, container: str, name: tuple[str, str]) -> Pod | None:
        """Return the pod that a path names; `name` is namespace and name. What is not known is empty. Where the uid is
        known, the name does not count: a pod of a StatefulSet has that of the one before."""
        pods = self._watcher.pods
        pod = (uid and pods.of_uid(uid)) or (container and pods.of_container(container)) or None
        return pods.named(*name) if pod is None and not uid and all(name) else pod

    def namespace(self, name: str) -> Named | None:
        return self._watcher.namespaces.get(name)

    def node(self, name: str) -> Node | None:
        return self._watcher.nodes.get(name)

    def has_all_of(self, pod: Pod) -> bool:
        """True if what belongs to the pod is known, or cannot be."""
        watches = self._watcher.watches
        namespaces, nodes = watches.get("namespaces"), watches.get("nodes")
        return (namespaces is None or namespaces.is_refused or self.namespace(pod.namespace) is not None) and (
            nodes is None or nodes.is_refused or nodes.is_listed
        )

    def can_be_awaited(self) -> bool:
        """Return False while the right to read pods is missing. After True, `wake` is called at the next change."""
        may_come = not self._watcher.is_refused
        self._waking.is_awaited = may_come  # and is not any more if a change comes at this moment
        return may_come

    @property
    def size(self) -> int:
        """Return how many pods are known."""
        return len(self._watcher.pods)

    def counts(self) -> WatchCounts:
        return self._watcher.counts()
