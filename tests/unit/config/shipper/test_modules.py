"""An enabled module is a mistake: nothing would read its files."""

import pytest

from tests.unit.config.conftest import Lab

MAIN = "filebeat.inputs: [{type: log, paths: [x]}]\noutput.console: {}\n"


@pytest.mark.parametrize(
    "module",
    [
        "{module: nginx}",
        "{module: nginx, access.enabled: true}",
        "{module: nginx, access: {enabled: false}, error: {var.paths: [x]}}",
        "{module: nginx, enabled: true}",
    ],
)
def test_an_enabled_module_is_a_mistake(lab: Lab, module: str) -> None:
    (problem,) = lab.problems(f"{MAIN}filebeat.modules:\n- {module}\n")
    assert problem.startswith(
        "shipper.yml:4: filebeat.modules[0]: module nginx is enabled, and modules are not supported"
    )


@pytest.mark.parametrize("option", ["var.use_journald: true", "var: {use_journald: true}"])
def test_a_module_that_reads_the_journal_is_told_of_the_input(lab: Lab, option: str) -> None:
    (problem,) = lab.problems(f"{MAIN}filebeat.modules:\n- {{module: system, syslog: {{{option}}}}}\n")
    assert problem.endswith("; instead of var.use_journald, write an input of type: journald")


@pytest.mark.parametrize(
    "module", ["{module: nginx, enabled: false}", "{module: nginx, access.enabled: false, error: {enabled: no}}"]
)
def test_a_module_of_which_nothing_is_enabled_is_a_note(lab: Lab, module: str) -> None:
    (note,) = lab.load(f"{MAIN}filebeat.modules:\n- {module}\n").notes
    assert note.startswith("ignored: filebeat.modules (")


def test_an_enabled_module_in_a_file_of_its_own_is_a_mistake(lab: Lab) -> None:
    folder = lab.file.parent / "modules.d"
    folder.mkdir()
    (folder / "nginx.yml").write_text("# Module: nginx\n- module: nginx\n  access.enabled: true\n")
    (folder / "system.yml.disabled").write_text("- module: system\n")
    (folder / "apache.yml").write_text("- module: apache\n  enabled: false\n")
    section = "filebeat.config.modules: {path: '${path.config}/modules.d/*.yml'%s}\n"
    (problem,) = lab.problems(MAIN + section % "")
    assert problem.startswith("modules.d/nginx.yml:2: filebeat.config.modules[0]: module nginx is enabled")
    assert lab.load(MAIN + section % ", enabled: false").inputs


def test_a_file_of_modules_that_is_no_list_is_a_mistake(lab: Lab) -> None:
    (lab.file.parent / "m.yml").write_text("module: nginx\n")
    (problem,) = lab.problems(f"{MAIN}filebeat.config.modules.path: m.yml\n")
    assert problem == "m.yml:1: must contain a list of modules, each beginning with '- module:', and nothing else"
