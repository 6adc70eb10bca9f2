"""Inputs in files of their own."""

import os
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from log_shipper.config.yaml.load import load
from log_shipper.shipper.options.included import ConfigInputs
from log_shipper.shipper.options.model import ShipperConfig
from tests.config_lab import ConfigLab

MAIN = """\
filebeat.inputs:
  - {id: app, type: filestream, paths: [/var/log/app.log]}
filebeat.config.inputs: {path: "inputs.d/*.yml"}
output.console: {}
"""
WEB = "- type: filestream\n  id: web\n  paths: [/var/log/web.log]\n"

Write = Callable[[str, str], Path]


@pytest.fixture
def write(lab: ConfigLab) -> Write:
    def write(name: str, text: str) -> Path:
        file = lab.file.parent / "inputs.d" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
        return file

    return write


def ids(config: ShipperConfig) -> list[str]:
    return [each.id for each in config.file_inputs]


def test_they_come_after_the_others_in_the_order_of_the_files_names(lab: ConfigLab, write: Write) -> None:
    write("b.yml", WEB)
    write("a.yml", "- {id: db, type: filestream, paths: [x]}\n- {id: db2, type: filestream, paths: [x]}\n")
    write("c.yml.disabled", "not yaml: [")
    assert ids(lab.load(MAIN)) == ["app", "db", "db2", "web"]


@pytest.mark.parametrize("key", ["filebeat.config.inputs", "shipper.config.inputs"])
@pytest.mark.parametrize("inputs", ["filebeat.inputs", "shipper.inputs", ""])
def test_no_other_inputs_are_needed_and_both_prefixes_are_known(
    lab: ConfigLab, write: Write, key: str, inputs: str
) -> None:
    write("a.yml", WEB)
    own = f"{inputs}: [{{id: app, paths: [x]}}]\n" if inputs else ""
    config = lab.load(f"{own}{key}.path: inputs.d/*.yml\noutput.console: {{}}\n")
    assert ids(config) == (["app", "web"] if inputs else ["web"])
    assert config.config_inputs == ConfigInputs(path=f"{lab.file.parent}/inputs.d/*.yml")


def test_the_path_is_below_path_config_where_that_is_given(
    lab: ConfigLab, write: Write, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "a.yml").write_text(WEB)
    config = lab.load(MAIN.replace("inputs.d/", ""), overrides=[f"path.config={elsewhere}"])
    assert ids(config) == ["app", "web"]
    assert ids(lab.load(MAIN.replace("inputs.d/", f"{elsewhere}/"))) == ["app", "web"]
    assert ids(lab.load(MAIN.replace("inputs.d/", "${path.config}/inputs.d/"))) == ["app"]


def test_they_are_left_alone_where_they_are_not_enabled(lab: ConfigLab, write: Write) -> None:
    write("a.yml", "not: [yaml")
    assert ids(lab.load(MAIN, overrides=["filebeat.config.inputs.enabled=false"])) == ["app"]


def test_variables_stand_for_the_same_as_in_the_configuration(lab: ConfigLab, write: Write) -> None:
    write("a.yml", "- {id: '${ID}', type: filestream, paths: ['${path.config}/x', '${path.data}/y']}\n")
    config = lab.load(MAIN + "path.data: /data\n", env={"ID": "web"})
    assert ids(config) == ["app", "web"]
    assert config.file_inputs[1].paths == (f"{lab.file.parent}/x", "/data/y")


def test_an_override_by_index_is_of_an_input_of_the_configuration(lab: ConfigLab, write: Write) -> None:
    write("a.yml", WEB)
    config = lab.load(MAIN, overrides=["filebeat.inputs.0.id=new", "filebeat.inputs[0].paths[1]=/more"])
    assert ids(config) == ["new", "web"]
    assert config.file_inputs[0].paths == ("/var/log/app.log", "/more")


def reported(lab: ConfigLab, *more: str) -> list[str]:
    return lab.problems(MAIN, overrides=more)


def test_a_mistake_is_named_with_its_own_file_line_and_path(lab: ConfigLab, write: Write) -> None:
    write("a.yml", WEB.replace("paths", "path"))
    assert reported(lab) == [
        "inputs.d/a.yml:1: [0].paths: missing",
        "warning: inputs.d/a.yml:3: [0].path: belongs to type: unix, dead_letter; here, it is named paths",
    ]


def test_ids_are_unique_over_all_files(lab: ConfigLab, write: Write) -> None:
    write("a.yml", WEB)
    write("b.yml", WEB.replace("web", "app"))
    assert reported(lab) == [
        "shipper.yml:2: filebeat.inputs[0].id: 'app' is used by 2 inputs; each input needs a unique id",
        "inputs.d/b.yml:2: [0].id: 'app' is used by 2 inputs; each input needs a unique id",
    ]


def test_an_input_that_would_read_what_the_shipper_writes_is_reported_with_its_place(
    lab: ConfigLab, write: Write
) -> None:
    write("a.yml", WEB.replace("/var/log/web.log", "/data/*"))
    (problem,) = reported(lab, "path.data=/data")
    assert problem.startswith("inputs.d/a.yml:3: [0].paths[0]: matches /data/")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("type: log\n", "must contain only a list of inputs, each beginning with '- type:'"),
        ("filebeat.inputs: []\n", "must contain only a list of inputs, each beginning with '- type:'"),
        ("- [\n", "is not YAML"),
    ],
)
def test_a_file_that_is_no_list_is_named_beside_all_else(lab: ConfigLab, write: Write, text: str, message: str) -> None:
    write("a.yml", text)
    write("b.yml", WEB.replace("web", ""))
    first, second = reported(lab)
    assert first.startswith("inputs.d/a.yml:")
    assert message in first
    assert second == (
        "warning: inputs.d/b.yml:2: [0].id: missing; every filestream input needs its own id, as in 'id: nginx'"
    )


def test_a_file_that_cannot_be_read_is_named(lab: ConfigLab, write: Write) -> None:
    write("a.yml", WEB).unlink()
    os.mkdir(lab.file.parent / "inputs.d" / "a.yml")
    assert reported(lab) == ["inputs.d/a.yml: cannot be read: it is a directory; use a regular file"]


def test_where_no_file_exists_yet_the_shipper_waits_for_one(lab: ConfigLab) -> None:
    text = "filebeat.config.inputs: {path: inputs.d/*.yml}\noutput.console: {}\n"
    (note,) = lab.load(text).notes
    assert "no input is enabled in" in note
    assert ids(lab.load(text, overrides=["filebeat.config.inputs.reload.enabled=true"])) == []
    assert lab.problems("filebeat.inputs: []\noutput.console: {}\n") == [
        "shipper.yml:1: filebeat.inputs: no input is enabled; enable at least one"
    ]


def test_a_change_is_seen_by_what_is_in_the_files_and_who_may_write_them(lab: ConfigLab, write: Write) -> None:
    rules = lab.load(MAIN).config_inputs
    seen = [rules.contents()]
    file = write("a.yml", WEB)
    seen.append(rules.contents())
    file.write_text(WEB.replace("web", "www"))
    seen.append(rules.contents())
    file.chmod(0o600)
    seen.append(rules.contents())
    file.unlink()
    assert all(before != after for before, after in pairwise(seen))
    assert rules.contents() == seen[0] == {}


def test_what_is_no_regular_file_is_named_and_seen_when_it_becomes_one(lab: ConfigLab, write: Write) -> None:
    file = write("a.yml", WEB)
    rules = lab.load(MAIN).config_inputs
    before = rules.contents()
    file.unlink()
    os.mkfifo(file)
    seen = rules.contents()
    assert reported(lab) == ["inputs.d/a.yml: cannot be read: it is a named pipe (FIFO); use a regular file"]
    assert rules.contents() == seen != before
    file.unlink()
    write("a.yml", WEB)
    assert rules.contents()[file] != seen[file]


def test_files_to_look_at_again_need_a_name(lab: ConfigLab) -> None:
    assert lab.problems_with("filebeat.config.inputs.reload.enabled: true\n") == [
        "shipper.yml:5: filebeat.config.inputs.path: missing; name the files to load, as in 'path: inputs.d/*.yml'"
    ]


def test_several_configurations_have_one_set_of_files(lab: ConfigLab, write: Write, tmp_path: Path) -> None:
    write("a.yml", WEB)
    (tmp_path / "more").mkdir()
    more = tmp_path / "more" / "more.yml"
    more.write_text("filebeat.config.inputs.path: inputs.d/a.yml\n")
    lab.load(MAIN)
    assert ids(load([lab.file, more], ShipperConfig, (), {})) == ["app", "web"]


def test_thousands_of_inputs_are_read_quickly(lab: ConfigLab, write: Write) -> None:
    """Some 0.25 ms each. What is known of the options before one is read was worked out for each of them: 5 ms."""
    inputs = "".join(WEB.replace("web", f"web{number}") for number in range(1000))
    write("a.yml", inputs)
    start = time.process_time()
    assert len(lab.load(MAIN).file_inputs) == 1001
    assert time.process_time() - start < 2


def test_all_files_together_hold_no_more_than_a_configuration_may(lab: ConfigLab, write: Write) -> None:
    most = f"[&m [{'x, ' * 1000}], {'*m, ' * 129}]"
    for name in ("a", "b"):
        write(f"{name}.yml", f"- {{id: {name}, nothing: {most}}}\n")
    problems = lab.problems(MAIN)
    assert any(problem.startswith("inputs.d/b.yml:1: exceeds the limit of 250,000") for problem in problems)


def test_a_lapse_beside_their_path_does_not_leave_them_out(lab: ConfigLab, write: Write) -> None:
    write("a.yml", WEB)
    config = lab.load(MAIN.replace('{path: "', '{pat: x, path: "'))
    assert ids(config) == ["app", "web"]
    assert config.warnings[0].endswith("filebeat.config.inputs.pat: unknown option; did you mean 'path'?")
