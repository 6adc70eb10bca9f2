"""Modules: the files of those that are enabled are inputs, or a mistake: nothing would read them."""

import pytest

from log_shipper.shipper.options.inputs import InputConfig
from log_shipper.shipper.parsers.multiline import MultilineConfig
from log_shipper.shipper.processors.add_fields import AddFieldsConfig
from log_shipper.shipper.processors.add_tags import AddTagsConfig
from tests.config_lab import ConfigLab
from tests.tables import rows

OUTPUT = "output.console: {}\n"
MAIN = "filebeat.inputs: [{type: log, paths: [x]}]\n" + OUTPUT


def of_modules(lab: ConfigLab, text: str) -> list[InputConfig]:
    config = lab.load(text)
    assert all(isinstance(item, InputConfig) for item in config.inputs)
    return [item for item in config.file_inputs if item.paths != ("x",)]


@pytest.mark.parametrize(
    ("module", "paths"),
    [
        ("{module: nginx}", ["/var/log/nginx/access.log*", "/var/log/nginx/error.log*"]),
        ("{module: nginx, access.enabled: true}", ["/var/log/nginx/access.log*"]),
        ("{module: nginx, ingress_controller: {enabled: true}}", ["/var/log/nginx/ingress.log*"]),
        ("{module: nginx, access: {enabled: false}, error: {var.paths: [/e.log]}}", ["/e.log"]),
        ("{module: nginx, access: {var: {paths: /a.log}}, error.enabled: no}", ["/a.log"]),
        ("{module: kafka, log: {var.kafka_home: /k, input.paths: [/l]}}", ["/l"]),
        ("{module: haproxy, log: {var.input: file}}", ["/var/log/haproxy.log"]),
        ("{module: nginx, access.enabled: false, error: {enabled: no}}", []),
        ("{module: nginx, enabled: false}", []),
    ],
)
def test_the_files_of_enabled_filesets_are_inputs(lab: ConfigLab, module: str, paths: list[str]) -> None:
    inputs = of_modules(lab, f"{MAIN}filebeat.modules:\n- {module}\n")
    assert [path for item in inputs for path in item.paths] == paths


def test_modules_alone_are_inputs(lab: ConfigLab) -> None:
    (log,) = of_modules(lab, f"filebeat.modules: [{{module: kafka, log: {{var.kafka_home: /k}}}}]\n{OUTPUT}")
    assert log.paths[:2] == ("/k/logs/controller.log*", "/k/logs/server.log*")


def test_events_have_the_constants_of_their_module_and_its_messages_several_lines(lab: ConfigLab) -> None:
    text = "{module: mysql, error: {input: {tags: [db], processors: [{add_tags: {tags: [own]}}]}}}"
    (error,) = of_modules(lab, f"{MAIN}filebeat.modules:\n- {text}\n")
    constants, own = error.processors
    assert isinstance(constants, AddFieldsConfig)
    assert isinstance(own, AddTagsConfig)
    assert (constants.target, constants.fields) == (
        "",
        {
            "event": {"module": "mysql", "dataset": "mysql.error"},
            "fileset": {"name": "error"},
            "service": {"type": "mysql"},
        },
    )
    (multiline,) = error.parsers
    assert isinstance(multiline, MultilineConfig)
    assert (multiline.negate, multiline.match, error.tags) == (True, "after", ("db",))


@pytest.mark.parametrize(
    ("module", "place", "message"),
    rows("""
        {module: zeek} -> [0] -> module zeek is not supported, so its files would not be read
        {module: zeek, dns.enabled: true} -> [0].dns -> module zeek is not supported
        {module: nginx, other: {enabled: true}} -> [0].other -> the fileset other of module nginx is not supported
        {module: haproxy} -> [0].log -> receives from the network without var.input: file
        {module: system, syslog: {var.use_journald: true}} -> [0].syslog -> write an input of type: journald
        {module: system, syslog: {var: {use_journald: true}}} -> [0].syslog -> write an input of type: journald
        {module: nginx, access: {input.tail_files: maybe}} -> [0].access.tail_files -> must be true or false
    """),
)
def test_what_is_not_read_is_a_mistake(lab: ConfigLab, module: str, place: str, message: str) -> None:
    (problem,) = lab.problems(f"{MAIN}filebeat.modules:\n- {module}\n")
    assert problem.startswith(f"shipper.yml:4: filebeat.modules{place}: ")
    assert message in problem


def test_that_nothing_parses_the_lines_is_a_note(lab: ConfigLab) -> None:
    (note,) = lab.load(f"{MAIN}filebeat.modules:\n- {{module: nginx}}\n").notes
    assert note.startswith("ignored: filebeat.modules (")
    assert note.endswith("their lines are not parsed")


def test_modules_in_files_of_their_own_are_read_or_a_mistake(lab: ConfigLab) -> None:
    folder = lab.file.parent / "modules.d"
    folder.mkdir()
    (folder / "nginx.yml").write_text("# Module: nginx\n- module: nginx\n  access.enabled: true\n")
    (folder / "system.yml.disabled").write_text("- module: system\n")
    (folder / "apache.yml").write_text("- module: apache\n  enabled: false\n")
    section = "filebeat.config.modules: {path: '${path.config}/modules.d/*.yml'%s}\n"
    (access,) = of_modules(lab, MAIN + section % "")
    assert access.paths == ("/var/log/nginx/access.log*",)
    assert of_modules(lab, MAIN + section % ", enabled: false") == []
    (folder / "zeek.yml").write_text("- module: zeek\n")
    (problem,) = lab.problems(MAIN + section % "")
    assert problem.startswith("modules.d/zeek.yml:1: filebeat.config.modules[0]: module zeek is not supported")


def test_a_file_of_modules_that_is_no_list_is_a_mistake(lab: ConfigLab) -> None:
    (lab.file.parent / "m.yml").write_text("module: nginx\n")
    (problem,) = lab.problems(f"{MAIN}filebeat.config.modules.path: m.yml\n")
    assert problem == "m.yml:1: must contain only a list of modules, each beginning with '- module:'"
