"""add_kubernetes_metadata: the pod that a log belongs to.

What the API server knows of it takes precedence; without that the path and the files of the container runtime reveal
some of it. A file of a pod that the API server has not shown yet waits for it, once; other files are read meanwhile.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

from log_shipper.shipper.event import Batch, Doc
from log_shipper.shipper.formats.json_fields import copied
from log_shipper.shipper.kubernetes.access import Access, NoAccess
from log_shipper.shipper.kubernetes.account import find_access, in_pod
from log_shipper.shipper.kubernetes.fields import PodFields, container_of, wanted_labels
from log_shipper.shipper.options.processors.kubernetes_metadata import AddKubernetesMetadataConfig
from log_shipper.shipper.processor.base import ProcessorContext
from log_shipper.shipper.processor.events import Event, Events
from log_shipper.shipper.processor.fields import MISSING, Path
from log_shipper.shipper.processor.metadata.facts import Facts, Sharing, leaves
from log_shipper.shipper.processor.metadata.pod_origins import Origin, PodOrigins
from log_shipper.shipper.processor.metadata.pod_waits import PodWaits, remember
from log_shipper.shipper.processor.metadata.runtime_files import Container, RuntimeFiles

if TYPE_CHECKING:
    from log_shipper.shipper.kubernetes.cluster import Cluster

logger = logging.getLogger(__name__)

LOG_PATH: Path = ("log", "file", "path")
ANNOTATION = "annotation."  # before the name of an annotation among Docker's labels
# The kubelet names a container's log by the number of restarts before.
RESTART = re.compile(r".*/(\d+)\.log")


def connected(config: AddKubernetesMetadataConfig, context: ProcessorContext) -> AddKubernetesMetadata:
    """Return the processor with the cluster that the agent belongs to, or without, where there is none. Raises
    StartError for a kubeconfig that cannot be used."""
    cluster = None
    try:
        access = find_access(config.kube_config or "")
    except NoAccess as reason:
        # A configuration as installed has the processor on all machines, and most of them are in no cluster.
        is_by_default = replace(config, when=None) == AddKubernetesMetadataConfig() and not in_pod()
        logger.log(
            logging.INFO if is_by_default else logging.WARNING,
            "add_kubernetes_metadata: there is no API server to ask: %s. Events have what the paths of their files "
            "reveal, without labels",
            reason,
        )
    else:
        cluster = _watched(config, context, access)
    return AddKubernetesMetadata(config, context, cluster=cluster)


def _watched(config: AddKubernetesMetadataConfig, context: ProcessorContext, access: Access) -> Cluster:
    """Return the cluster that all processors with such options share."""
    # Imported here: TLS and HTTP are more than the processor itself, and most machines are in no cluster.
    from log_shipper.shipper.kubernetes.cluster import Cluster
    from log_shipper.shipper.kubernetes.watcher import WatchScope

    resources = config.add_resource_metadata
    scope = WatchScope(
        node=config.node or "",
        whole_cluster=config.scope == "cluster",
        namespace=config.namespace or "",
        with_namespaces=resources.namespace.enabled,
        with_nodes=resources.node.enabled,
        with_cron_jobs=resources.cronjob,
        keep_deleted=config.cleanup_timeout,
    )
    return context.services.shared(
        ("kubernetes", access, scope), lambda: Cluster.open(access, scope, context.clock, context.wake)
    )


class AddKubernetesMetadata:
    def __init__(
        self,
        config: AddKubernetesMetadataConfig,
        context: ProcessorContext,
        environment: Mapping[str, str] = os.environ,
        cluster: Cluster | None = None,
    ) -> None:
        self._config = config
        root = FilePath(config.hostfs)
        files = RuntimeFiles(root, context.clock, config.cleanup_timeout)
        self._origins = PodOrigins(root, files, cluster, context.clock, config.logs_paths)
        self._waits = PodWaits(cluster, config.wait_for_metadata, context.clock) if cluster else None
        self._fields = PodFields(config, config.add_resource_metadata)
        self._sharing = Sharing(config.name, frozenset({"log.file", "container", "kubernetes"}), context.metrics)
        self._node = config.node or environment.get("NODE_NAME", "")
        self._facts: dict[str, tuple[Origin, Facts | None]] = {}

    def waits_until(self, batch: Batch) -> float:
        path = batch.source.path
        if self._waits is None or self._waits.is_settled(path):
            return 0.0
        can_wait = self._waits.can_wait()  # before the look: what changes after that wakes the loop
        origin = self._origins.of(path) if self._is_matched(path) else None
        if origin is None or not origin.place.known or _is_foreign(origin):
            self._waits.settle(path)
            return 0.0
        return self._waits.waits_until(path, origin.place, origin.pod) if can_wait else 0.0

    def run(self, events: Events, indices: Sequence[int]) -> None:
        if self._sharing.shared(events, indices):
            facts = self._of_path(events.get(indices[0], LOG_PATH))
            if facts is not None:
                self._sharing.run(events, indices, facts, lambda event: self._write(event, facts))
        else:
            self._sharing.event_by_event(events, indices, self._enrich)

    def _enrich(self, event: Event) -> None:
        facts = self._of_path(event.get(LOG_PATH))
        if facts is not None:
            self._write(event, facts)

    def _write(self, event: Event, facts: Facts) -> None:
        exists = event.get(("kubernetes",)) is not MISSING
        if exists and not self._config.append_fields:
            return
        for path, value in leaves(facts.members):
            if not exists or event.get(path) is MISSING:
                event.put(path, copied(value))

    def _of_path(self, path: Any) -> Facts | None:
        if not isinstance(path, str) or not self._is_matched(path):
            return None
        origin = self._origins.of(path)
        before = self._facts.get(path)
        if before is not None and before[0] is origin:
            return before[1]
        members = self._members(origin, path)
        facts = Facts(self._sharing, members) if members else None
        if before is not None and before[1] is not None and before[1].members == members:
            facts = before[1]
        remember(self._facts, path, (origin, facts))
        return facts

    def _is_matched(self, path: str) -> bool:
        return self._config.default_matchers or path.startswith(self._config.logs_paths)

    def _members(self, origin: Origin, path: str) -> Doc:
        place, pod = origin.place, origin.pod
        if pod is not None:
            kubernetes = self._fields.of(pod, origin.namespace, origin.node)
        elif place.pod or place.uid:
            kubernetes = {
                "pod": _present(name=place.pod, uid=place.uid),
                "namespace": place.namespace,
                "node": _present(name=self._node),
                **self._docker_labels(origin.sandbox),
            }
        else:
            return {}  # a container that belongs to no pod
        container, name = _container(origin, path)
        kubernetes["container"] = _present(name=name)
        members: Doc = {"kubernetes": {name: value for name, value in kubernetes.items() if value}}
        return members | ({"container": container} if container else {})

    def _docker_labels(self, sandbox: Container | None) -> Doc:
        """Return labels and annotations of the pod: Docker has them as labels of its sandbox."""
        if sandbox is None:
            return {}
        labels, annotations = {}, {}
        for name, value in sandbox.labels.items():
            if name.startswith(ANNOTATION):
                annotations[name.removeprefix(ANNOTATION)] = value
            elif not name.startswith("io.kubernetes."):
                labels[name] = value
        return wanted_labels(labels, annotations, self._config)


def _is_foreign(origin: Origin) -> bool:
    """True for a container that its runtime knows, and that belongs to no pod."""
    return origin.container is not None and not origin.place.pod and not origin.place.uid


def _container(origin: Origin, path: str) -> tuple[Doc, str]:
    """Return the members of `container`, and the container's name."""
    place, of_files = origin.place, origin.container
    of_pod = container_of(origin.pod, place.id, place.container) if origin.pod is not None else None
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
    members = _present(id=identity, runtime=runtime)
    if image:
        members["image"] = {"name": image}
    return members, place.container or (of_pod.name if of_pod is not None else "")


def _present(**values: str) -> Doc:
    return {name: value for name, value in values.items() if value}
