"""An input never reads what the shipper writes."""

import os
from typing import Any

import pytest

from log_shipper.registry import ndjson
from log_shipper.registry.load import DATABASE, LOG, NEW
from log_shipper.registry.store import INDEX, UNFINISHED
from log_shipper.shipper.options.model import InputConfig, ProspectorConfig, ScannerConfig
from log_shipper.shipper.options.own_output import REGISTRY_FILES, reads_own_output
from tests.config_lab import ConfigLab

WORDS = "the shipper would read its own output; exclude the file, or move one of them"


def found(pattern: str, path: str, **scanner: Any) -> list[str]:
    each = InputConfig(id="a", paths=(pattern,), prospector=ProspectorConfig(scanner=ScannerConfig(**scanner)))
    return [where for where, _ in reads_own_output((each,), {path: "output.file"})]


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("/logs/out", "/logs/out"),
        ("/logs/*", "/logs/out"),
        ("/*/o[tu]t", "/logs/out"),
        ("/logs/../logs/./ou?", "/logs//out"),
        ("/**", "/logs/deep/out"),
        ("/logs/**/out", "/logs/out"),
        ("/logs/**/out", "/logs/deep/er/out"),
        ("/**/deep/**/o*", "/logs/deep/out"),
        ("*.ndjson", "out.ndjson"),
        ("out", f"{os.getcwd()}/out"),
        ("/logs/[^x]ut", "/logs/out"),
        (r"/logs/\out", "/logs/out"),
    ],
)
def test_a_glob_that_names_the_file_is_found(pattern: str, path: str) -> None:
    assert found(pattern, path) == ["[0].paths[0]"]


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("/logs/*", "/logs/deep/out"),
        ("/logs/*.log", "/logs/out"),
        ("/logs/**/in", "/logs/deep/out"),
        ("/logs/deep/**", "/logs/out"),
        ("/logs/OUT", "/logs/out"),
        ("/logs", "/logs/out"),
        ("/logs/out/*", "/logs/out"),
        ("/logs/[!o]ut", "/logs/Xut"),
        ("/logs/{in,out}", "/logs/out"),
        ("/logs/[o", "/logs/o"),
    ],
)
def test_a_glob_that_does_not_is_not(pattern: str, path: str) -> None:
    assert found(pattern, path) == []


def test_many_double_stars_are_matched_in_bounded_time() -> None:
    assert found("/**" * 40 + "/x", "/a" * 40) == []
    assert found("/**/a" * 15, "/a" * 40) == ["[0].paths[0]"]


def test_two_stars_are_one_where_the_scanner_says_so() -> None:
    assert found("/logs/**/out", "/logs/out", recursive_glob=False) == []
    assert found("/logs/**/out", "/logs/deep/out", recursive_glob=False) == ["[0].paths[0]"]


def test_what_is_excluded_or_not_included_is_not_read() -> None:
    assert found("/logs/*", "/logs/out", exclude_files=("x", "/out$")) == []
    assert found("/logs/*", "/logs/out", include_files=(r"\.log$",)) == []
    assert found("/logs/*", "/logs/out", include_files=("x", "out"), exclude_files=("in",)) == ["[0].paths[0]"]


def test_the_path_is_named_where_it_is_written(lab: ConfigLab) -> None:
    inputs = "- {id: a, paths: [/x]}\n-\n  id: b\n  paths:\n  - /y\n  - /logs/*\n"
    assert lab.problems(f"filebeat.inputs:\n{inputs}output.file: {{path: /logs}}\n") == [
        f"shipper.yml:7: filebeat.inputs[1].paths[1]: matches /logs/shipper of output.file: {WORDS}"
    ]


def test_a_file_that_rotation_renames_is_none_to_read(lab: ConfigLab) -> None:
    inputs = "shipper.inputs: [{type: log, paths: '/logs/*.[0-9]'}]\n"
    assert lab.load(f"{inputs}output.file: {{path: /logs}}\n")
    assert lab.problems(f"{inputs}output.file: {{path: /logs, rotate_every_kb: 10}}\n") == [
        f"shipper.yml:1: shipper.inputs[0].paths[0]: matches /logs/shipper.1 of output.file: {WORDS}"
    ]


@pytest.mark.parametrize(
    ("paths", "file"),
    [
        ("/data/dead*", "/data/dead_letter.ndjson of path.data"),
        ("/data/*_id", "/data/agent_id of path.data"),
        ("/data/registry/*.db", "/data/registry/registry.db of the registry in path.data"),
        ("/**/lock", "/data/registry/lock of the registry in path.data"),
    ],
)
def test_the_files_of_path_data_are_none_to_read(lab: ConfigLab, paths: str, file: str) -> None:
    inputs = f"shipper.inputs: [{{type: log, paths: '{paths}'}}]\n"
    assert lab.problems(f"{inputs}path.data: /data\noutput.console:\n") == [
        f"shipper.yml:1: shipper.inputs[0].paths[0]: matches {file}: {WORDS}"
    ]


def test_other_files_beside_them_are_read(lab: ConfigLab) -> None:
    inputs = "shipper.inputs: [{id: a, paths: [/data/*.log, /data/registry/*.txt]}]\n"
    assert lab.load(f"{inputs}path.data: /data\noutput.file: {{path: /data}}\n")


def test_an_input_that_is_off_feeds_nothing(lab: ConfigLab) -> None:
    inputs = "shipper.inputs:\n- {id: a, paths: [/data/*], enabled: false}\n- {id: b, paths: [/x]}\n"
    assert lab.load(f"{inputs}path.data: /data\noutput.console:\n")


def test_an_output_that_is_off_is_not_written(lab: ConfigLab) -> None:
    text = "shipper.inputs: [{id: a, paths: [/logs/*]}]\noutput.file: {path: /logs, enabled: false}\noutput.console:\n"
    assert lab.load(text)


def test_the_registrys_files_are_called_as_it_calls_them() -> None:
    assert {DATABASE, LOG, INDEX, NEW, UNFINISHED, *ndjson.NAMES, "lock"} < set(REGISTRY_FILES)


def test_its_own_log_may_be_read_and_that_is_noted(lab: ConfigLab) -> None:
    inputs = "shipper.inputs: [{type: log, paths: '/var/log/**/*'}]\noutput.console:\n"
    config = lab.load(f"{inputs}logging.files: {{path: /var/log/shipper}}\n")
    (note,) = config.notes
    assert note.endswith(
        "matches /var/log/shipper/shipper.ndjson, the shipper's own log; exclude it unless you want to ship it"
    )
    assert lab.load(f"{inputs}logging: {{to_stderr: true, files.path: /var/log/shipper}}\n").notes == ()
