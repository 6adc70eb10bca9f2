"""`log`, `container` and `stdin` are written with names of their own and read as InputConfig."""

import pytest

from log_shipper.shipper.options.input_ids import kept_by_order
from log_shipper.shipper.options.inputs import PublisherPipelineConfig
from log_shipper.shipper.options.model import (
    INPUT_KINDS,
    CloseConfig,
    FileIdentityConfig,
    InputConfig,
    ProspectorConfig,
    ReaderCloseConfig,
    ScannerConfig,
    StateChangeConfig,
)
from log_shipper.shipper.parsers.container import ContainerConfig
from log_shipper.shipper.parsers.multiline import MultilineConfig
from log_shipper.shipper.parsers.ndjson import NdjsonConfig
from tests.config_lab import ConfigLab
from tests.tables import rows

LOG = """\
filebeat.inputs:
  - type: log
    paths: [/var/log/a.log, /var/log/**/b.log]
    enabled: true
    encoding: utf-8
    line_terminator: line_feed
    max_bytes: 1KiB
    include_lines: [i]
    exclude_lines: [e]
    json: {keys_under_root: true, message_key: log}
    multiline: {pattern: x, negate: true}
    scan_frequency: 1s
    exclude_files: ['\\.gz$']
    symlinks: true
    recursive_glob.enabled: false
    file_identity.inode_marker.path: /m
    ignore_older: 1h
    tail_files: true
    harvester_limit: 7
    close_inactive: 1m
    close_renamed: true
    close_removed: false
    close_eof: true
    close_timeout: 5m
    clean_inactive: 2h
    clean_removed: false
    tags: [t]
    fields: {f: 1}
    fields_under_root: true
    keep_null: true
    publisher_pipeline.disable_host: true
output.console:
"""


def test_every_option_of_log_has_its_place(lab: ConfigLab) -> None:
    (each,) = lab.load(LOG).file_inputs
    assert each == InputConfig(
        type="log",
        id=each.id,
        paths=("/var/log/a.log", "/var/log/**/b.log"),
        line_terminator="line_feed",
        message_max_bytes=1024,
        include_lines=("i",),
        exclude_lines=("e",),
        parsers=(NdjsonConfig(message_key="log"), MultilineConfig(pattern="x", negate=True)),
        prospector=ProspectorConfig(
            scanner=ScannerConfig(check_interval=1.0, exclude_files=(r"\.gz$",), symlinks=True, recursive_glob=False)
        ),
        file_identity=FileIdentityConfig("inode_marker", marker="/m"),
        ignore_older=3600.0,
        tail_files=True,
        harvester_limit=7,
        close=CloseConfig(
            on_state_change=StateChangeConfig(inactive=60.0, renamed=True, removed=False),
            reader=ReaderCloseConfig(on_eof=True, after_interval=300.0),
        ),
        clean_inactive=7200.0,
        clean_removed=False,
        tags=("t",),
        fields={"f": 1},
        fields_under_root=True,
        keep_null=True,
        publisher_pipeline=PublisherPipelineConfig(disable_host=True),
    )


def load(lab: ConfigLab, *inputs: str) -> tuple[InputConfig, ...]:
    return lab.load("shipper.inputs:\n" + "".join(f"- {each}\n" for each in inputs) + "output.console:\n").file_inputs


def problems(lab: ConfigLab, *inputs: str) -> list[str]:
    return lab.problems("shipper.inputs:\n" + "".join(f"- {each}\n" for each in inputs) + "output.console:\n")


def test_what_log_leaves_out_is_as_in_filestream(lab: ConfigLab) -> None:
    log, filestream = load(lab, "{type: log, id: a, paths: [x]}", "{id: b, paths: [x]}")
    for name in ("prospector", "close", "file_identity", "clean_inactive", "clean_removed", "message_max_bytes"):
        assert getattr(log, name) == getattr(filestream, name)
    assert (log.tail_files, log.harvester_limit, log.compression, log.parsers) == (False, 0, "none", ())


def test_the_type_may_come_from_the_environment(lab: ConfigLab) -> None:
    assert load(lab, "{type: '${KIND:log}', paths: [x]}")[0].type == "log"


def test_an_input_without_a_type_is_filestream(lab: ConfigLab) -> None:
    assert [each.type for each in load(lab, "{id: a, paths: [x]}", "{type: , id: b, paths: [x]}")] == ["filestream"] * 2


def test_container_follows_links_by_default(lab: ConfigLab) -> None:
    first, second = load(lab, "{type: container, paths: [x]}", "{type: container, paths: [y], symlinks: false}")
    assert (first.type, first.prospector.scanner.symlinks) == ("container", True)
    assert not second.prospector.scanner.symlinks


def test_container_takes_lines_apart_before_anything_else(lab: ConfigLab) -> None:
    (each,) = load(lab, "{type: container, paths: [x], stream: stderr, format: cri, multiline.pattern: y}")
    assert each.parsers == (ContainerConfig(stream="stderr", format="cri"), MultilineConfig(pattern="y"))
    (each,) = load(lab, "{type: container, paths: [x]}")
    assert each.parsers == (ContainerConfig(stream="all", format="auto"),)


def test_stdin_needs_nothing(lab: ConfigLab) -> None:
    (each,) = load(lab, "{type: stdin, max_bytes: 1KiB, multiline.pattern: x, tags: [t]}")
    assert (each.type, each.id, each.paths, each.message_max_bytes, each.tags) == ("stdin", "stdin", (), 1024, ("t",))
    assert each.parsers == (MultilineConfig(pattern="x"),)


def test_stdin_runs_alone(lab: ConfigLab) -> None:
    assert problems(lab, "{type: stdin}", "{id: a, paths: [x]}") == [
        "shipper.yml:2: shipper.inputs[0].type: stdin must be the only enabled input"
    ]
    assert [each.type for each in load(lab, "{type: stdin}", "{id: a, paths: [x], enabled: false}")] == [
        "stdin",
        "filestream",
    ]
    assert load(lab, "{type: stdin, enabled: false}", "{id: a, paths: [x]}", "{id: b, paths: [x]}")


def test_an_id_is_made_of_type_and_paths(lab: ConfigLab) -> None:
    ids = [
        load(lab, text)[0].id
        for text in (
            "{type: log, paths: [x, y]}",
            "{type: log, paths: [y, x, y], tags: [t]}",
            "{type: log, paths: [xy]}",
            "{type: container, paths: [x, y]}",
            "{type: log, id: mine, paths: [x, y]}",
        )
    ]
    assert ids[:2] == ["log-ce3890a8"] * 2
    assert len(set(ids)) == 4
    assert ids[3].startswith("container-")
    assert ids[4] == "mine"


def test_two_inputs_of_the_same_paths_have_derived_ids_that_differ(lab: ConfigLab) -> None:
    first, second, third = load(lab, *["{type: log, paths: [x, y]}"] * 2, "{type: log, paths: [y, x]}")
    assert (second.id, third.id) == (f"{first.id}-2", f"{first.id}-3")


def test_inputs_whose_ids_differ_by_their_order_are_remarked(lab: ConfigLab) -> None:
    same, named = "{type: log, paths: [x, y]}", "{type: log, id: a, paths: [x, y]}"
    inputs = load(lab, same, "{type: log, paths: [y, x]}", named)
    ((where, message),) = kept_by_order(tuple(inputs))
    assert where == "[1].id"
    assert f"of this one under '{inputs[1].id}'; set an id on each before reordering them" in message
    assert list(kept_by_order(tuple(load(lab, same, named)))) == []


def test_an_id_that_is_written_twice_is_a_mistake(lab: ConfigLab) -> None:
    _, problem = problems(lab, "{type: log, id: a, paths: [x]}", "{type: log, id: a, paths: [x]}")
    assert problem == "shipper.yml:3: shipper.inputs[1].id: 'a' is used by 2 inputs; each input needs a unique id"


def owners(option: str) -> str:
    return ", ".join(INPUT_KINDS.owners(option))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        *rows("""
        {type: log} -> paths: missing
        {type: log, paths: [x], id: ' '} -> id: is empty
        {type: log, paths: [x], scan_frequency: 0} -> scan_frequency: must be at least 0.001
        {type: log, paths: [x], scan_freq: 0} -> scan_freq: unknown option; did you mean 'scan_frequency'?
        {type: log, paths: [x], json.keys_under_rot: 1}
            -> json.keys_under_rot: unknown option; did you mean 'keys_under_root'?
        {type: log, paths: [x], close.on_state_change.inactive: 1s}
            -> close.on_state_change.inactive: belongs to type: filestream; here, it is named close_inactive
        {type: log, paths: [x], prospector: {scanner: {check_interval: 1s}}}
            -> prospector.scanner.check_interval: belongs to type: filestream; here, it is named scan_frequency
        {type: log, paths: [x], delete.enabled: true} -> delete.enabled: belongs to type: filestream
        {type: log, paths: [x], stream: stdout} -> stream: belongs to type: container
        {type: log, paths: [x], clean_inactive: 1m}
            -> clean_inactive: needs ignore_older: otherwise, forgotten files are read again
        {type: log, paths: [x], clean_inactive: 71s, ignore_older: 1m, scan_frequency: 11s}
            -> clean_inactive: must be greater than ignore_older + scan_frequency (1m + 11s);
            otherwise, files that are still being read are forgotten
        {type: container, paths: [x], stream: stdin} -> stream: 'stdin' must be one of: all, stdout, stderr
        {type: container, paths: [x], format: json-file} -> format: 'json-file' must be one of: auto, docker, cri
        {type: container, paths: [x], clean_inactive: 1m}
            -> clean_inactive: needs ignore_older: otherwise, forgotten files are read again
        {type: stdin, paths: [x]} -> paths: belongs to type: filestream, log, container, journald
        {type: stdin, close_eof: true} -> close_eof: belongs to type: log, container
        """),
        (
            "{type: log, paths: [x], parsers: []}",
            f"parsers: belongs to type: {owners('parsers')}; here, it is named multiline",
        ),
        (
            "{type: stdin, message_max_bytes: 1}",
            f"message_max_bytes: belongs to type: {owners('message_max_bytes')}; here, it is named max_bytes",
        ),
    ],
)
def test_a_mistake_is_named_by_the_names_of_its_type(lab: ConfigLab, text: str, problem: str) -> None:
    assert problems(lab, text) == [f"shipper.yml:2: shipper.inputs[0].{problem}"]


def test_how_filebeat_paces_its_reading_is_noted(lab: ConfigLab) -> None:
    text = "{type: log, paths: [x], backoff: 1s, max_backoff: 2s, harvester_buffer_size: 1, scan: {sort: modtime}}"
    notes = lab.load(f"shipper.inputs:\n- {text}\noutput.console:\n").notes
    assert [note.partition(" (")[0].removeprefix("ignored: shipper.inputs[0].") for note in notes] == [
        "backoff",
        "max_backoff",
        "harvester_buffer_size",
        "scan.sort",
    ]
