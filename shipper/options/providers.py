"""The options of autodiscover providers. shipper/autodiscover decides what is made of a container."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

from log_shipper.config.text.checks import Finding, not_blank
from log_shipper.config.text.units import Duration
from log_shipper.config.yaml.errors import Place, Problem
from log_shipper.config.yaml.schema import Kinds
from log_shipper.config.yaml.templates import Template, has_late_variable
from log_shipper.config.yaml.tree import Entry, ListNode, Node, Scalar, Section
from log_shipper.shipper.options import filebeat
from log_shipper.shipper.options.conditions import ConditionConfig
from log_shipper.shipper.options.docker import DEFAULT_HOST, HOST, SSL, DockerTlsConfig, check_access
from log_shipper.shipper.options.kubernetes import AddResourceMetadataConfig, KubeClientOptions, LabelsConfig
from log_shipper.shipper.options.model import INPUT_KINDS
from log_shipper.shipper.options.old_names import with_todays_options

BUILT_IN = Place("the default of hints.default_config")
_PROMISE = "container metadata: ${data.kubernetes.container.id} and others"
_CONTAINER_LINES = Section((Entry("container.format", Scalar("auto", "str", True, BUILT_IN), BUILT_IN),), BUILT_IN)


def _text(text: str) -> Scalar:
    return Scalar(text, "str", False, BUILT_IN)


def default_config(path: str) -> Section:
    """Return the default input of a container with these files."""
    entries: dict[str, Node] = {
        "type": _text("filestream"),
        "id": _text("container-logs-${data.container.id}"),
        "paths": ListNode((_text(path),), BUILT_IN),
        "prospector.scanner.symlinks": _text("true"),
        "parsers": ListNode((_CONTAINER_LINES,), BUILT_IN),
    }
    return Section(tuple(Entry(key, node, BUILT_IN) for key, node in entries.items()), BUILT_IN)


KUBERNETES_DEFAULT = default_config("/var/log/containers/*-${data.container.id}.log")
DOCKER_DEFAULT = default_config("/var/lib/docker/containers/${data.container.id}/*-json.log")


def with_todays_names(section: Section, problems: list[Problem], tolerant: bool) -> Section:
    """Return an input of a template with current names."""
    default_type = "log" if tolerant else None
    (node,) = with_todays_options([section], section.name, problems, default_type=default_type)
    assert isinstance(node, Section)
    return node


def default_with_todays_names(section: Section, problems: list[Problem], tolerant: bool) -> Section:
    """Return `hints.default_config`, which may only enable or disable it."""
    if set(section.children(lambda *_: None)) <= {"enabled"}:
        return KUBERNETES_DEFAULT
    return with_todays_names(section, problems, tolerant)


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateConfig:
    """Inputs for the containers that meet a condition."""

    as_in: ClassVar = "- {condition.equals: {kubernetes.namespace: web}, config: [{type: container, paths: [...]}]}"
    condition: ConditionConfig | None = field(
        default=None,
        metadata={"doc": "Matches containers by their metadata, as in `equals.kubernetes.namespace: web`."},
    )
    config: tuple[Template, ...] = field(
        metadata={
            "doc": f"Inputs, as below `inputs`; variables may refer to {_PROMISE}.",
            "template_of": INPUT_KINDS,
            "prepared": with_todays_names,
        }
    )

    def check(self) -> Iterator[Finding]:
        if not self.config:
            yield "config", "must not be empty; list the inputs for matching containers"

    def cautions(self) -> Iterator[Finding]:
        for index, template in enumerate(self.config):
            if not has_late_variable(template.section):
                yield (
                    f"config[{index}]",
                    (
                        "has no variable of the container, so all containers would share this input; put "
                        "${data.container.id} into its paths"
                    ),
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class HintsConfig:
    enabled: bool = field(
        default=False, metadata={"doc": "Reads containers as their annotations (Docker: labels) say."}
    )
    default_config: Template | None = field(
        default=None,
        metadata={
            "doc": "The input for containers that no template matches, before their hints; `enabled: false` skips "
            "containers without the hint `enabled`. Default: filestream with the container parser.",
            "template_of": INPUT_KINDS,
            "prepared": default_with_todays_names,
        },
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class HintsBuilder(HintsConfig):
    """`- type: hints` below `builders`, the older form of `hints`."""

    type: Literal["hints"] = field(default="hints", metadata={"doc": "The builder type."})
    enabled: bool = field(default=True, metadata={"doc": "Same as hints.enabled."})


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigAppender:
    """Options added to the inputs of containers that meet a condition."""

    type: Literal["config"] = field(default="config", metadata={"doc": "The appender type."})
    condition: ConditionConfig | None = field(default=None, metadata={"doc": "The condition, as in a template."})
    config: Template = field(
        metadata={
            "doc": "Input options to add; they replace options of the same name, and extend lists.",
            "missing": "list the options to add, as in 'config: {fields.team: web}'",
        }
    )


BUILDERS = Kinds("type", {"hints": HintsBuilder})
APPENDERS = Kinds(
    "type",
    {"config": ConfigAppender},
    {"kubernetes.token": "it is for Metricbeat, which needs the token for requests"},
)


def _prefix(text: str) -> Iterator[Finding]:
    yield from not_blank(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class EveryProvider:
    """The options of every provider."""

    since: ClassVar = "0.3"
    prefix: str = field(
        default="co.elastic",
        metadata={"doc": "The prefix of hints, before `.logs/`.", "check": _prefix},
    )
    hints: HintsConfig = field(default_factory=HintsConfig)
    builders: tuple[HintsBuilder, ...] = field(
        default=(), metadata={"doc": "The older form of `hints`.", "read_as": BUILDERS}
    )
    templates: tuple[TemplateConfig, ...] = field(
        default=(), metadata={"doc": "Inputs by condition; hints apply to containers that match none."}
    )
    appenders: tuple[ConfigAppender, ...] = field(
        default=(), metadata={"doc": "Options added to the inputs from templates and hints.", "read_as": APPENDERS}
    )
    cleanup_timeout: Duration = field(
        default=60.0,
        metadata={
            "doc": "The minimum time that a stopped container's inputs are kept; they also stay until its files are "
            "read and acknowledged."
        },
    )

    def check(self) -> Iterator[Finding]:
        if not (self.templates or self.built_by_hints.enabled):
            yield "templates", "missing, and hints are disabled: no container would be read; set hints.enabled: true"

    @property
    def built_by_hints(self) -> HintsConfig:
        """Return `hints`, in either form."""
        return self.builders[0] if self.builders and not self.hints.enabled else self.hints


def parse_resource(text: str) -> str:
    """Return the kind of objects to watch. Raises ValueError."""
    if text.lower() in ("node", "service"):
        raise ValueError(f"{text!r} is not supported, because only pods have log files; set resource: pod")
    if text.lower() != "pod":
        raise ValueError(f"{text!r} must be pod")
    return "pod"


def parse_unique(text: str) -> bool:
    """Return false. Raises ValueError for true."""
    if text.lower() in ("true", "yes", "on"):
        raise ValueError("is not supported: there is no leader election; each agent reads its own node")
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class KubernetesProvider(EveryProvider):
    """Pods of this node or cluster, from the API server."""

    ignored: ClassVar = filebeat.KUBERNETES_PROVIDER_IGNORED
    type: Literal["kubernetes"] = field(default="kubernetes", metadata={"doc": "The provider type."})
    not_yet: ClassVar = LabelsConfig.not_yet
    node: str | None = field(
        default=None,
        metadata={
            "key": ("node", "host"),
            "doc": "The node whose pods are read. Default: NODE_NAME, else the node of the agent's pod, else the host "
            "name.",
            "check": not_blank,
        },
    )
    scope: Literal["node", "cluster"] = field(
        default="node", metadata={"doc": "Watches pods of all nodes. Only files on this host can be read."}
    )
    resource: Annotated[str, parse_resource] = field(default="pod", metadata={"doc": "The resource to watch: pod."})
    namespace: str | None = field(default=None, metadata={"doc": "Watches only pods of this namespace."})
    kube_config: str | None = field(
        default=None, metadata={"doc": "The kubeconfig file; the pod's own service account when absent."}
    )
    unique: Annotated[bool, parse_unique] = field(default=False, metadata={"doc": "Must be false."})
    kube_client_options: KubeClientOptions = field(default_factory=KubeClientOptions)
    add_resource_metadata: AddResourceMetadataConfig = field(default_factory=AddResourceMetadataConfig)
    include_labels: tuple[str, ...] = field(default=(), metadata={"doc": "Adds only these labels to events."})
    exclude_labels: tuple[str, ...] = field(default=(), metadata={"doc": "Labels to leave out of events."})
    include_annotations: tuple[str, ...] = field(default=(), metadata={"doc": "Annotations to add to events."})
    labels_dedot: bool = field(
        default=True, metadata={"key": "labels.dedot", "doc": "Replaces dots in label names with underscores."}
    )
    annotations_dedot: bool = field(
        default=True,
        metadata={"key": "annotations.dedot", "doc": "Replaces dots in annotation names with underscores."},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DockerProvider(EveryProvider):
    """Containers of a Docker daemon."""

    type: Literal["docker"] = field(default="docker", metadata={"doc": "The provider type."})
    host: str = field(default=DEFAULT_HOST, metadata={**HOST, "check": not_blank})
    ssl: DockerTlsConfig | None = field(default=None, metadata=SSL)
    dedot: bool = field(
        default=True, metadata={"key": "labels.dedot", "doc": "Replaces dots in label names with underscores."}
    )

    def check(self) -> Iterator[Finding]:
        yield from EveryProvider.check(self)
        yield from check_access(self.host, self.ssl)


Provider = KubernetesProvider | DockerProvider
