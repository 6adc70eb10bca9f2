"""Conditions on fields that nothing sets; test_messages.py has what is reported about them."""

from dataclasses import dataclass

import pytest

from log_shipper.config.yaml.errors import ConfigError
from log_shipper.shipper.options import unset_fields
from tests.config_lab import ConfigLab

MAIN = """\
filebeat.inputs: [{{type: container, paths: [{path}]{more}}}]
output.console: {{}}
processors:
- add_kubernetes_metadata: {options}
{processor}
- drop_event.when.{condition}
"""
LABEL = "equals: {kubernetes.labels.app: web}"
DEPLOYMENT = "equals: {kubernetes.deployment.name: web}"


def mistakes(
    lab: ConfigLab,
    condition: str,
    *,
    path: str = "/var/log/containers/*.log",
    more: str = "",
    processor: str = "",
    options: str = "{}",
) -> list[str]:
    text = MAIN.format(
        path=path,
        more=more,
        options=options,
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
        "equals: {kubernetes.namespace: a}",
        "equals: {kubernetes.namespace_labels.team: a}",
        "equals: {kubernetes.pod.name: a}",
        "equals: {kubernetes.node.name: a}",
        "equals: {kubernetes.node.labels.zone: a}",
        "equals: {kubernetes.job.name: a}",
    ],
)
def test_what_the_api_server_knows_is_set(lab: ConfigLab, condition: str) -> None:
    assert mistakes(lab, condition) == []


@dataclass(frozen=True, slots=True)
class WithOption:
    """A condition, the option of which its field depends, and options of the processor that set it."""

    condition: str
    needs: str
    options: str


@pytest.mark.parametrize(
    "case",
    [
        WithOption(
            "not: {has_fields: [kubernetes.annotations.a]}", "include_annotations", "{include_annotations: [a]}"
        ),
        WithOption(
            "or: [{equals: {a: b}}, {regexp: {kubernetes.deployment.name: x}}]",
            "add_resource_metadata.deployment",
            "{add_resource_metadata.deployment: true}",
        ),
        WithOption(
            "has_fields: [kubernetes.cronjob.name]",
            "add_resource_metadata.cronjob",
            "{add_resource_metadata.cronjob: true}",
        ),
        WithOption(
            "has_fields: [kubernetes.namespace_annotations.a]",
            "add_resource_metadata.namespace.include_annotations",
            "{add_resource_metadata.namespace.include_annotations: [a]}",
        ),
        WithOption(
            "has_fields: [kubernetes.node.annotations.a]",
            "add_resource_metadata.node.include_annotations",
            "{add_resource_metadata.node.include_annotations: [a]}",
        ),
    ],
)
def test_what_needs_an_option_is_set_with_it(lab: ConfigLab, case: WithOption) -> None:
    (mistake,) = mistakes(lab, case.condition)
    assert mistake.endswith(f"the same result for every event: set {case.needs} of add_kubernetes_metadata")
    assert mistakes(lab, case.condition, options=case.options) == []


@pytest.mark.parametrize(
    ("condition", "option"),
    [
        ("has_fields: [kubernetes.namespace_uid]", "namespace"),
        ("has_fields: [kubernetes.node.hostname]", "node"),
        ("equals: {kubernetes.node.labels.zone: a}", "node"),
    ],
)
def test_what_is_switched_off_is_not_set(lab: ConfigLab, condition: str, option: str) -> None:
    (mistake,) = mistakes(lab, condition, options=f"{{add_resource_metadata.{option}.enabled: false}}")
    assert f"set add_resource_metadata.{option}.enabled of add_kubernetes_metadata" in mistake


def test_metadata_of_a_cloud_is_not_set(lab: ConfigLab) -> None:
    (mistake,) = mistakes(lab, "range: {cloud.instance.gte: 1}")
    assert "which nothing sets here" in mistake


@pytest.mark.parametrize(
    "processor",
    [
        "add_fields: {target: kubernetes, fields.deployment.name: web}",
        "rename.fields: [{from: a, to: kubernetes.deployment.name}]",
        "dissect: {tokenizer: '%{kubernetes.deployment.name} %{b}', target_prefix: ''}",
        "decode_json_fields: {fields: [message], target: ''}",
        "{if.equals: {a: b}, then: [{add_fields: {target: kubernetes.deployment, fields.name: x}}]}",
    ],
)
def test_a_processor_may_set_it(lab: ConfigLab, processor: str) -> None:
    assert mistakes(lab, DEPLOYMENT, processor=processor) == []


@pytest.mark.parametrize(
    "processor",
    [
        "drop_fields.fields: [kubernetes.deployment]",
        "decode_json_fields: {fields: [message], target: json}",
        "add_tags.tags: a",
    ],
)
def test_a_processor_that_works_on_other_fields_does_not_set_it(lab: ConfigLab, processor: str) -> None:
    assert len(mistakes(lab, DEPLOYMENT, processor=processor)) == 1


def test_add_cloud_metadata_sets_the_fields_of_the_cloud(lab: ConfigLab) -> None:
    assert mistakes(lab, "equals: {cloud.region: a}", processor="add_cloud_metadata: ~") == []
    (mistake,) = mistakes(lab, "equals: {cloud.region: a}")
    assert "it needs the processor add_cloud_metadata" in mistake


@pytest.mark.parametrize("more", [", json.keys_under_root: true", ", fields.kubernetes: {}, fields_under_root: true"])
def test_an_input_may_set_it(lab: ConfigLab, more: str) -> None:
    assert mistakes(lab, DEPLOYMENT, more=more) == []


def test_without_the_processor_nothing_sets_it(lab: ConfigLab) -> None:
    text = (
        "filebeat.inputs: [{type: container, paths: [/var/lib/docker/containers/*/*.log]}]\n"
        f"output.console: {{}}\nprocessors: [{{drop_event.when.{LABEL}}}]\n"
    )
    (problem,) = lab.problems(text)
    assert "the same result for every event: it needs the processor add_kubernetes_metadata" in problem


class TestWithoutAServer:
    """Here, where the tests run, none is to be seen."""

    def notes(
        self, lab: ConfigLab, path: str = "/var/log/containers/*.log", options: str = "", processor: str = ""
    ) -> list[str]:
        hostfs = f"hostfs: {lab.file.parent}"
        text = MAIN.format(
            path=path,
            more="",
            options=f"{{{', '.join(filter(None, (hostfs, options)))}}}",
            processor=processor and f"- {processor}",
            condition=LABEL,
        )
        return [note for note in lab.load(text).notes if "only a Kubernetes API server provides" in note]

    def test_a_condition_that_needs_one_is_a_remark(self, lab: ConfigLab) -> None:
        (note,) = self.notes(lab)
        assert "tests kubernetes.labels.app, which only a Kubernetes API server provides: without one" in note

    @pytest.mark.parametrize(
        "arguments",
        [
            {"options": "kube_config: /etc/kubeconfig"},
            {"processor": "add_fields: {target: kubernetes, fields.labels.app: web}"},
            {"path": "/var/lib/docker/containers/*/*.log"},
        ],
    )
    def test_it_is_none_where_something_may_set_the_field(self, lab: ConfigLab, arguments: dict[str, str]) -> None:
        assert self.notes(lab, **arguments) == []

    def test_docker_keeps_labels_on_the_host(self, lab: ConfigLab) -> None:
        (lab.file.parent / "var/lib/docker/containers").mkdir(parents=True)
        assert self.notes(lab) == []

    @pytest.mark.parametrize("name", ["KUBERNETES_SERVICE_HOST", "KUBECONFIG"])
    def test_in_a_pod_or_with_a_kubeconfig_there_is_one(self, lab: ConfigLab, name: str) -> None:
        config = lab.load(MAIN.format(path="/a", more="", options="{}", processor="", condition=LABEL))
        steps = unset_fields.FieldSetters(config.inputs, config.processors, {})
        tested = list(unset_fields.tested_by(config.processors, "processors"))
        assert len(list(unset_fields.tests_without_a_server(tested, steps, {}))) == 1
        assert list(unset_fields.tests_without_a_server(tested, steps, {name: "x"})) == []
