"""Processors that add metadata of the container or pod that a log file belongs to, from the runtime's files."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from config.shipper.processors.base import ProcessorConfig
from config.text.checks import Finding, not_blank
from config.text.units import Duration
from config.yaml.schema import NamedItems

_NO_API = "metadata is read from the container runtime's files on the host; no API is queried"


@dataclass(frozen=True, slots=True, kw_only=True)
class AddDockerMetadataConfig(ProcessorConfig):
    """Adds metadata of the Docker container that an event belongs to."""

    name: ClassVar = "add_docker_metadata"
    ignored: ClassVar = dict.fromkeys(
        ("host", "ssl", "tls", "wait_for_metadata", "wait_for_metadata_timeout", "wait_for_metadata_retry_period"),
        _NO_API,
    )
    match_source: bool = field(
        default=True, metadata={"doc": "Whether the container's id is taken from the path of the log file."}
    )
    match_source_index: int = field(
        default=4,
        metadata={"doc": "Which part of the path is the id, from 0; 4 fits Docker's own log files.", "min": 0},
    )
    match_short_id: bool = field(
        default=False, metadata={"doc": "Whether the path may contain only the first 12 characters of the id."}
    )
    match_fields: tuple[str, ...] = field(default=(), metadata={"doc": "Fields that may contain the container's id."})
    match_pids: tuple[str, ...] = field(
        default=("process.pid", "process.parent.pid"),
        metadata={"doc": "Fields with the id of a process in the container."},
    )
    hostfs: str = field(default="/", metadata={"doc": "Where the host's file system is mounted.", "check": not_blank})
    cleanup_timeout: Duration = field(
        default=60.0, metadata={"doc": "How long the metadata of a deleted container is kept after its last event."}
    )
    dedot: bool = field(
        default=True, metadata={"key": "labels.dedot", "doc": "Replaces dots in names of labels by underscores."}
    )


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
