"""A cluster as processors see it: pods with their owners, tracked by a watcher that ends with its last user."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass

from log_shipper.shipper.clock import Clock
from log_shipper.shipper.kubernetes.access import ApiAccess
from log_shipper.shipper.kubernetes.objects import Named, Node, Pod
from log_shipper.shipper.kubernetes.resource_watch import WatchCounts
from log_shipper.shipper.kubernetes.watcher import ClusterWatcher, WatchScope


@dataclass(slots=True)
class Waking:
    """Wakes a waiting reader only: a busy cluster changes all the time."""

    wake: Callable[[], None]
    is_awaited: bool = False

    def __call__(self) -> None:
        if self.is_awaited:
            self.is_awaited = False
            self.wake()


class Cluster:
    """A cluster, used by the reading thread; any thread may use `size` and `counts`."""

    def __init__(self, watcher: ClusterWatcher, waking: Waking) -> None:
        self._watcher = watcher
        self._waking = waking
        watcher.listen(lambda change: waking())
        # The threads reference the watcher, so they would never end by themselves.
        weakref.finalize(self, watcher.close, 0.0)

    @classmethod
    def open(cls, access: ApiAccess, scope: WatchScope, clock: Clock, wake: Callable[[], None]) -> Cluster:
        """Start watching. `wake` is called after an awaited change."""
        waking = Waking(wake)
        watcher = ClusterWatcher(scope, access, clock, waking)
        watcher.start()
        return cls(watcher, waking)

    def pod(self, uid: str, container: str, name: tuple[str, str]) -> Pod | None:
        """Return the pod that a path names; `name` is namespace and name. Unknown parts are empty. A known uid
        overrides the name: pods of a StatefulSet reuse names.
        """
        pods = self._watcher.pods
        pod = (uid and pods.get_by_uid(uid)) or (container and pods.get_by_container(container)) or None
        return pods.get_by_name(*name) if pod is None and not uid and all(name) else pod

    def namespace(self, name: str) -> Named | None:
        return self._watcher.namespaces.get(name)

    def node(self, name: str) -> Node | None:
        return self._watcher.nodes.get(name)

    def has_all_of(self, pod: Pod) -> bool:
        """Return True if the pod's data is known, or cannot be."""
        watches = self._watcher.watches
        namespaces, nodes = watches.get("namespaces"), watches.get("nodes")
        return (namespaces is None or namespaces.is_refused or self.namespace(pod.namespace) is not None) and (
            nodes is None or nodes.is_refused or nodes.is_listed
        )

    def can_be_awaited(self) -> bool:
        """Return False while permission to read pods is missing. After True, `wake` is called at the next change."""
        may_come = not self._watcher.is_refused
        self._waking.is_awaited = may_come  # and no longer, if a change comes at this moment
        return may_come

    @property
    def size(self) -> int:
        """Return the number of known pods."""
        return len(self._watcher.pods)

    def counts(self) -> WatchCounts:
        return self._watcher.counts()
