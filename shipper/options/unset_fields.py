"""Conditions on fields that Filebeat requests from an API and nothing here can set: they have the same result for every
event, so a drop_event drops all or none.

The same applies to a string `log`, as Filebeat has after decoding JSON at the root: here, `log` is the object with the
position of the event.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from log_shipper.config.text.checks import Finding
from log_shipper.shipper.options import conditions
from log_shipper.shipper.options.conditions import ConditionConfig
from log_shipper.shipper.options.feeds import AnyInput, files_of
from log_shipper.shipper.options.processors import AnyProcessor, Branch, ProcessorConfig, each_processor
from log_shipper.shipper.reader.base import ParserConfig

_DOCKER = "var/lib/docker/containers"
_OF_DOCKER = ("kubernetes.labels", "kubernetes.annotations")  # Docker keeps them as labels of the sandbox
_OF_KUBERNETES = tuple(
    f"kubernetes.{name}"
    for name in (
        *("labels", "annotations", "pod.ip", "namespace_labels", "namespace_annotations", "namespace_uid"),
        *("node.uid", "node.hostname", "node.labels", "node.annotations"),
        *("deployment", "replicaset", "statefulset", "daemonset", "job", "cronjob"),
    )
)
_WHY = {
    "kubernetes": "it needs the processor add_kubernetes_metadata",
    "cloud": "it needs the processor add_cloud_metadata",
}

_TEXT_LOG = "names log, which is an object in every event: a string of this name in JSON is at json.log"
# Processor options that name fields to read.
_READS_LOG = re.compile(r"(source|field)='log'|fields=\((?:'[^']*', )*'log'")
_OF_OBJECTS = ("drop_fields", "include_fields")


@dataclass(frozen=True, slots=True)
class Tested:
    """A condition, and the attribute path of its owner."""

    where: str
    condition: ConditionConfig


def tested_by(processors: Sequence[AnyProcessor], where: str) -> Iterator[Tested]:
    """Yield the conditions of processors, including those in branches."""
    for index, item in enumerate(processors):
        path = f"{where}[{index}]"
        if isinstance(item, Branch):
            yield Tested(f"{path}.condition", item.condition)
            yield from tested_by(item.then, f"{path}.then")
            yield from tested_by(item.otherwise, f"{path}.otherwise")
        elif item.when is not None:
            yield Tested(f"{path}.when", item.when)


@dataclass(frozen=True, slots=True)
class FieldSetters:
    """Everything that may set a field. `processors` and `fields` are those of all inputs."""

    inputs: Sequence[AnyInput]
    processors: Sequence[AnyProcessor]
    fields: Mapping[str, Any]

    def may_set(self, root: str) -> bool:
        parsers = [parser for item in self.inputs for parser in item.parsers]
        constants = [self.fields, *(item.fields for item in self.inputs)]
        return any(_may_set(step, root) for step in (*self.flat(), *parsers, *constants))

    def flat(self) -> list[ProcessorConfig]:
        lists = (self.processors, *(item.processors for item in self.inputs))
        return [step for listed in lists for step in each_processor(listed)]

    def asking(self) -> list[Any]:
        return [step for step in self.flat() if step.name == "add_kubernetes_metadata"]


def tests_of_unset_fields(tested: Iterable[Tested], steps: FieldSetters) -> Iterator[Finding]:
    """Yield a finding for each tested field that nothing sets."""
    for where, name in _names_of_api(tested):
        root = name.partition(".")[0]
        missing = [step.option_for(name) for step in steps.asking()] if root == "kubernetes" else []
        if "" not in missing and not steps.may_set(root):
            why = f"set {missing[0]} of add_kubernetes_metadata" if missing else _WHY[root]
            yield where, f"tests {name}, which nothing sets here, so it has the same result for every event: {why}"


def tests_without_a_server(
    tested: Iterable[Tested], steps: FieldSetters, environment: Mapping[str, str]
) -> Iterator[Finding]:
    """Yield a finding for each tested field that only an API server sets, if none is configured."""
    if environment.get("KUBERNETES_SERVICE_HOST") or environment.get("KUBECONFIG"):
        return
    for where, name in _names_of_api(tested):
        setting = [step for step in steps.asking() if not step.option_for(name)]
        if not name.startswith("kubernetes.") or not setting or any(step.kube_config for step in setting):
            continue
        if not steps.may_set("kubernetes") and not (name.startswith(_OF_DOCKER) and _reads_docker(setting, steps)):
            yield (
                where,
                (
                    f"tests {name}, which only a Kubernetes API server provides: without one (KUBERNETES_SERVICE_HOST "
                    "and KUBECONFIG are not set), it has the same result for every event"
                ),
            )


def remarks_on_steps(
    tested: Sequence[Tested],
    steps: FieldSetters,
    lists: Mapping[str, Sequence[AnyProcessor]],
    environment: Mapping[str, str],
) -> Iterator[Finding]:
    """Yield findings about conditions, and about `lists`, the processors by attribute path."""
    yield from tests_without_a_server(tested, steps, environment)
    yield from ((test.where, _TEXT_LOG) for test in tested if "log" in conditions.names(test.condition))
    for where, processors in lists.items():
        if any(not isinstance(item, Branch) and item.name == "drop_event" and not item.when for item in processors):
            yield where, "drop_event without 'when' drops every event"
        yield from ((place, _TEXT_LOG) for place in _reading_log(processors, where))


def _reading_log(processors: Sequence[AnyProcessor], where: str) -> Iterator[str]:
    for index, item in enumerate(processors):
        if isinstance(item, Branch):
            yield from _reading_log((*item.then, *item.otherwise), where)
        elif item.name not in _OF_OBJECTS and _READS_LOG.search(repr(replace(item, when=None))):
            yield f"{where}[{index}]"


def _names_of_api(tested: Iterable[Tested]) -> list[tuple[str, str]]:
    return [(test.where, name) for test in tested for name in conditions.names(test.condition) if _is_of_api(name)]


def _reads_docker(asking: Iterable[Any], steps: FieldSetters) -> bool:
    if any("docker" in path for _, item in files_of(steps.inputs) for path in item.paths):
        return True
    return any(os.path.isdir(os.path.join(step.hostfs, _DOCKER)) for step in asking)


def _is_of_api(name: str) -> bool:
    return name.startswith(("cloud.", *_OF_KUBERNETES))


def _may_set(step: object, root: str) -> bool:
    """Return True if a processor, parser or custom fields may set a field below this name."""
    match step:
        case ProcessorConfig() | ParserConfig():
            return step.may_set(root)
        case dict():
            return root in step
    return False
