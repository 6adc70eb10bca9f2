"""Processors that add facts about the container or pod that a log file belongs to, from the files of the runtime."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from config.shipper.processors.base import ProcessorConfig
from config.text.checks import Finding, not_blank
from config.text.units import Duration
from config.yaml.schema import Named

_NO_API = "metadata is read from the files that the container runtime leaves on the host; no API is asked"


@dataclass(frozen=True, slots=True, kw_only=True)
class AddDockerMetadataConfig(ProcessorConfig):
    name: ClassVar = "add_docker_metadata"
    ignored: ClassVar = dict.fromkeys(
        ("host", "ssl", "tls", "wait_for_metadata", "wait_for_metadata_timeout", "wait_for_metadata_retry_period"),
        _NO_API,
    )
    match_source: bool = field(default=True, metadata={"doc": "Takes the container's id from the path of the log."})
    match_source_index: int = field(
        default=4,
        metadata={"doc": "Which part of the path holds it, from 0; 4 is that of Docker's own files.", "min": 0},
    )
    match_short_id: bool = field(
        default=False, metadata={"doc": "The path may hold the first 12 characters of the id alone."}
    )
    match_fields: tuple[str, ...] = field(default=(), metadata={"doc": "Fields that may hold the container's id."})
    match_pids: tuple[str, ...] = field(
        default=("process.pid", "process.parent.pid"),
        metadata={"doc": "Fields with the number of a process in the container."},
    )
    hostfs: str = field(default="/", metadata={"doc": "Where the host's file system is mounted.", "check": not_blank})
    cleanup_timeout: Duration = field(
        default=60.0, metadata={"doc": "How long a container that is gone is remembered after its last event."}
    )
    dedot: bool = field(
        default=True, metadata={"key": "labels.dedot", "doc": "Writes dots in names of labels as underscores."}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LogsPathMatcher:
    name: ClassVar = "logs_path"
    logs_path: str = field(
        default="/var/lib/docker/containers/", metadata={"doc": "The directory whose logs get metadata."}
    )
    resource_type: Literal["container", "pod"] = field(
        default="container", metadata={"doc": "Accepted; both are told from the path."}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherMatcher:
    """One that would look up what only the API server has."""

    lookup_fields: tuple[str, ...] = field(default=(), metadata={"doc": "Accepted and not used."})
    regex_pattern: str = field(default="", metadata={"doc": "Accepted and not used."})
    format: str = field(default="", metadata={"doc": "Accepted and not used."})


@dataclass(frozen=True, slots=True, kw_only=True)
class AddKubernetesMetadataConfig(ProcessorConfig):
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
        default=None, metadata={"doc": "Becomes kubernetes.node.name; the variable NODE_NAME when absent."}
    )
    default_matchers: bool = field(
        default=True,
        metadata={"key": "default_matchers.enabled", "doc": "Whether logs elsewhere than in `matchers` match."},
    )
    matchers: tuple[Any, ...] = field(
        default=(),
        metadata={
            "doc": "Where logs lie that belong to containers; the usual places when absent.",
            "read_as": Named(
                "matcher", {"logs_path": LogsPathMatcher, "fields": OtherMatcher, "field_format": OtherMatcher}
            ),
        },
    )
    append_fields: bool = field(
        default=False,
        metadata={"doc": "Adds what is missing where an event has kubernetes fields; else it is left alone."},
    )
    cleanup_timeout: Duration = field(
        default=60.0, metadata={"doc": "How long a container that is gone is remembered after its last event."}
    )
    labels_dedot: bool = field(
        default=True, metadata={"key": "labels.dedot", "doc": "Writes dots in names of labels as underscores."}
    )
    annotations_dedot: bool = field(
        default=True,
        metadata={"key": "annotations.dedot", "doc": "Writes dots in names of annotations as underscores."},
    )
    include_labels: tuple[str, ...] = field(default=(), metadata={"doc": "Only these labels."})
    exclude_labels: tuple[str, ...] = field(default=(), metadata={"doc": "All labels but these."})
    include_annotations: tuple[str, ...] = field(default=(), metadata={"doc": "Annotations that are added; none."})
    hostfs: str = field(default="/", metadata={"doc": "Where the host's file system is mounted.", "check": not_blank})

    def remarks(self) -> Iterator[Finding]:
        for index, each in enumerate(self.matchers):
            if isinstance(each, OtherMatcher):
                yield f"matchers[{index}]", "not used: logs are matched by their path alone"
        if not self.default_matchers and not self.logs_paths:
            yield "default_matchers", "without a logs_path matcher nothing matches: no metadata is added"

    @property
    def logs_paths(self) -> tuple[str, ...]:
        """Directories, each with a slash at its end."""
        return tuple(each.logs_path.rstrip("/") + "/" for each in self.matchers if isinstance(each, LogsPathMatcher))
