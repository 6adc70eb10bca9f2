"""The processor `add_kubernetes_metadata`: the pod that a log file belongs to."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from log_shipper.config.text.checks import Finding, not_blank
from log_shipper.config.text.units import Duration, Wait
from log_shipper.config.yaml.schema import NamedItems
from log_shipper.shipper.options.kubernetes import AddResourceMetadataConfig, KubeClientOptions, LabelsConfig
from log_shipper.shipper.options.processors.base import ProcessorConfig

_NO_INDEXERS = "a pod is found by its uid, its name and the ids of its containers, whichever of them a path has"
_WATCHED = "what changes is watched: no list is repeated from time to time"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogsPathMatcher:
    name: ClassVar = "logs_path"
    logs_path: str = field(
        default="/var/lib/docker/containers/",
        metadata={
            "doc": "The directory whose log files get metadata. A container id that follows it in a path is that of "
            "the file's container."
        },
    )
    resource_type: Literal["container", "pod"] = field(
        default="container", metadata={"doc": "Accepted and not used: the path shows which of the two it is."}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsupportedMatcher:
    """A matcher of what an event contains."""

    lookup_fields: tuple[str, ...] = field(default=(), metadata={"doc": "Accepted and not used."})
    regex_pattern: str = field(default="", metadata={"doc": "Accepted and not used."})
    format: str = field(default="", metadata={"doc": "Accepted and not used."})


@dataclass(frozen=True, slots=True, kw_only=True)
class AddKubernetesMetadataConfig(ProcessorConfig):
    """Adds metadata of the Kubernetes pod that a log file belongs to, from the API server and from the path."""

    name: ClassVar = "add_kubernetes_metadata"
    ignored: ClassVar = {
        **dict.fromkeys(("default_indexers", "indexers"), _NO_INDEXERS),
        "in_cluster": "an agent in a pod uses its account, unless kube_config or KUBECONFIG names a file",
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
            "doc": "The node whose pods are known; when absent NODE_NAME, else the node of the agent's own pod, else "
            "the name of the host.",
        },
    )
    scope: Literal["node", "cluster"] = field(
        default="node", metadata={"doc": "Whether the pods of the node are known, or all of the cluster."}
    )
    namespace: str | None = field(default=None, metadata={"doc": "The only namespace whose pods are known."})
    kube_config: str | None = field(
        default=None,
        metadata={
            "doc": "The path of a kubeconfig; when absent the file of KUBECONFIG, else the account of the agent's pod.",
        },
    )
    kube_client_options: KubeClientOptions = field(default_factory=KubeClientOptions)
    add_resource_metadata: AddResourceMetadataConfig = field(default_factory=AddResourceMetadataConfig)
    wait_for_metadata: Wait = field(
        default=2.0,
        metadata={
            "doc": "How long the first events of a pod wait until the API server has shown it; then they continue with "
            "what the path reveals. Other files are read meanwhile. Filebeat's `true` is 30s, `false` is 0.",
        },
    )
    default_matchers: bool = field(
        default=True,
        metadata={"key": "default_matchers.enabled", "doc": "Whether the default matchers are used beside `matchers`."},
    )
    matchers: tuple[Any, ...] = field(
        default=(),
        metadata={
            "doc": "Where the log files of containers are; the usual directories when absent.",
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
            "doc": "Whether missing fields are added to an event that already has kubernetes fields; when false, it "
            "is skipped."
        },
    )
    cleanup_timeout: Duration = field(
        default=60.0, metadata={"doc": "How long a deleted pod is known: its last lines are read after its end."}
    )
    labels_dedot: bool = field(
        default=True, metadata={"key": "labels.dedot", "doc": "Replaces dots in names of labels by underscores."}
    )
    annotations_dedot: bool = field(
        default=True,
        metadata={"key": "annotations.dedot", "doc": "Replaces dots in names of annotations by underscores."},
    )
    include_labels: tuple[str, ...] = field(default=(), metadata={"doc": "The only labels that are added."})
    exclude_labels: tuple[str, ...] = field(default=(), metadata={"doc": "Labels that are not added."})
    include_annotations: tuple[str, ...] = field(default=(), metadata={"doc": "Annotations that are added."})
    hostfs: str = field(default="/", metadata={"doc": "Where the host's file system is mounted.", "check": not_blank})

    def remarks(self) -> Iterator[Finding]:
        for index, matcher in enumerate(self.matchers):
            if isinstance(matcher, UnsupportedMatcher):
                yield f"matchers[{index}]", "not used: logs are matched by their path alone"
        if not self.default_matchers and not self.logs_paths:
            yield "default_matchers", "without a logs_path matcher nothing matches: no metadata is added"
        if self.scope == "cluster" and self.node:
            yield "node", "not used with scope: cluster"

    @property
    def logs_paths(self) -> tuple[str, ...]:
        """Return the directories, each with a slash at its end."""
        return tuple(
            matcher.logs_path.rstrip("/") + "/" for matcher in self.matchers if isinstance(matcher, LogsPathMatcher)
        )

    def may_set(self, root: str) -> bool:
        return False  # what it sets depends on its options: `option_for`

    def option_for(self, field_name: str) -> str:
        """Return the option without which this field is never set; an empty string if it may be."""
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
