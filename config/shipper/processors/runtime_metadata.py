"""The processor that adds metadata of the pod that a log file belongs to, from the container runtime's files."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from config.shipper.processors.base import ProcessorConfig
from config.text.checks import Finding, not_blank
from config.text.units import Duration
from config.yaml.schema import NamedItems

_NO_API = "metadata is read from the container runtime's files on the host; no API is queried"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogsPathMatcher:
    name: ClassVar = "logs_path"
    logs_path: str = field(
        default="/var/lib/docker/containers/", metadata={"doc": "The directory whose log files get metadata."}
    )
    resource_type: Literal["container", "pod"] = field(
        default="container", metadata={"doc": "Accepted and not used: the path shows which of the two it is."}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsupportedMatcher:
    """A matcher that would need the API server."""

    lookup_fields: tuple[str, ...] = field(default=(), metadata={"doc": "Accepted and not used."})
    regex_pattern: str = field(default="", metadata={"doc": "Accepted and not used."})
    format: str = field(default="", metadata={"doc": "Accepted and not used."})


@dataclass(frozen=True, slots=True, kw_only=True)
class AddKubernetesMetadataConfig(ProcessorConfig):
    """Adds metadata of the Kubernetes pod that a log file belongs to."""

    name: ClassVar = "add_kubernetes_metadata"
    ignored: ClassVar = dict.fromkeys(
        (
            "host",
            "scope",
            "namespace",
            "in_cluster",
            "kube_config",
            "kube_client_options",
            "use_kubeadm",
            "sync_period",
            "default_indexers",
            "indexers",
            "add_resource_metadata",
            "wait_for_metadata",
            "wait_for_metadata_timeout",
            "wait_for_metadata_retry_period",
        ),
        _NO_API,
    )
    node: str | None = field(
        default=None,
        metadata={"doc": "The value of kubernetes.node.name; the environment variable NODE_NAME when absent."},
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
        default=60.0, metadata={"doc": "How long the metadata of a deleted container is kept after its last event."}
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
    include_annotations: tuple[str, ...] = field(
        default=(), metadata={"doc": "Accepted and not used: annotations are not known."}
    )
    hostfs: str = field(default="/", metadata={"doc": "Where the host's file system is mounted.", "check": not_blank})

    def remarks(self) -> Iterator[Finding]:
        yield "", "adds pod, namespace and container, and labels only where Docker runs the containers"
        for index, matcher in enumerate(self.matchers):
            if isinstance(matcher, UnsupportedMatcher):
                yield f"matchers[{index}]", "not used: logs are matched by their path alone"
        if not self.default_matchers and not self.logs_paths:
            yield "default_matchers", "without a logs_path matcher nothing matches: no metadata is added"

    @property
    def logs_paths(self) -> tuple[str, ...]:
        """Return the directories, each with a slash at its end."""
        return tuple(
            matcher.logs_path.rstrip("/") + "/" for matcher in self.matchers if isinstance(matcher, LogsPathMatcher)
        )
