"""`add_kubernetes_metadata`: metadata of the pod that a log belongs to.

Metadata of the API server takes precedence; without it, the path and the files of the container runtime give some. A
file whose pod the API server has not reported yet waits for it, once; other files are read meanwhile.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from log_shipper.config.text.checks import Finding, not_blank
from log_shipper.config.text.units import Duration, Wait
from log_shipper.config.yaml.schema import NamedItems
from log_shipper.shipper.event import Batch, Doc
from log_shipper.shipper.formats.json_fields import copied
from log_shipper.shipper.kubernetes.fields import PodFields, present, wanted_labels
from log_shipper.shipper.options.kubernetes import AddResourceMetadataConfig, KubeClientOptions, LabelsConfig
from log_shipper.shipper.options.processors import ProcessorConfig
from log_shipper.shipper.processor.base import ProcessorContext
from log_shipper.shipper.processor.events import Event, Events
from log_shipper.shipper.processor.fields import MISSING, Path
from log_shipper.shipper.processor.metadata.facts import Facts, Sharing, leaves
from log_shipper.shipper.processor.metadata.pod_origins import Origin, PodOrigins, PodWaits, remember

if TYPE_CHECKING:
    from log_shipper.shipper.kubernetes.account import ApiAccess
    from log_shipper.shipper.kubernetes.cluster import Cluster

logger = logging.getLogger(__name__)

_NO_INDEXERS = "not needed: a pod is found by its uid, its name or a container id, whichever the path contains"
_WATCHED = "not needed: changes are watched, and lists are not repeated"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogsPathMatcher:
    name: ClassVar = "logs_path"
    logs_path: str = field(
        default="/var/lib/docker/containers/",
        metadata={
            "doc": "A directory of log files that get metadata. In their paths, a container id follows the directory."
        },
    )
    resource_type: Literal["container", "pod"] = field(
        default="container", metadata={"doc": "Accepted and ignored: the path shows which of the two it is."}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsupportedMatcher:
    """A matcher by fields of the event."""

    lookup_fields: tuple[str, ...] = field(default=(), metadata={"doc": "Accepted and ignored."})
    regex_pattern: str = field(default="", metadata={"doc": "Accepted and ignored."})
    format: str = field(default="", metadata={"doc": "Accepted and ignored."})


@dataclass(frozen=True, slots=True, kw_only=True)
class AddKubernetesMetadataConfig(ProcessorConfig):
    """Adds metadata of the Kubernetes pod that a log file belongs to, from the API server and the path."""

    name: ClassVar = "add_kubernetes_metadata"
    example: ClassVar = "add_kubernetes_metadata: {include_annotations: [team], add_resource_metadata.deployment: true}"
    ignored: ClassVar = {
        **dict.fromkeys(("default_indexers", "indexers"), _NO_INDEXERS),
        "in_cluster": "an agent in a pod uses its service account, unless kube_config or KUBECONFIG names a file",
        "use_kubeadm": "orchestrator.cluster.name is not added",
        "sync_period": _WATCHED,
        "wait_for_metadata_timeout": "wait_for_metadata itself is the duration",
        "wait_for_metadata_retry_period": _WATCHED,
    }
    not_yet: ClassVar = LabelsConfig.not_yet
    node: str | None = field(
        default=None,
        metadata={
            "key": ("node", "host"),
            "doc": "The node whose pods are watched; when absent NODE_NAME, else the node of the agent's own "
            "pod, else the host name.",
        },
    )
    scope: Literal["node", "cluster"] = field(
        default="node", metadata={"doc": "Whether the pods of the node or of the whole cluster are watched."}
    )
    namespace: str | None = field(
        default=None, metadata={"doc": "The only namespace whose pods are watched; all when absent."}
    )
    kube_config: str | None = field(
        default=None,
        metadata={
            "doc": "The path of a kubeconfig; when absent the file of KUBECONFIG, else the service account of "
            "the agent's pod.",
        },
    )
    kube_client_options: KubeClientOptions = field(default_factory=KubeClientOptions)
    add_resource_metadata: AddResourceMetadataConfig = field(default_factory=AddResourceMetadataConfig)
    wait_for_metadata: Wait = field(
        default=2.0,
        metadata={
            "doc": "How long the first events of a pod wait for the API server to report it; then they "
            "continue with the metadata of the path. Other files are read meanwhile. Filebeat's "
            "`true` is 30s, `false` is 0.",
        },
    )
    default_matchers: bool = field(
        default=True,
        metadata={
            "key": "default_matchers.enabled",
            "doc": "Whether the default matchers are used in addition to `matchers`.",
        },
    )
    matchers: tuple[Any, ...] = field(
        default=(),
        metadata={
            "doc": "The directories of container log files; the usual ones when absent.",
            "read_as": NamedItems(
                "matcher",
                "logs_path",
                {"logs_path": LogsPathMatcher, "fields": UnsupportedMatcher, "field_format": UnsupportedMatcher},
            ),
        },
    )
    append_fields: bool = field(
        default=False,
        metadata={
            "doc": "Whether missing fields are added to an event that already has kubernetes fields; when "
            "false, such an event is skipped."
        },
    )
    cleanup_timeout: Duration = field(
        default=60.0, metadata={"doc": "How long metadata of a deleted pod is kept, for its last lines."}
    )
    labels_dedot: bool = field(
        default=True,
        metadata={"key": "labels.dedot", "doc": "Whether dots in label names are replaced by underscores."},
    )
    annotations_dedot: bool = field(
        default=True,
        metadata={"key": "annotations.dedot", "doc": "Whether dots in annotation names are replaced by underscores."},
    )
    include_labels: tuple[str, ...] = field(default=(), metadata={"doc": "Labels to add; all when empty."})
    exclude_labels: tuple[str, ...] = field(default=(), metadata={"doc": "Labels not to add."})
    include_annotations: tuple[str, ...] = field(default=(), metadata={"doc": "Annotations to add; none when empty."})
    hostfs: str = field(default="/", metadata={"doc": "The mount point of the host's file system.", "check": not_blank})

    def remarks(self) -> Iterator[Finding]:
        for index, matcher in enumerate(self.matchers):
            if isinstance(matcher, UnsupportedMatcher):
                yield f"matchers[{index}]", "not used: logs are matched by path only"
        if not self.default_matchers and not self.logs_paths:
            yield "default_matchers", "without a logs_path matcher nothing matches, and no metadata is added"
        if self.scope == "cluster" and self.node:
            yield "node", "not used with scope: cluster"

    @property
    def logs_paths(self) -> tuple[str, ...]:
        """Return the directories, each with a trailing slash."""
        return tuple(
            matcher.logs_path.rstrip("/") + "/" for matcher in self.matchers if isinstance(matcher, LogsPathMatcher)
        )

    def may_set(self, root: str) -> bool:
        return False  # what it sets depends on its options: `option_for`

    def option_for(self, field_name: str) -> str:
        """Return the option that a field requires and that is not set; an empty string if the field may be set."""
        resources = self.add_resource_metadata
        namespace, node = resources.namespace, resources.node
        options = (
            ("kubernetes.annotations", self.include_annotations, "include_annotations"),
            ("kubernetes.deployment", resources.deployment, "add_resource_metadata.deployment"),
            ("kubernetes.cronjob", resources.cronjob, "add_resource_metadata.cronjob"),
            ("kubernetes.namespace_", namespace.enabled, "add_resource_metadata.namespace.enabled"),
            (
                "kubernetes.namespace_annotations",
                namespace.include_annotations,
                "add_resource_metadata.namespace.include_annotations",
            ),
            (
                "kubernetes.node.annotations",
                node.include_annotations,
                "add_resource_metadata.node.include_annotations",
            ),
            *(
                (f"kubernetes.node.{name}", node.enabled, "add_resource_metadata.node.enabled")
                for name in ("uid", "hostname", "labels", "annotations")
            ),
        )
        return next((option for name, is_set, option in options if field_name.startswith(name) and not is_set), "")

    def build(self, context: ProcessorContext) -> AddKubernetesMetadata:
        """Return the processor, with a cluster if there is an API server. Raises StartError for an unusable
        kubeconfig."""
        # Imported late: TLS and HTTP are larger than the processor.
        from log_shipper.shipper.kubernetes.account import NoAccess, find_access, in_pod

        cluster = None
        try:
            access = find_access(self.kube_config or "")
        except NoAccess as reason:
            # The default configuration has this processor on all machines, most of which are in no cluster.
            is_by_default = replace(self, when=None) == AddKubernetesMetadataConfig() and not in_pod()
            logger.log(
                logging.INFO if is_by_default else logging.WARNING,
                "add_kubernetes_metadata: no API server found: %s. Events get only the metadata in the paths "
                "of their files, without labels",
                reason,
            )
        else:
            cluster = _watched(self, context, access)
        return AddKubernetesMetadata(self, context, cluster=cluster)


def _watched(config: AddKubernetesMetadataConfig, context: ProcessorContext, access: ApiAccess) -> Cluster:
    """Return the cluster that all processors with the same options share."""
    # Imported here: most machines are in no cluster.
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


LOG_PATH: Path = ("log", "file", "path")
ANNOTATION = "annotation."  # before the name of an annotation among Docker's labels


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
        self._origins = PodOrigins(root, config.cleanup_timeout, cluster, context.clock, config.logs_paths)
        self._waits = PodWaits(cluster, config.wait_for_metadata, context.clock) if cluster else None
        self._fields = PodFields(config, config.add_resource_metadata)
        self._sharing = Sharing(config.name, frozenset({"log.file", "container", "kubernetes"}), context.metrics)
        self._node = config.node or environment.get("NODE_NAME", "")
        self._facts: dict[str, tuple[Origin, Facts | None]] = {}

    def waits_until(self, batch: Batch) -> float:
        path = batch.source.path
        if self._waits is None or self._waits.is_settled(path):
            return 0.0
        can_wait = self._waits.can_wait()  # before the lookup, so that a later change wakes the loop
        origin = self._origins.origin_of(path) if self._is_matched(path) else None
        if origin is None or not origin.place.known or origin.is_foreign:
            self._waits.end(path)
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
        origin = self._origins.origin_of(path)
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
            kubernetes = self._fields.build(pod, origin.namespace, origin.node)
        elif place.pod or place.uid:
            kubernetes = {
                "pod": present(name=place.pod, uid=place.uid),
                "namespace": place.namespace,
                "node": present(name=self._node),
                **self._docker_labels(origin),
            }
        else:
            return {}  # a container that belongs to no pod
        container, name = origin.container_at(path)
        kubernetes["container"] = present(name=name)
        members: Doc = {"kubernetes": {name: value for name, value in kubernetes.items() if value}}
        return members | ({"container": container} if container else {})

    def _docker_labels(self, origin: Origin) -> Doc:
        """Return labels and annotations of the pod, which Docker keeps as labels of its sandbox."""
        if origin.sandbox is None:
            return {}
        labels, annotations = {}, {}
        for name, value in origin.sandbox.labels.items():
            if name.startswith(ANNOTATION):
                annotations[name.removeprefix(ANNOTATION)] = value
            elif not name.startswith("io.kubernetes."):
                labels[name] = value
        return wanted_labels(labels, annotations, self._config)
