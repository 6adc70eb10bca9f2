"""What the shipper reads."""

import pytest

from log_shipper.shipper.options.filebeat import INPUT_NOT_YET
from log_shipper.shipper.options.model import (
    CloseConfig,
    DeleteConfig,
    ReaderCloseConfig,
    RemovedCloseConfig,
    ScannerConfig,
    StateChangeConfig,
)
from tests.config_lab import ConfigLab
from tests.tables import rows


@pytest.mark.parametrize(
    ("line", "problem"),
    rows("""
        pathz: [x] -> pathz: unknown option; did you mean 'paths'?
        type: netflow -> type: 'netflow' is not supported; the shipper reads files and standard input: write to a file
            first, or keep Filebeat for this input
        type: filestrem -> type: 'filestrem' is unknown; did you mean 'filestream'?
        type: ${NO} -> type: variable NO is not set; set a default with ${NO:value}
        type: [log] -> type: must be a single value, not a list
        encoding: klingon -> encoding: 'klingon' is not a known encoding
        message_max_bytes: 0 -> message_max_bytes: must be at least 1
        message_max_bytes: big -> message_max_bytes: 'big' is not a size; write bytes as a number, or 10MiB, 64KiB, 1MB
        json.keys_under_root: true
            -> json: belongs to type: log, container, stdin; here, it is named '- ndjson:' below parsers
        multiline.pattern: x
            -> multiline: belongs to type: log, container, stdin; here, it is named '- multiline:' below parsers
        scan_frequency: 1s
            -> scan_frequency: belongs to type: log, container; here, it is named prospector.scanner.check_interval
        recursive_glob: {enabled: false} -> recursive_glob.enabled: belongs to type: log, container; here, it is named
            prospector.scanner.recursive_glob
        tail_files: true -> tail_files: belongs to type: log, container
        stream: stdout -> stream: belongs to type: container
        prospector.scanner.exclude_files: ['[']
            -> prospector.scanner.exclude_files[0]: '[' is not a regular expression in RE2 syntax: missing ]: [
        prospector.scanner.fingerprint.length: 63 -> prospector.scanner.fingerprint.length: must be at least 64
        close.on_state_change.check_interval: 0 -> close.on_state_change.check_interval: must be at least 0.001
        close.reader.after_interval: -1
            -> close.reader.after_interval: '-1' is not a duration; write 5s, 1m30s, 100ms or 2h (24h for a day)
        ignore_inactive: always -> ignore_inactive: 'always' must be one of: since_first_start, since_last_start
        compression: zstd -> compression: 'zstd' must be one of: none, gzip, auto
        harvester_limit: -1 -> harvester_limit: must be at least 0
        clean_inactive: 1h -> clean_inactive: needs ignore_older: otherwise, forgotten files are read again
        parsers: [{}] -> parsers[0]: each item must be a single parser, as in '- multiline: {...}'; found 0: none
        parsers: [multiline: {}] -> parsers[0].multiline.pattern: required with type: pattern
        parsers: [multiline: {pattern: '('}]
            -> parsers[0].multiline.pattern: '(' is not a regular expression in RE2 syntax: missing ): (
        parsers: [multiline: {pattern: x, match: below}]
            -> parsers[0].multiline.match: 'below' must be one of: after, before
        parsers: [multiline: {pattern: x, max_lines: -1}] -> parsers[0].multiline.max_lines: must be at least 0
        parsers: [ndjsn: ] -> parsers[0].ndjsn: unknown parser; did you mean 'ndjson'?
    """),
)
def test_a_mistake_in_an_input_is_named(lab: ConfigLab, line: str, problem: str) -> None:
    text = lab.whole.replace("output.", f"    {line}\noutput.")
    assert lab.problems(text) == [f"shipper.yml:4: shipper.inputs[0].{problem}"]


@pytest.mark.parametrize(
    ("inputs", "problem"),
    [
        *rows("""
        - paths: [x] -> 2: shipper.inputs[0].id: missing; every filestream input needs its own id, as in 'id: nginx'
        - id: a -> 2: shipper.inputs[0].paths: missing
        - {id: a, paths: []} -> 2: shipper.inputs[0].paths: must not be empty
        - {id: a, paths: [x, ' ']} -> 2: shipper.inputs[0].paths[1]: is empty
        - {id: ' ', paths: [x]} -> 2: shipper.inputs[0].id: is empty
        - just text -> 2: shipper.inputs[0]: must be a section of options (key: value)
        - {id: a, paths: [x], enabled: no} -> 1: shipper.inputs: no input is enabled; enable at least one
        """),
        ("  id: a\n  paths: [x]", "1: shipper.inputs: must be a list (- item)"),
        (
            "",
            "1: shipper.inputs: missing; list the inputs, as in '- {type: filestream, id: app, "
            "paths: [/var/log/app.log]}'",
        ),
        ("  []", "1: shipper.inputs: no input is enabled; enable at least one"),
    ],
)
def test_a_mistake_about_inputs_is_named(lab: ConfigLab, inputs: str, problem: str) -> None:
    assert lab.problems(f"shipper.inputs:\n{inputs}\noutput.console:\n") == [f"shipper.yml:{problem}"]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("", (0.0, 0.0, "", "none", True)),
        ("clean_inactive: -1", (0.0, 0.0, "", "none", True)),
        ("ignore_older: 2h\n    clean_inactive: 2h11s", (7200.0, 7211.0, "", "none", True)),
        ("ignore_inactive: since_last_start", (0.0, 0.0, "since_last_start", "none", True)),
        ("ignore_inactive: ''\n    compression: ''", (0.0, 0.0, "", "none", True)),
        ("compression: auto\n    clean_removed: false", (0.0, 0.0, "", "auto", False)),
        ("compression: gzip", (0.0, 0.0, "", "gzip", True)),
    ],
)
def test_what_is_left_alone_and_forgotten_is_read(
    lab: ConfigLab, written: str, read: tuple[float, float, str, str, bool]
) -> None:
    (each,) = lab.load(lab.whole.replace("output.", f"    {written}\noutput.")).file_inputs
    assert (each.ignore_older, each.clean_inactive, each.ignore_inactive, each.compression, each.clean_removed) == read


def test_what_the_scanner_takes_is_read(lab: ConfigLab) -> None:
    scanner = "{exclude_files: ['\\.gz$'], include_files: a, symlinks: true, recursive_glob: false}"
    (each,) = lab.load(lab.whole.replace("output.", f"    prospector.scanner: {scanner}\noutput.")).file_inputs
    assert each.prospector.scanner == ScannerConfig(
        exclude_files=(r"\.gz$",), include_files=("a",), symlinks=True, recursive_glob=False
    )


def test_when_files_are_closed_and_deleted_is_read(lab: ConfigLab) -> None:
    close = "{on_state_change: {inactive: 0, renamed: true, removed: false, check_interval: 1s},"
    close += " reader: {on_eof: true, after_interval: 5m}, removed.max_bytes: 1MiB}"
    (each,) = lab.load(
        lab.whole.replace("output.", f"    close: {close}\n    delete: {{enabled: true, grace_period: 0}}\noutput.")
    ).file_inputs
    assert each.close == CloseConfig(
        on_state_change=StateChangeConfig(inactive=0.0, renamed=True, removed=False, check_interval=1.0),
        reader=ReaderCloseConfig(on_eof=True, after_interval=300.0),
        removed=RemovedCloseConfig(max_bytes=1024**2),
    )
    assert each.delete == DeleteConfig(enabled=True, grace_period=0.0)


@pytest.mark.parametrize("more", ["", "prospector.scanner.check_interval: 1m"])
def test_an_entry_is_not_cleaned_while_its_file_is_looked_at(lab: ConfigLab, more: str) -> None:
    interval = "1m" if more else "10s"
    cleaned = "70s" if more else "1m10s"
    text = f"    ignore_older: 1m\n    clean_inactive: {cleaned}\n    {more}\noutput."
    assert lab.problems(lab.whole.replace("output.", text)) == [
        "shipper.yml:5: shipper.inputs[0].clean_inactive: must be greater than ignore_older + "
        f"prospector.scanner.check_interval (1m + {interval}); otherwise, files that are still being read are forgotten"
    ]


def test_one_parser_takes_the_frame_of_a_container_off(lab: ConfigLab) -> None:
    text = "    parsers: [{container: {}}, {ndjson: {}}, {container: {}}]\noutput."
    assert lab.problems(lab.whole.replace("output.", text)) == [
        "shipper.yml:4: shipper.inputs[0].parsers: container is listed twice; the first one already removes the "
        "runtime's framing"
    ]


def test_a_file_that_is_never_closed_is_never_deleted(lab: ConfigLab) -> None:
    text = "    delete.enabled: true\n    close.on_state_change.inactive: 0\noutput."
    assert lab.problems(lab.whole.replace("output.", text)) == [
        "shipper.yml:4: shipper.inputs[0].delete.enabled: needs close.reader.on_eof: true, or "
        "close.on_state_change.inactive above 0: only closed files are deleted"
    ]


@pytest.mark.parametrize("closes", ["close.on_state_change.inactive: 1s", "close.reader.on_eof: true"])
def test_a_file_that_is_closed_may_be_deleted(lab: ConfigLab, closes: str) -> None:
    text = f"    delete.enabled: true\n    {closes}\noutput."
    assert lab.load(lab.whole.replace("output.", text)).file_inputs[0].delete.enabled


def test_what_makes_no_sense_in_an_input_is_noted(lab: ConfigLab) -> None:
    options = ("backoff.init: 1s", "rotation.external.strategy: {}", "legacy_clean_inactive: false")
    text = "".join(f"    {option}\n" for option in options) + "output."
    assert [note.partition(" (")[0] for note in lab.load(lab.whole.replace("output.", text)).notes] == [
        "ignored: shipper.inputs[0].backoff",
        "ignored: shipper.inputs[0].rotation",
        "ignored: shipper.inputs[0].legacy_clean_inactive",
    ]


def test_every_input_needs_an_id_of_its_own(lab: ConfigLab) -> None:
    inputs = "- {id: a, paths: [x]}\n- {id: b, paths: [x]}\n-\n    paths: [x]\n    id: a\n"
    assert lab.problems(f"filebeat.inputs:\n{inputs}output.console:\n") == [
        "shipper.yml:2: filebeat.inputs[0].id: 'a' is used by 2 inputs; each input needs a unique id",
        "shipper.yml:6: filebeat.inputs[2].id: 'a' is used by 2 inputs; each input needs a unique id",
    ]


def test_the_id_that_filebeat_keeps_for_inputs_without_one_is_refused(lab: ConfigLab) -> None:
    problem = "shipper.inputs[0].id: '.global' is Filebeat's name for inputs without an id; choose another id"
    assert lab.problems("shipper.inputs: [{id: .global, paths: [x]}]\noutput.console:\n") == [
        f"shipper.yml:1: {problem}"
    ]
    log = lab.load("shipper.inputs: [{type: log, id: .global, paths: [x]}]\noutput.console:\n")
    assert log.inputs[0].id == ".global"


def test_all_mistakes_of_all_inputs_are_reported_at_once(lab: ConfigLab) -> None:
    inputs = "- {paths: []}\n- {id: b, path: [x]}\n"
    assert [problem.partition(";")[0] for problem in lab.problems(f"shipper.inputs:\n{inputs}output.consol:\n")] == [
        "shipper.yml:2: shipper.inputs[0].id: missing",
        "shipper.yml:2: shipper.inputs[0].paths: must not be empty",
        "shipper.yml:3: shipper.inputs[1].path: belongs to type: unix, dead_letter",
        "shipper.yml:3: shipper.inputs[1].paths: missing",
        "shipper.yml:4: output.consol: unknown option",
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("close.inactive: 1m", "close.inactive: unknown option; did you mean 'on_state_change.inactive'?"),
        (
            "file_identity.fingerprint.length: 64",
            "file_identity.fingerprint.length: not supported; set prospector.scanner.fingerprint.length",
        ),
    ],
)
def test_an_option_in_the_wrong_section_is_reported_where_it_belongs(lab: ConfigLab, line: str, message: str) -> None:
    found = lab.problems(lab.whole.replace("output.", f"    {line}\noutput."))
    assert found == [f"shipper.yml:4: shipper.inputs[0].{message}"]


def test_what_an_input_takes_over_is_read(lab: ConfigLab) -> None:
    text = "    take_over: {enabled: true, from_ids: [b]}\noutput."
    (config,) = lab.load(lab.whole.replace("output.", text)).file_inputs
    assert (config.take_over.enabled, config.take_over.from_ids) == (True, ("b",))
    (problem,) = lab.problems(lab.whole.replace("output.", "    take_over.from_ids: [b]\noutput."))
    assert problem.endswith("take_over.from_ids: has no effect without enabled: true")


def test_the_older_form_of_taking_over_is_read_with_a_warning(lab: ConfigLab) -> None:
    old = "filebeat.inputs: [{type: filestream, id: a, paths: [x], take_over: true}]\noutput.console:\n"
    config = lab.load(old)
    assert config.file_inputs[0].take_over.enabled
    assert config.warnings[0].endswith("filebeat.inputs[0].take_over: an old form, now take_over.enabled")


@pytest.mark.parametrize("name", sorted(INPUT_NOT_YET))
def test_an_option_that_does_not_exist_here_is_refused_with_what_to_do_instead(lab: ConfigLab, name: str) -> None:
    (message,) = lab.problems(lab.whole.replace("output.", f"    {name}: x\noutput."))
    assert len(message.partition("not supported; ")[2].split()) > 2
