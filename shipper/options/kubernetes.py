"""What the API server of Kubernetes is asked for, and which of its labels and annotations events get."""

from dataclasses import dataclass, field
from typing import ClassVar, Protocol

_SELDOM = "the agent lists once and then watches: it makes a few requests an hour"


@dataclass(frozen=True, slots=True, kw_only=True)
class KubeClientOptions:
    qps: float = field(default=5.0, metadata={"doc": "Accepted and not used.", "unused": _SELDOM})
    burst: int = field(default=10, metadata={"doc": "Accepted and not used.", "unused": _SELDOM})


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelsConfig:
    """Which labels and annotations are added."""

    not_yet: ClassVar = dict.fromkeys(
        ("use_regex_include", "use_regex_exclude"), "name the labels and annotations themselves"
    )
    enabled: bool = field(default=True, metadata={"doc": "Whether its metadata is added."})
    include_labels: tuple[str, ...] = field(default=(), metadata={"doc": "The only labels that are added."})
    exclude_labels: tuple[str, ...] = field(default=(), metadata={"doc": "Labels that are not added."})
    include_annotations: tuple[str, ...] = field(default=(), metadata={"doc": "Annotations that are added."})
    labels_dedot: bool = field(
        default=True, metadata={"key": "labels.dedot", "doc": "Replaces dots in names of labels by underscores."}
    )
    annotations_dedot: bool = field(
        default=True,
        metadata={"key": "annotations.dedot", "doc": "Replaces dots in names of annotations by underscores."},
    )


class LabelOptions(Protocol):
    """The options of LabelsConfig, which others have among their own for the pod itself."""

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
    """Metadata of what a pod belongs to."""

    namespace: LabelsConfig = field(default_factory=LabelsConfig)
    node: LabelsConfig = field(default_factory=LabelsConfig)
    deployment: bool = field(
        default=False, metadata={"doc": "Whether kubernetes.deployment.name is added, by the name of the ReplicaSet."}
    )
    cronjob: bool = field(
        default=False,
        metadata={
            "doc": "Whether kubernetes.cronjob.name is added; it needs the right to get jobs of the group batch."
        },
    )
