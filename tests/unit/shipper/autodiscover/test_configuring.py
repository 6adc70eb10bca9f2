"""Which inputs a container has, by templates and hints."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from log_shipper.shipper.autodiscover.configuring import Configured, Configurer
from log_shipper.shipper.autodiscover.containers import DiscoveredContainer
from log_shipper.shipper.autodiscover.discoveries import ContainerReport
from log_shipper.shipper.autodiscover.reporter import ContainerReporter
from log_shipper.shipper.parsers.container import ContainerConfig
from log_shipper.shipper.parsers.multiline import MultilineConfig
from log_shipper.shipper.parsers.ndjson import NdjsonConfig
from tests.containers import ID, UID, Rules, container

TEMPLATES = """\
type: kubernetes
templates:
  - condition.equals.kubernetes.container.name: nginx
    config:
      - type: container
        paths: ["/var/log/containers/*-${data.kubernetes.container.id}.log"]
        fields.pod: ${data.kubernetes.pod.name}
        fields.region: ${REGION}
  - condition.contains.kubernetes.container.image: nginx
    config:
      - type: filestream
        id: access-${data.kubernetes.pod.uid}
        paths: ["/var/log/app/${data.kubernetes.pod.uid}.log"]
"""
HINTS = "type: kubernetes\nhints.enabled: true\n"
CONTAINER_HINTS = HINTS + (
    "hints.default_config: {type: container, paths: ['/var/log/containers/*-${data.container.id}.log'], "
    "exclude_lines: ['^#'], processors: [{add_tags: {tags: [a]}}]}\n"
)

Configure = Callable[..., Configured]


@pytest.fixture
def rules(tmp_path: Path) -> Rules:
    return Rules(tmp_path)


@pytest.fixture
def configure(rules: Rules) -> Configure:
    def configure(yaml: str, name: str = "nginx", **hints: str) -> Configured:
        return rules.configurer(yaml, {"REGION": "north"}).configure(container(name, **hints))

    return configure


def test_every_template_whose_condition_is_met_makes_its_inputs(configure: Configure) -> None:
    made = configure(TEMPLATES)
    assert made.refused == made.warnings == []
    first, second = made.inputs
    assert first.paths == (f"/var/log/containers/*-{ID}.log",)
    assert first.fields == {"pod": "web-1", "region": "north"}
    assert second.id == f"access-{UID}"
    assert configure(TEMPLATES, name="other").inputs == [second]


@pytest.mark.parametrize(
    ("condition", "is_met"),
    [
        ("condition.equals.kubernetes.namespace: default", True),
        ("condition.equals.kubernetes.namespace: other", False),
        ("condition.equals: {kubernetes.labels.app: web}", True),
        ("condition.equals: {kubernetes.labels.app_kubernetes_io/name: web}", True),
        ("condition.not.equals.kubernetes.namespace: kube-system", True),
        ("condition.and: [{regexp.kubernetes.pod.name: '^web-'}, {has_fields: [kubernetes.labels.weight]}]", True),
        ("condition.or: [{equals.kubernetes.namespace: x}, {network.host: private}]", True),
        ("condition.has_fields: [kubernetes.deployment.name]", False),
        ("condition.equals.data.kubernetes.namespace: default", False),  # no prefix, as in Filebeat
    ],
)
def test_a_condition_tests_what_is_known_of_the_container(
    configure: Configure, condition: str, *, is_met: bool
) -> None:
    made = configure(
        f"type: kubernetes\ntemplates:\n- {condition}\n  config: [{{type: log, paths: ['/${{data.host}}']}}]\n"
    )
    assert [item.paths for item in made.inputs] == [("/10.0.0.7",)] * is_met


def test_a_variable_that_is_not_known_refuses_its_configuration_alone(configure: Configure) -> None:
    made = configure(
        """\
type: kubernetes
templates:
  - config:
      - {type: log, paths: ["/a/${data.kubernetes.deployment.name}"]}
      - {type: log, paths: ["/b/${data.kubernetes.deployment.name:none}"]}
"""
    )
    assert [item.paths for item in made.inputs] == [("/b/none",)]
    (words,) = made.refused
    assert "config[0].paths[0]: variable data.kubernetes.deployment.name is not set" in words
    assert "shipper.yml:7: " in words


def test_what_a_variable_stands_for_is_data(rules: Rules) -> None:
    configurer = rules.configurer(
        "type: kubernetes\ntemplates:\n- config: [{type: log, paths: ['/${data.kubernetes.annotations.path}']}]\n",
        {"SECRET": "s3cret"},
    )
    data = {"kubernetes": {"annotations": {"path": "${SECRET}"}}}
    base = container()
    odd = type(base)(key="k", label="l", id=ID, name="n", data=data)
    assert [item.paths for item in configurer.configure(odd).inputs] == [("/${SECRET}",)]


def test_without_hints_and_templates_a_container_is_read_by_the_default(configure: Configure) -> None:
    (item,) = configure(HINTS).inputs
    assert (item.type, item.id) == ("filestream", f"container-logs-{ID}")
    assert item.paths == (f"/var/log/containers/*-{ID}.log",)
    assert item.prospector.scanner.symlinks
    assert item.parsers == (ContainerConfig(),)


def test_hints_are_for_containers_that_meet_no_condition(configure: Configure) -> None:
    made = configure(TEMPLATES + "hints.enabled: true\n")
    assert len(made.inputs) == 2
    assert [
        item.id
        for item in configure(
            HINTS + "templates: [{condition.equals.a: b, config: [{type: log, paths: [x]}]}]\n"
        ).inputs
    ] == [f"container-logs-{ID}"]


@pytest.mark.parametrize(
    ("default", "hints", "count"),
    [
        ("", {}, 1),
        ("", {"/enabled": "false"}, 0),
        ("", {"/disable": "true"}, 0),
        ("", {"/enabled": "maybe"}, 1),
        ("hints.default_config.enabled: false\n", {}, 0),
        ("hints.default_config.enabled: false\n", {"/enabled": "true"}, 1),
        ("hints.default_config.enabled: false\n", {".nginx/enabled": "true"}, 1),
        ("hints.default_config.enabled: false\n", {".nginx-2/enabled": "true"}, 0),
        ("", {"/enabled": "true", ".nginx/enabled": "false"}, 0),
    ],
)
def test_the_hint_enabled_and_that_of_the_default(
    configure: Configure, default: str, hints: dict[str, str], count: int
) -> None:
    made = configure(HINTS + default, **hints)
    assert len(made.inputs) == count
    assert bool(made.warnings) == (hints == {"/enabled": "maybe"})


def test_hints_become_parsers_of_filestream(configure: Configure) -> None:
    hints = {
        "/multiline.pattern": r"^\[",
        "/multiline.negate": "true",
        "/multiline.match": "after",
        "/json.message_key": "log",
        "/json.add_error_key": "true",
        "/include_lines": "^E, ^W",
    }
    (item,) = configure(HINTS, **hints).inputs
    frame, decoded, joined = item.parsers
    assert isinstance(frame, ContainerConfig)
    assert decoded == NdjsonConfig(message_key="log", add_error_key=True)
    assert isinstance(joined, MultilineConfig)
    assert (joined.pattern, joined.negate, joined.match) == (r"^\[", True, "after")
    assert item.include_lines == ("^E", "^W")


def test_hints_become_options_of_container(configure: Configure) -> None:
    hints = {
        "/json.keys_under_root": "true",
        "/json.message_key": "log",
        "/multiline.pattern": "^x",
        "/exclude_lines": "^DBG",
    }
    (item,) = configure(CONTAINER_HINTS, **hints).inputs
    assert [type(parser) for parser in item.parsers] == [ContainerConfig, NdjsonConfig, MultilineConfig]
    assert item.parsers[1] == NdjsonConfig(target="", message_key="log")
    assert item.exclude_lines == ("^#", "^DBG")


def test_processors_of_hints_come_in_the_order_of_their_numbers_after_the_default_ones(configure: Configure) -> None:
    hints = {
        "/processors.10.drop_fields.fields": "b",
        "/processors.2.rename.fields.0.from": "x",
        "/processors.2.rename.fields.0.to": "y",
        "/processors.add_fields": '{"target": "", "fields": {"a": 1}}',
    }
    (item,) = configure(CONTAINER_HINTS, **hints).inputs
    names = [getattr(processor, "name", "") for processor in item.processors]
    assert names == ["add_tags", "rename", "drop_fields", "add_fields"]


def test_numbered_hints_make_an_input_each_and_the_others_one_more(configure: Configure) -> None:
    hints = {"/exclude_lines": "^DBG", "/1.include_lines": "^DBG", "/enabled": "true"}
    made = configure(HINTS, **hints)
    first, others = made.inputs
    assert (first.include_lines, first.exclude_lines) == (("^DBG",), ())
    assert (others.include_lines, others.exclude_lines) == ((), ("^DBG",))
    assert first.id != others.id
    assert made.shares == {first.id, others.id}
    alone = configure(HINTS, **{"/1.include_lines": "^DBG", "/enabled": "true"})
    assert len(alone.inputs) == 1, "the hint enabled alone makes no input"


def test_hints_of_the_container_take_precedence_and_those_of_another_do_not_count(configure: Configure) -> None:
    hints = {"/exclude_lines": "^A", ".nginx/exclude_lines": "^B", ".ngin/exclude_lines": "^C"}
    (item,) = configure(HINTS, **hints).inputs
    assert item.exclude_lines == ("^B",)


def test_what_is_not_supported_is_named_and_the_container_is_read_all_the_same(configure: Configure) -> None:
    hints = {"/module": "nginx", "/fileset.stdout": "access", "/pipeline": "p", "/exclude_line": "^x"}
    made = configure(HINTS, **hints)
    assert len(made.inputs) == 1
    assert len(made.warnings) == 4
    assert "annotation co.elastic.logs/exclude_line: unknown hint; did you mean 'exclude_lines'?" in made.warnings
    assert sum("modules are not supported" in words for words in made.warnings) == 2


def test_a_wrong_hint_refuses_the_input_and_names_the_annotation(configure: Configure) -> None:
    made = configure(HINTS, **{"/multiline.pattern": "^[", "/multiline.match": "behind"})
    assert made.inputs == []
    (words,) = made.refused
    assert "annotation co.elastic.logs/multiline.pattern: " in words
    assert "annotation co.elastic.logs/multiline.match: " in words


def test_a_hint_cannot_read_the_agents_environment(configure: Configure) -> None:
    made = configure(HINTS, **{"/processors.add_fields.fields.region": "${REGION}"})
    assert ([item.processors for item in made.inputs], made.refused) == ([()], [])
    (words,) = made.warnings
    assert words.startswith(
        "annotation co.elastic.logs/processors.add_fields.fields.region: a hint must not use the variable REGION; "
    )
    (item,) = configure(HINTS, **{"/processors.add_fields.fields.pod": "${data.kubernetes.pod.name}"}).inputs
    assert "web-1" in repr(item.processors)


def test_a_hint_that_needs_what_is_not_known_yet_of_its_container_waits_for_it(configure: Configure) -> None:
    made = configure(HINTS, **{"/processors.add_fields.fields.port": "${data.port}"})
    assert made.inputs == []
    assert "processors.add_fields.fields.port: variable data.port is not set" in made.refused[0]


def test_raw_replaces_all_other_hints(configure: Configure) -> None:
    raw = [{"type": "container", "paths": ["/var/log/containers/*-${data.container.id}.log"], "stream": "stderr"}]
    made = configure(HINTS, **{"/raw": json.dumps(raw), "/exclude_lines": "^x"})
    (item,) = made.inputs
    assert item.paths == (f"/var/log/containers/*-{ID}.log",)
    assert item.exclude_lines == ()


@pytest.mark.parametrize(
    "path",
    [
        "/etc/shadow",
        "/var/log/containers/*.log",
        "/var/log/containers/../../../etc/${data.container.id}",
        "/var/lib/kubelet/pods/${data.kubernetes.pod.uid}/volumes/x/app.log",
        "/var/log/containers/[a${data.container.id}]*",
    ],
)
def test_an_annotation_does_not_lead_to_other_files_of_the_host(configure: Configure, path: str) -> None:
    made = configure(HINTS, **{"/raw": json.dumps({"type": "log", "paths": [path]})})
    assert ([item.id for item in made.inputs], made.refused) == ([f"container-logs-{ID}"], [])
    assert made.warnings[0].startswith("annotation co.elastic.logs/raw: a hint must not read /")


def test_raw_that_is_not_json_has_no_effect(configure: Configure) -> None:
    made = configure(HINTS, **{"/raw": "{", "/exclude_lines": "^x"})
    assert [item.exclude_lines for item in made.inputs] == [("^x",)]
    assert "annotation co.elastic.logs/raw: is not JSON" in made.warnings[0]


def test_an_appender_adds_options_to_what_was_made(configure: Configure) -> None:
    appender = """\
appenders:
  - type: config
    condition.equals.kubernetes.namespace: default
    config: {fields.team: web, processors: [{add_tags: {tags: [b]}}]}
  - type: config
    condition.equals.kubernetes.namespace: other
    config: {fields.team: other}
"""
    (item,) = configure(CONTAINER_HINTS + appender).inputs
    assert item.fields == {"team": "web"}
    assert [getattr(processor, "tags", ()) for processor in item.processors] == [("a",), ("b",)]


def test_an_input_that_no_container_may_have_is_refused(configure: Configure) -> None:
    made = configure(
        """\
type: kubernetes
templates:
  - config:
      - {type: stdin}
      - {type: filestream, id: "${data.container.id}", paths: ["/x"], delete.enabled: true, close.reader.on_eof: true}
      - {type: filestream, id: off, enabled: false, paths: ["/x"]}
"""
    )
    assert made.inputs == []
    assert ["stdin is not supported" in words or "delete.enabled is" in words for words in made.refused] == [True, True]


def test_the_same_configuration_twice_is_one_input(configure: Configure) -> None:
    twice = "type: kubernetes\ntemplates:\n" + "- config: [{type: log, paths: ['/${data.container.id}']}]\n" * 2
    assert len(configure(twice).inputs) == 1
    other = twice + "- config: [{type: log, paths: ['/${data.container.id}'], tags: [x]}]\n"
    first, second = configure(other).inputs
    assert second.id == f"{first.id}-2"


@pytest.mark.parametrize(
    "hints",
    [
        {"/raw": "[" * 900 + "]" * 900},
        {"/processors.add_fields": '{"a":' * 500 + "1" + "}" * 500},
        {"/multiline" + ".a" * 900: "1"},
        {"/" + "9" * 5000 + ".include_lines": "x"},
        {"/multiline.pattern": "(" * 5000},
        {"/include_lines": "\x00,\ud800", "/processors.1.1.1": "{}"},
    ],
)
def test_annotations_with_any_content_disturb_no_other(rules: Rules, hints: dict[str, str]) -> None:
    reports: list[ContainerReport] = []
    reporter = ContainerReporter(rules.configurer(HINTS), 60.0, reports.append)
    reporter.present(container(**hints))
    reporter.present(container(id="b" * 64))
    assert len(reports) == 2
    assert len(reports[1].made.inputs) == 1


class Broken(Configurer):
    """Fails as none should."""

    def configure(self, container: DiscoveredContainer) -> Configured:
        raise RecursionError("too deep")


def test_what_fails_unexpectedly_refuses_one_container_and_does_not_end_the_watch(rules: Rules) -> None:
    reports: list[ContainerReport] = []
    reporter = ContainerReporter(Broken(rules.provider(HINTS), "providers[0]"), 60.0, reports.append)
    reporter.present(container())
    (report,) = reports
    assert report.made.refused == ["unexpected error in its configuration: RecursionError('too deep')"]
