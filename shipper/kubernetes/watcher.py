"""Tracks the pods of a node, or of the cluster, with their namespaces and nodes: one thread for each kind."""

import logging
import os
import socket
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any
from urllib.parse import quote

from log_shipper.shipper.clock import Clock
from log_shipper.shipper.kubernetes.access import ApiAccess
from log_shipper.shipper.kubernetes.api_error import ApiError
from log_shipper.shipper.kubernetes.cache import Listener, Objects, Pods
from log_shipper.shipper.kubernetes.client import Client, RequestLimits
from log_shipper.shipper.kubernetes.jobs import CronJobs
from log_shipper.shipper.kubernetes.objects import Named, Node, namespace_of, node_of, pod_of
from log_shipper.shipper.kubernetes.resource_watch import Copying, Resource, ResourceWatch, WatchCounts, everything

logger = logging.getLogger(__name__)

MAX_JOIN_SECONDS = 1.0  # seconds, and so below
MAX_REFUSED_START = 5.0  # within which a server that has just started loads its roles
PAUSE_AFTER_DEFECT = 60.0
FOR_ONE_OBJECT = RequestLimits(timeout=5.0, max_seconds=10.0)  # all pods wait for it meanwhile
AnyWatch = ResourceWatch[Any]


@dataclass(frozen=True, slots=True)
class WatchScope:
    """What is watched. `node`: whose pods; determined if empty, unused with `whole_cluster`. `namespace`: of the pods;
    all if empty. `with_cron_jobs`: pods have `cron_job`. `keep_deleted`: seconds that a deleted object is kept.
    """

    node: str = ""
    whole_cluster: bool = False
    namespace: str = ""
    with_namespaces: bool = True
    with_nodes: bool = True
    with_cron_jobs: bool = False
    keep_deleted: float = 60.0


class NodeName:
    """The agent's node: as configured, else NODE_NAME, else that of the agent's own pod, else the host name."""

    def __init__(
        self,
        configured: str,
        namespace: str,
        clock: Clock,
        environment: Mapping[str, str] = os.environ,
        host: str = "",
    ) -> None:
        self._host = host or socket.gethostname()
        self._known = configured or environment.get("NODE_NAME", "")
        self._namespace = namespace
        self._clock = clock
        self._refused_until = 0.0  # a server may have just started; 0 before it refused
        self._lock = threading.Lock()

    def get(self, client: Client) -> str:
        """Return the name, requested once. Raises ApiError if the server does not respond or does not know the
        account's permissions yet: the host name may differ from the node's, and the watch would then deliver nothing.
        """
        with self._lock:
            if not self._known:
                self._known = self._of_own_pod(client) or self._host
                logger.info("kubernetes: this node is %r (if wrong, set node or NODE_NAME)", self._known)
            return self._known

    def _of_own_pod(self, client: Client) -> str:
        if not self._namespace:
            return ""
        path = f"/api/v1/namespaces/{quote(self._namespace)}/pods/{quote(self._host)}"
        try:
            return pod_of(client.get(path)).node
        except ApiError as error:
            if error.kind == "refused" or (error.kind == "forbidden" and self._has_no_right()):
                return ""  # no pod has this name (hostNetwork)
            raise

    def _has_no_right(self) -> bool:
        now = self._clock.monotonic()
        self._refused_until = self._refused_until or now + MAX_REFUSED_START
        return now >= self._refused_until


class ClusterWatcher:
    """The watcher. Any thread may read `pods`, `namespaces` and `nodes`. `changed` is called after each change of a
    namespace or node, on a thread of the watcher, and must not block; `listen` is for pods.
    """

    def __init__(
        self, scope: WatchScope, access: ApiAccess, clock: Clock, changed: Callable[[], None] = lambda: None
    ) -> None:
        keep = scope.keep_deleted
        self.access = access
        self.pods = Pods(clock, keep)
        self.namespaces: Objects[Named] = Objects(clock, keep, changed)
        self.nodes: Objects[Node] = Objects(clock, keep, changed)
        self._clock = clock
        self._stopping = threading.Event()
        self._clients: dict[str, list[Client]] = {}  # those of the thread of each watch
        self._threads: list[threading.Thread] = []
        self.watches: dict[str, AnyWatch] = {}
        self._add_watches(scope)

    def _add_watches(self, scope: WatchScope) -> None:
        node = NodeName(scope.node, self.access.namespace, self._clock)

        def selecting(field: str) -> Callable[[Client], str]:
            return everything if scope.whole_cluster else lambda client: f"{field}={node.get(client)}"

        use = "labels, annotations and owners of pods"
        pods = Resource("pods", use, scope.namespace, are_many=scope.whole_cluster)
        read = pod_of
        others = []
        if scope.with_cron_jobs:
            others = [Client(self.access, self._clock, FOR_ONE_OBJECT)]
            read = CronJobs(others[0], self._clock).read
        self._add(pods, Copying(self.pods, read, selecting("spec.nodeName")), others)
        if scope.with_namespaces:
            select = (lambda client: f"metadata.name={scope.namespace}") if scope.namespace else everything
            namespaces = Resource("namespaces", "labels of namespaces")
            self._add(namespaces, Copying(self.namespaces, namespace_of, select))
        if scope.with_nodes:
            self._add(Resource("nodes", "labels of nodes"), Copying(self.nodes, node_of, selecting("metadata.name")))

    def _add(self, resource: Resource, copying: Copying[Any], others: Sequence[Client] = ()) -> None:
        client = Client(self.access, self._clock)
        self._clients[resource.plural] = [client, *others]
        self.watches[resource.plural] = ResourceWatch(resource, client, copying, self._clock)

    @property
    def is_refused(self) -> bool:
        """Return True while permission to read pods is missing: then waiting for one is useless."""
        return self.watches["pods"].is_refused

    @property
    def is_listed(self) -> bool:
        """Return True once all pods have been listed."""
        return self.watches["pods"].is_listed

    def counts(self) -> WatchCounts:
        return WatchCounts.combine([watch.counts for watch in self.watches.values()])

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call the listener for each change of a pod (Pods.listen). Return a function that ends this."""
        return self.pods.listen(listener)

    def start(self) -> None:
        for plural, watch in self.watches.items():
            thread = threading.Thread(
                target=self._run, args=(watch, self._clients[plural]), name=f"kubernetes-{plural}", daemon=True
            )
            self._threads.append(thread)
            thread.start()

    def close(self, wait: float = MAX_JOIN_SECONDS) -> None:
        """End the threads, waiting at most this many seconds for them."""
        self._stopping.set()
        for client in chain(*self._clients.values()):
            client.interrupt()
        deadline = self._clock.monotonic() + wait
        for thread in self._threads:
            thread.join(max(deadline - self._clock.monotonic(), 0.0))

    def _run(self, watch: AnyWatch, clients: Iterable[Client]) -> None:
        while not self._stopping.is_set():
            try:
                pause = watch.step()
            except Exception:
                logger.exception("kubernetes: unexpected error in a watch; next attempt in a minute")
                pause = PAUSE_AFTER_DEFECT
            self._stopping.wait(pause)
        for client in clients:
            client.close()
