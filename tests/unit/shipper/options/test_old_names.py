"""Configurations of Filebeat 5 to 7, whose names are replaced where today's options mean the same."""

from typing import Any

import pytest

from log_shipper.shipper.options.model import InputConfig
from log_shipper.shipper.parsers.multiline import MultilineConfig
from log_shipper.shipper.processors.add_fields import AddFieldsConfig
from log_shipper.shipper.processors.add_tags import AddTagsConfig
from tests.config_lab import ConfigLab

OUTPUT = "output.console: {}\n"
INPUT = "filebeat.inputs: [{type: log, paths: [x]}]\n"


def one(lab: ConfigLab, options: str, *, key: str = "filebeat.inputs") -> tuple[InputConfig, list[str]]:
    """Return the only input, and the warnings without the file name."""
    config = lab.load(f"{key}:\n- {{{options}}}\n{OUTPUT}")
    (read,) = config.file_inputs
    return read, [warning.partition(".yml:")[2] for warning in config.warnings]


def test_inputs_without_a_type_are_log_in_a_configuration_of_filebeats(lab: ConfigLab) -> None:
    assert one(lab, "paths: [x]")[0].type == "log"
    (native,) = lab.load(f"shipper.inputs: [{{id: a, paths: [x]}}]\n{OUTPUT}").file_inputs
    assert native.type == "filestream"


@pytest.mark.parametrize(
    "text",
    [
        "filebeat.prospectors: [{paths: [x]}]\n",
        "filebeat:\n  prospectors: [{paths: [x]}]\n",
    ],
)
def test_prospectors_are_inputs(lab: ConfigLab, text: str) -> None:
    config = lab.load(text + OUTPUT)
    assert [each.type for each in config.file_inputs] == ["log"]
    (warning,) = config.warnings
    assert warning.endswith("filebeat.prospectors: an old name, now filebeat.inputs")


def test_an_override_may_have_the_old_name_too(lab: ConfigLab) -> None:
    config = lab.load(
        f"filebeat.prospectors: [{{paths: [x]}}]\n{OUTPUT}", overrides=["filebeat.prospectors.0.paths=[y]"]
    )
    assert config.file_inputs[0].paths == ("y",)


@pytest.mark.parametrize(
    "text", ["filebeat.config.prospectors: {path: more.yml}", "filebeat.config: {prospectors.path: more.yml}"]
)
def test_prospectors_in_files_of_their_own_are_inputs(lab: ConfigLab, text: str) -> None:
    (lab.file.parent / "more.yml").write_text("- {input_type: log, paths: [y], close_older: 1h}\n")
    config = lab.load(f"{text}\n{OUTPUT}")
    assert [(each.type, each.close.on_state_change.inactive) for each in config.file_inputs] == [("log", 3600.0)]
    assert [warning.rpartition("/")[2] for warning in config.warnings] == [
        "shipper.yml:1: filebeat.config.prospectors: an old name, now filebeat.config.inputs",
        "more.yml:1: [0].input_type: an old name, now type",
        "more.yml:1: [0].close_older: an old name, now close_inactive",
    ]


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ("registry_file: /var/lib/r", ("/var/lib/r", 1.0, "0600")),
        ("registry_flush: 5s", ("registry", 5.0, "0600")),
        ("registry_file_permissions: 0640", ("registry", 1.0, "0640")),
    ],
)
def test_options_of_the_registry_have_their_place_today(lab: ConfigLab, option: str, expected: tuple[Any, ...]) -> None:
    registry = lab.load(f"{INPUT}filebeat.{option}\n{OUTPUT}").registry
    assert (registry.path, registry.flush, registry.file_permissions) == expected


def test_force_close_files_closes_renamed_and_removed_files(lab: ConfigLab) -> None:
    for value in (True, False):
        read, warnings = one(lab, f"type: log, paths: [x], force_close_files: {str(value).lower()}")
        change = read.close.on_state_change
        assert (change.renamed, change.removed) == (value, value)
        assert warnings == ["2: filebeat.inputs[0].force_close_files: an old name, now close_renamed and close_removed"]


def test_what_has_todays_name_as_well_keeps_it(lab: ConfigLab) -> None:
    read, _ = one(lab, "type: log, paths: [x], close_older: 1h, close_inactive: 2h")
    assert read.close.on_state_change.inactive == 7200.0


@pytest.mark.parametrize(
    "processors", ["", ", processors: ", ", processors: [add_tags.tags: a]", ", processors: {add_tags.tags: a}"]
)
def test_document_type_is_the_field_type_before_all_processors(lab: ConfigLab, processors: str) -> None:
    read, warnings = one(lab, f"input_type: log, paths: [x], document_type: nginx{processors}")
    first, *rest = read.processors
    assert first == AddFieldsConfig(target="", fields={"type": "nginx"})
    assert rest == ([AddTagsConfig(tags=("a",))] if "tags" in processors else [])
    assert warnings[1] == (
        "2: filebeat.inputs[0].document_type: an old option, now the processor add_fields with target: '' and "
        "fields.type"
    )


def test_type_docker_reads_the_files_of_its_containers(lab: ConfigLab) -> None:
    read, warnings = one(lab, "type: docker, containers: {ids: [a, b], stream: stderr}, multiline.pattern: x")
    assert read.type == "container"
    assert read.paths == ("/var/lib/docker/containers/a/*.log", "/var/lib/docker/containers/b/*.log")
    container, multiline = read.parsers
    assert getattr(container, "stream", None) == "stderr"
    assert multiline == MultilineConfig(pattern="x")
    assert warnings == [
        "2: filebeat.inputs[0].type: an old type, now type: container with paths: "
        "[/var/lib/docker/containers/a/*.log, /var/lib/docker/containers/b/*.log]"
    ]


def test_type_docker_may_name_the_directory_and_then_all_containers(lab: ConfigLab) -> None:
    read, _ = one(lab, "type: docker, containers.path: /data/docker/, combine_partials: true")
    assert read.paths == ("/data/docker/*/*.log",)


def test_in_a_configuration_of_our_own_an_old_name_is_a_mistake(lab: ConfigLab) -> None:
    text = f"shipper.inputs: [{{type: log, paths: [x], close_older: 1h}}]\n{OUTPUT}"
    assert lab.problems(text) == ["shipper.yml:1: shipper.inputs[0].close_older: an old name, now close_inactive"]


def test_both_names_of_the_inputs_clash(lab: ConfigLab) -> None:
    text = f"{INPUT}filebeat.prospectors: [{{paths: [y]}}]\n{OUTPUT}"
    assert lab.problems(text)[0] == "shipper.yml:2: filebeat.inputs: duplicate of line 1; keep one"


def test_a_document_type_without_a_value_leaves_the_processors_as_they_are(lab: ConfigLab) -> None:
    read, (warning,) = one(lab, "type: log, paths: [x], document_type: , processors: [add_tags.tags: a]")
    assert read.processors == (AddTagsConfig(tags=("a",)),)
    assert "document_type: unknown option" in warning


def test_only_type_docker_has_containers(lab: ConfigLab) -> None:
    read, (warning,) = one(lab, "type: container, paths: [x], containers.stream: stderr")
    assert read.paths == ("x",)
    assert "containers: unknown option" in warning


def test_a_type_without_a_value_is_log_too(lab: ConfigLab) -> None:
    assert one(lab, "type: , paths: [x]")[0].type == "log"
