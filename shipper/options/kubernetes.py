"""What is requested from the Kubernetes API server, and which labels and annotations are added to events."""

from dataclasses import dataclass, field
from typing import ClassVar, Protocol

_SELDOM = "the agent lists once and then watches, with only a few requests an hour"


@dataclass(frozen=True, slots=True, kw_only=True)
class KubeClientOptions:
    qps: float = field(default=5.0, metadata={"doc": "Accepted and ignored.", "unused": _SELDOM})
    burst: int = field(default=10, metadata={"doc": "Accepted and ignored.", "unused": _SELDOM})


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelsConfig:
    """The labels and annotations to add."""

    not_yet: ClassVar = dict.fromkeys(
        ("use_regex_include", "use_regex_exclude"), "list the labels and annotations by name"
    )
    enabled: bool = field(default=True, metadata={"doc": "Whether its metadata is added."})
    include_labels: tuple[str, ...] = field(default=(), metadata={"doc": "Adds only these labels."})
    exclude_labels: tuple[str, ...] = field(default=(), metadata={"doc": "Labels to leave out."})
    include_annotations: tuple[str, ...] = field(default=(), metadata={"doc": "Annotations to add."})
    labels_dedot: bool = field(
        default=True, metadata={"key": "labels.dedot", "doc": "Replaces dots in label names with underscores."}
    )
    annotations_dedot: bool = field(
        default=True,
        metadata={"key": "annotations.dedot", "doc": "Replaces dots in annotation names with underscores."},
    )


class LabelOptions(Protocol):
    """The options of LabelsConfig, in sections that have them for the pod itself."""

    @property
    def include_labels(self) -> tuple[str, ...]: ...

    @property
    def exclude_labels(self) -> tuple[str, ...]: ...

    @property
    def include_annotations(self) -> tuple[str, ...]: ...

    @property
    def labels_dedot(self) -> bool: ...

    @property
    def annotations_dedot(self) -> bool: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AddResourceMetadataConfig:
    """Metadata of the objects that own a pod."""

    namespace: LabelsConfig = field(default_factory=LabelsConfig)
    node: LabelsConfig = field(default_factory=LabelsConfig)
    deployment: bool = field(
        default=False, metadata={"doc": "Adds kubernetes.deployment.name, derived from the ReplicaSet's name."}
    )
    cronjob: bool = field(
        default=False,
        metadata={"doc": "Adds kubernetes.cronjob.name; needs permission to get jobs in the API group batch."},
    )
