"""Conditions on fields that nothing sets; test_messages.py has what is reported about them."""

from pathlib import Path

import pytest

from config.yaml.errors import ConfigError
from tests.unit.config.conftest import Lab

MAIN = """\
filebeat.inputs: [{{type: container, paths: [{path}]{more}}}]
output.console: {{}}
processors:
- add_kubernetes_metadata.hostfs: {hostfs}
{processor}
- drop_event.when.{condition}
"""
LABEL = "equals: {kubernetes.labels.app: web}"


def mistakes(
    lab: Lab,
    condition: str,
    *,
    path: str = "/var/log/containers/*.log",
    more: str = "",
    processor: str = "",
    hostfs: str = "",
) -> list[str]:
    text = MAIN.format(
        path=path,
        more=more,
        hostfs=hostfs or lab.file.parent,
        processor=processor and f"- {processor}",
        condition=condition,
    )
    try:
        lab.load(text)
    except ConfigError as error:
        return [problem.message for problem in error.problems]
    return []


@pytest.mark.parametrize(
    "condition",
    [
        LABEL,
        "not: {has_fields: [kubernetes.annotations.a]}",
        "or: [{equals: {a: b}}, {regexp: {kubernetes.deployment.name: x}}]",
        "range: {cloud.instance.gte: 1}",
        "equals: {kubernetes.node.labels.zone: a}",
    ],
)
def test_a_field_of_an_api_is_not_set(lab: Lab, condition: str) -> None:
    (mistake,) = mistakes(lab, condition)
    assert "which nothing sets here" in mistake


@pytest.mark.parametrize(
    "condition",
    ["equals: {kubernetes.namespace: a}", "equals: {kubernetes.pod.name: a}", "equals: {kubernetes.node.name: a}"],
)
def test_what_the_files_of_the_runtime_have_is_set(lab: Lab, condition: str) -> None:
    assert mistakes(lab, condition) == []


def test_docker_keeps_labels(lab: Lab, tmp_path: Path) -> None:
    assert mistakes(lab, LABEL, path="/var/lib/docker/containers/*/*.log") == []
    (tmp_path / "host/var/lib/docker/containers").mkdir(parents=True)
    assert mistakes(lab, LABEL, hostfs=str(tmp_path / "host")) == []
    assert mistakes(lab, "equals: {kubernetes.job.name: a}", hostfs=str(tmp_path / "host")) != []


@pytest.mark.parametrize(
    "processor",
    [
        "add_fields: {target: kubernetes, fields.labels.app: web}",
        "rename.fields: [{from: a, to: kubernetes.labels.app}]",
        "dissect: {tokenizer: '%{kubernetes.labels.app} %{b}', target_prefix: ''}",
        "decode_json_fields: {fields: [message], target: ''}",
        "{if.equals: {a: b}, then: [{add_fields: {target: kubernetes.labels, fields.app: x}}]}",
    ],
)
def test_a_processor_may_set_it(lab: Lab, processor: str) -> None:
    assert mistakes(lab, LABEL, processor=processor) == []


@pytest.mark.parametrize(
    "processor",
    [
        "drop_fields.fields: [kubernetes.labels]",
        "decode_json_fields: {fields: [message], target: json}",
        "add_tags.tags: a",
    ],
)
def test_a_processor_that_works_on_other_fields_does_not_set_it(lab: Lab, processor: str) -> None:
    assert len(mistakes(lab, LABEL, processor=processor)) == 1


@pytest.mark.parametrize("more", [", json.keys_under_root: true", ", fields.kubernetes: {}, fields_under_root: true"])
def test_an_input_may_set_it(lab: Lab, more: str) -> None:
    assert mistakes(lab, LABEL, more=more) == []


def test_without_the_processor_nothing_sets_it_even_where_docker_runs(lab: Lab) -> None:
    text = (
        "filebeat.inputs: [{type: container, paths: [/var/lib/docker/containers/*/*.log]}]\n"
        f"output.console: {{}}\nprocessors: [{{drop_event.when.{LABEL}}}]\n"
    )
    (problem,) = lab.problems(text)
    assert "which nothing sets here" in problem
