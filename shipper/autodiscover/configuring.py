"""Decides the inputs of a container: by the templates whose condition it meets, else by its hints.

This only decides, and accesses no files. An invalid configuration is refused alone: all others, of this and other
containers, are unaffected.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from log_shipper.config.yaml.report import LoadReport, Spot
from log_shipper.config.yaml.secrets import without_secrets
from log_shipper.config.yaml.templates import LateVariables, Template
from log_shipper.config.yaml.tree import Entry, ListNode, Node, Scalar, Section, as_list
from log_shipper.config.yaml.walk import Walk
from log_shipper.shipper.autodiscover.allowed_hints import allowed_input
from log_shipper.shipper.autodiscover.containers import DiscoveredContainer
from log_shipper.shipper.autodiscover.hints import Hint, HintNodes, HintSet, hints_of
from log_shipper.shipper.options.conditions import ConditionConfig
from log_shipper.shipper.options.feeds import FeedConfig
from log_shipper.shipper.options.model import INPUT_KINDS, InputConfig
from log_shipper.shipper.options.old_names import with_todays_options
from log_shipper.shipper.options.providers import DOCKER_DEFAULT, KUBERNETES_DEFAULT, EveryProvider, KubernetesProvider
from log_shipper.shipper.processor import conditions
from log_shipper.shipper.processor.base import Condition

_RUNTIME_FILES = ("/var/log/containers/", "/var/log/pods/", "/var/lib/docker/containers/")


@dataclass(slots=True)
class Configured:
    """The inputs of a container. `refused` and `warnings` explain deviations from what was written. `shares`: ids of
    inputs meant to read the same files as others of the container.
    """

    inputs: list[InputConfig] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    shares: set[str] = field(default_factory=set)


class Configurer:
    """The rules of one provider."""

    def __init__(self, provider: EveryProvider, path: str) -> None:
        """Create the rules; `path`: the provider's dotted path in the configuration."""
        self._prefix = provider.prefix.rstrip(".")
        self._hints = provider.built_by_hints
        is_kubernetes = isinstance(provider, KubernetesProvider)
        built_in = KUBERNETES_DEFAULT if is_kubernetes else DOCKER_DEFAULT
        written = self._hints.default_config
        only_switched = written is not None and set(_children(written.section)) <= {"enabled"}
        self._default = Template(built_in, f"{path}.hints.default_config", {}, tolerant=True)
        if written is not None and not only_switched:
            self._default = written
        self._is_default_enabled = written is None or not _is_off(written.section)
        self._templates = [(_condition(template.condition), template.config) for template in provider.templates]
        self._appenders = [(_condition(appender.condition), appender.config) for appender in provider.appenders]

    def configure(self, container: DiscoveredContainer) -> Configured:
        """Return the inputs of a container."""
        made = Configured()
        matching = [config for condition, config in self._templates if _is_met(condition, container)]
        if matching:
            for template in (template for config in matching for template in config):
                section = _todays(template.section, template)
                self._add(container, template.with_section(section), made)
        elif self._hints.enabled:
            self._by_hints(container, made)
        return made

    def _by_hints(self, container: DiscoveredContainer, made: Configured) -> None:
        hints = hints_of(container.annotations, container.name, self._prefix)
        if hints.enabled is False or (hints.enabled is None and not self._is_default_enabled):
            return
        made.warnings += hints.warnings
        nodes = HintNodes(container.text, made.warnings)
        if hints.raw is not None and self._by_raw(container, hints.raw, nodes, made):
            return
        for hint_set in hints.sets:
            self._by_set(container, hint_set, nodes, made)
        if len(made.inputs) > 1:
            made.shares = {config.id for config in made.inputs}

    def _by_raw(self, container: DiscoveredContainer, hint: Hint, nodes: HintNodes, made: Configured) -> bool:
        """Return True if the hint `raw` decides. Invalid JSON has no effect, as in Filebeat."""
        try:
            sections = nodes.raw(hint)
        except ValueError as error:
            made.warnings.append(f"{error}; ignored")
            return False
        refusals: list[str] = []
        for section in sections:
            template = Template(section, "raw", {}, tolerant=True)
            allowed = allowed_input(_todays(section, template), refusals)
            if allowed is not None:
                known = len(made.inputs)
                self._add(container, template.with_section(allowed), made)
                faults = [_fault_of_paths(config, container) for config in made.inputs[known:]]
                refusals += filter(None, faults)
                made.inputs[known:] = [
                    replace(config, owned_by=container.owned)
                    for config, fault in zip(made.inputs[known:], faults, strict=True)
                    if not fault
                ]
        made.warnings += [f"{hint.place}: {words}; left out" for words in refusals]
        return bool(made.inputs or made.refused)

    def _by_set(self, container: DiscoveredContainer, hint_set: HintSet, nodes: HintNodes, made: Configured) -> None:
        default = self._default
        section = _todays(default.section, default)
        section = replace(section, entries=tuple(entry for entry in section.entries if entry.key != "enabled"))
        kind = _children(section).get("type")
        try:
            options = nodes.options(hint_set, filestream=isinstance(kind, Scalar) and kind.text == "filestream")
        except ValueError as error:
            made.refused.append(str(error))
            return
        self._add(container, default.with_section(with_options(section, options)), made)

    def _add(self, container: DiscoveredContainer, template: Template, made: Configured) -> None:
        """Read a template for the container, with the additions of the appenders."""
        for condition, appended in self._appenders:
            if _is_met(condition, container):
                options = {entry.key: entry.node for entry in appended.section.entries}
                template = template.with_section(with_options(template.section, options))
        report = LoadReport([], tolerant=template.tolerant)
        variables = LateVariables(container.text, template.env)
        spot = Spot("", template.path, template.section.place)
        value = Walk(variables, report).of_kind(INPUT_KINDS, template.section, spot)
        mistakes = [problem for problem in report.problems if not (problem.lapse and template.tolerant)]
        if mistakes:
            shown = without_secrets(mistakes, template.section, variables, ())
            made.refused.append("; ".join(map(str, shown)))
        elif isinstance(value, FeedConfig) and value.enabled:
            made.refused.append(
                f"{template.path}: type: {value.type} does not read files, so it cannot read a container's log"
            )
        elif isinstance(value, InputConfig) and value.enabled:
            fault = _fault(value)
            if fault:
                made.refused.append(f"{template.path}: {fault}")
            elif value not in made.inputs:
                made.inputs.append(_with_own_id(value, made.inputs))


def with_options(section: Section, options: dict[str, Node]) -> Section:
    """Return a section with more options: they take precedence, but extend existing lists."""
    children = _children(section)
    entries = list(section.entries)
    for key, node in options.items():
        before = children.get(key)
        if before is not None and isinstance(node, ListNode):
            listed = as_list(before)
            if listed is not None:
                node = ListNode((*listed.items, *node.items), node.place)
        entries.append(_raised(Entry(key, node, node.place)))
    return replace(section, entries=tuple(entries))


def _raised(entry: Entry) -> Entry:
    """Return an entry that takes precedence over another of the same key."""
    node = entry.node
    if isinstance(node, Section):
        node = replace(node, entries=tuple(map(_raised, node.entries)))
    return replace(entry, node=node, rank=entry.rank + 1)


def _todays(section: Section, template: Template) -> Section:
    (node,) = with_todays_options([section], template.path, [], default_type="log" if template.tolerant else None)
    assert isinstance(node, Section)
    return node


def _with_own_id(config: InputConfig, others: Iterable[InputConfig]) -> InputConfig:
    taken = {other.id for other in others}
    if config.id not in taken:
        return config
    return replace(config, id=next(name for name in _numbered(config.id) if name not in taken))


def _numbered(name: str) -> Iterator[str]:
    number = 2
    while True:
        yield f"{name}-{number}"
        number += 1


def _fault(config: InputConfig) -> str:
    """Return why an input is not possible for a container, if it is not."""
    if config.type == "stdin":
        return "type: stdin is not supported for containers; use filestream or container"
    if config.delete.enabled:
        return "delete.enabled is not supported for containers, because the runtime deletes their files; remove it"
    return ""


def _fault_of_paths(config: InputConfig, container: DiscoveredContainer) -> str:
    """Return why an annotation may not read these files: it must not lead to other files of the host, and a file in a
    volume may be a link to one.
    """
    for path in config.paths:
        parts = path.split("/")
        is_own = any(owned in part and not set("[\\") & set(part) for part in parts for owned in container.owned)
        if ".." in parts or not is_own or not path.startswith(_RUNTIME_FILES):
            return (
                f"a hint must not read {path}: the path must be below {' or '.join(_RUNTIME_FILES)} and contain "
                "the container id or pod uid; use a template for other files"
            )
    return ""


def _is_off(section: Section) -> bool:
    enabled = _children(section).get("enabled")
    return isinstance(enabled, Scalar) and enabled.text.lower() in ("false", "no", "off", "0")


def _children(section: Section) -> dict[str, Node]:
    return section.children(lambda *_: None)


def _condition(config: ConditionConfig | None) -> Condition | None:
    return None if config is None else conditions.build(config)


def _is_met(condition: Condition | None, container: DiscoveredContainer) -> bool:
    return condition is None or conditions.meets(condition, lambda path: container.value(".".join(path)))
