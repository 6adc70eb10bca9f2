from collections.abc import Callable
from pathlib import Path

import pytest

from log_shipper.config.yaml.load import load
from log_shipper.shipper.cli.explain import explain
from log_shipper.shipper.options.model import ShipperConfig
from tests.capabilities import without_capabilities

Explained = Callable[[str], list[str]]

CONFIG = """\
filebeat.inputs:
  - type: filestream
    id: app
    paths: [{folder}/*.log, {folder}/a.*]
    encoding: latin1
    parsers:
      - multiline: {{pattern: '^\\s', match: after, max_lines: 7, timeout: 90s}}
      - ndjson: ~
    message_max_bytes: 1536
    include_lines: [ERR, "it's"]
    exclude_lines: ['^DBG']
    processors:
      - add_fields: {{target: project, fields: {{name: x, on: true}}}}
      - drop_event.when.not.has_fields: [a.b]
  - type: stdin
    enabled: false
processors:
  - if: {{or: [{{contains.message: ERR}}, {{equals.http.code: 3}}]}}
    then: [{{add_tags.tags: [error]}}]
    else: [{{add_tags.tags: [ok]}}, {{add_locale: ~}}]
output.kafka: {{hosts: [a, b], topic: logs}}
"""


@pytest.fixture
def explained(tmp_path: Path) -> Explained:
    def explained(text: str) -> list[str]:
        file = tmp_path / "shipper.yml"
        file.write_text(text)
        return list(explain(load(file, ShipperConfig, env={})))

    return explained


def test_it_tells_files_readers_processors_and_output_in_their_order(tmp_path: Path, explained: Explained) -> None:
    for name, size in (("a.log", 2048), ("b.log", 1024), ("a.txt", 0)):
        (tmp_path / name).write_bytes(b"x" * size)
    assert explained(CONFIG.format(folder=tmp_path)) == [
        "input app (type filestream)",
        f"  files       {tmp_path}/*.log: 2 files, 3 KiB now",
        f"              {tmp_path}/a.*: 2 files, 2 KiB now",
        "              total 3 files",
        "  lines       encoding latin1, line_terminator auto",
        "  parsers     multiline pattern: '^\\s', max_lines: 7, timeout: 1m30s",
        "              ndjson",
        "  limit       1.5 KiB per message",
        "  filters     include_lines 'ERR' or 'it''s'",
        "              exclude_lines '^DBG'",
        "  processors   1  add_fields fields: {name: 'x', on: true}, target: 'project'",
        "               2  drop_event when not has_fields ['a.b']",
        "               3  if (contains {message: 'ERR'} or equals {http.code: 3})",
        "                    add_tags tags: ['error']",
        "                  else",
        "                    add_tags tags: ['ok']",
        "                    add_locale",
        "input stdin (type stdin, disabled)",
        "  lines       encoding utf-8, line_terminator auto",
        "  limit       10 MiB per message",
        "  processors   1  if (contains {message: 'ERR'} or equals {http.code: 3})",
        "                    add_tags tags: ['error']",
        "                  else",
        "                    add_tags tags: ['ok']",
        "                    add_locale",
        "output kafka, topic logs at a, b",
    ]


def test_a_path_without_a_file_and_one_that_cannot_be_read_say_so(tmp_path: Path, explained: Explained) -> None:
    (tmp_path / "dangling.log").symlink_to(tmp_path / "nowhere")
    text = f"filebeat.inputs: [{{type: log, paths: ['{tmp_path}/none*']}}]\noutput.console: ~"
    assert f"  files       {tmp_path}/none*: 0 files now" in explained(text)


def test_files_that_this_user_may_not_read_are_counted(tmp_path: Path, explained: Explained) -> None:
    for name in ("a.log", "b.log"):
        (tmp_path / name).touch(mode=0o000)
    (tmp_path / "c.log").touch(mode=0o600)
    text = f"filebeat.inputs: [{{type: log, paths: ['{tmp_path}/*.log']}}]\noutput.console: ~"
    with without_capabilities():
        lines = list(explained(text))
    assert f"  files       {tmp_path}/*.log: 3 files now, 2 of them unreadable for this user" in lines


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("output.console: ~", "output console"),
        (
            "output.kafka: {hosts: [a], topic: logs, topics: [{topic: '%{[x]}'}]}",
            "output kafka, topics, the first that an event has: %{[x]}, logs at a",
        ),
        ("output.file: {path: /var/tmp, filename: out}", "output file /var/tmp/out"),
    ],
)
def test_it_names_the_output(output: str, expected: str, explained: Explained) -> None:
    assert explained(f"filebeat.inputs: [{{type: stdin}}]\n{output}")[-1] == expected


def test_it_tells_where_further_inputs_come_from(tmp_path: Path, explained: Explained) -> None:
    (tmp_path / "a.yml").write_text("- {type: log, paths: [/x], enabled: false}\n")
    rules = "path: a*.yml, reload: {enabled: true, period: 90s}"
    lines = explained(f"filebeat.config.inputs: {{{rules}}}\noutput.console: ~\n")
    assert lines[-2:] == [f"inputs from {tmp_path}/a*.yml: 1 file now, checked every 1m30s", "output console"]


def test_it_tells_which_containers_have_inputs(explained: Explained) -> None:
    config = "filebeat.autodiscover.providers: [{type: kubernetes, hints.enabled: true}]\noutput.console: {}\n"
    assert explained(config)[0] == "inputs for kubernetes containers, by 0 templates, and by hints"
