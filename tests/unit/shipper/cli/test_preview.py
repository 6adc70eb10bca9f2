import json
import re
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest

from log_shipper.config.yaml.load import load
from log_shipper.shipper.cli.preview import Preview, chosen
from log_shipper.shipper.clock import SystemClock
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.options.model import ShipperConfig
from log_shipper.shipper.processor.base import ProcessorContext
from log_shipper.shipper.processor.caches import Caches
from tests.builders import AGENT


class Previewer(Protocol):
    def __call__(
        self, input: str, content: bytes, processors: str = "[]", path: str = "-", *, whole: bool = False
    ) -> list[str]:
        """Return the lines printed for this content; `input` and `processors` are YAML."""


@pytest.fixture
def preview(tmp_path: Path) -> Previewer:
    def preview(
        input: str, content: bytes, processors: str = "[]", path: str = "-", *, whole: bool = False
    ) -> list[str]:
        file = tmp_path / "shipper.yml"
        file.write_text(
            f"filebeat.inputs: [{{type: filestream, id: a, paths: [/x], {input}}}]\n"
            f"processors: {processors}\noutput.console: ~"
        )
        config = load(file, ShipperConfig, env={})
        context = ProcessorContext(AGENT, Path(tmp_path), Metrics(), SystemClock(), Caches(SystemClock()))
        return list(Preview(config, config.file_inputs[0], context, path, whole=whole).render(content))

    return preview


def shown(lines: list[str]) -> Iterator[str | tuple[str, int, int]]:
    """Return the lines unchanged; of an event its message, offset and length."""
    for line in lines:
        head, arrow, record = line.partition("-> ")
        event = json.loads(record) if arrow else {}
        yield (event["message"], event["log"]["offset"], event["log"]["length"]) if event else head.strip()


def test_the_readmes_configuration_keeps_a_trace_of_python_whole(tmp_path: Path) -> None:
    try:
        try:
            raise OSError("no route")
        except OSError as error:
            raise KeyError("order") from error  # two traces, with empty lines and a sentence between them
    except KeyError:
        trace = f"2026-11-27 06:31:02,118 ERROR failed\n{traceback.format_exc()}"
    readme = (Path(__file__).parents[4] / "README.md").read_text()
    (tmp_path / "shipper.yml").write_text(next(re.finditer(r"```yaml\n(shipper\.inputs:.*?)```", readme, re.DOTALL))[1])
    config = load(tmp_path / "shipper.yml", ShipperConfig, env={})
    context = ProcessorContext(AGENT, tmp_path, Metrics(), SystemClock(), Caches(SystemClock()))
    lines = Preview(config, config.file_inputs[0], context, "-").render(
        f"{trace}2026-11-27 06:31:03 INFO ready\n".encode()
    )
    events = [line[0] for line in shown(list(lines)) if isinstance(line, tuple)]
    assert events == [trace.rstrip("\n"), "2026-11-27 06:31:03 INFO ready"]


MULTILINE = r"parsers: [{multiline: {pattern: '^\s', match: after}}]"


def test_each_message_is_shown_below_its_lines(preview: Previewer) -> None:
    assert list(shown(preview(MULTILINE, b"one\n  two\n\nthree\nlast"))) == [
        "1 | one",
        "2 |   two",
        ("one\n  two", 0, 10),
        "3 |",
        "-- no event: an empty line",
        "4 | three",
        ("three", 11, 6),
        "5 | last",
        ("last", 17, 4),
    ]


@pytest.mark.parametrize(
    ("options", "processors", "why"),
    [
        ("include_lines: [x]", "[]", "no pattern of include_lines matches"),
        ("exclude_lines: [DBG]", "[]", "a pattern of exclude_lines matches"),
        ("parsers: [{include_message.patterns: [x]}]", "[]", "parser 1, include_message, dropped it"),
        ("processors: [{add_locale: ~}, {drop_event: ~}]", "[]", "processor 2, drop_event, dropped it"),
        ("processors: [{add_locale: ~}]", "[{drop_event: ~}]", "processor 2, drop_event, dropped it"),
        ("", "[{if: {contains.message: DBG}, then: [{drop_event: ~}]}]", "processor 1, if, dropped it"),
    ],
)
def test_of_a_line_without_an_event_it_says_who_left_it_out(
    options: str, processors: str, why: str, preview: Previewer
) -> None:
    assert preview(options, b"DBG\n", processors) == ["     1 | DBG", f"       -- no event: {why}"]


def test_processors_are_at_work_and_what_is_the_same_for_all_is_shown_on_demand(preview: Previewer) -> None:
    (_, line) = preview("processors: [{add_fields: {target: '', fields: {n: 1}}}]", b"one\n")
    assert json.loads(line.partition("-> ")[2]).keys() == {"@timestamp", "message", "log", "n"}
    (_, line) = preview("", b"one\n", whole=True, path="/var/log/x.log")
    event = json.loads(line.partition("-> ")[2])
    assert event["agent"]["id"] == AGENT.id
    assert event["log"]["file"]["path"] == "/var/log/x.log"


def test_the_path_is_what_conditions_see(preview: Previewer) -> None:
    drop = "processors: [{drop_event.when.contains.log.file.path: nginx}]"
    assert "no event" in preview(drop, b"x\n", path="/var/log/nginx.log")[-1]
    assert "no event" not in preview(drop, b"x\n", path="/var/log/app.log")[-1]


def test_lines_are_read_in_the_encoding_of_the_input(preview: Previewer) -> None:
    lines = preview("encoding: utf-16le", "é\nz\n".encode("utf-16-le"))
    assert list(shown(lines)) == ["1 | é", ("é", 0, 4), "2 | z", ("z", 4, 4)]


def test_nothing_gives_nothing(preview: Previewer) -> None:
    assert preview("", b"") == []


def test_what_would_make_a_terminal_do_something_is_spelt_out(preview: Previewer) -> None:
    assert preview("", "a\0b\x1b[31m\tü\n".encode())[0] == "     1 | a\\x00b\\x1b[31m\tü"


@pytest.mark.parametrize(
    ("wanted", "path", "id", "why"),
    [
        ("b", "-", "b", ""),
        ("off", "/var/log/nginx/access.log", "off", ""),
        (None, "-", "a", "input a, the first of 3; choose another with --input ID or --path PATH"),
        (None, "/var/log/nginx/access.log", "b", "input b, whose paths match /var/log/nginx/access.log"),
        (None, "/srv/x/y/z/app.log", "c", "input c, whose paths match /srv/x/y/z/app.log"),
        (None, "/srv/app.txt", "a", "input a, the first of 3; choose another with --input ID or --path PATH"),
    ],
)
def test_the_input_is_that_of_the_id_or_of_the_path_or_the_first(
    tmp_path: Path, wanted: str | None, path: str, id: str, why: str
) -> None:
    inputs = {"off": "/var/log/nginx/*.log", "a": "/var/log/app.log", "b": "/var/log/*/*.log", "c": "/srv/**/*.log"}
    items = ", ".join(f"{{id: {id}, paths: ['{path}'], enabled: {id != 'off'}}}" for id, path in inputs.items())
    (file := tmp_path / "shipper.yml").write_text(f"filebeat.inputs: [{items}]\noutput.console: ~")
    selected, reason = chosen(load(file, ShipperConfig, env={}), wanted, path)
    assert (selected.id, reason) == (id, why)


def test_an_unknown_input_is_reported_with_the_known_ones(tmp_path: Path) -> None:
    (file := tmp_path / "shipper.yml").write_text("filebeat.inputs: [{id: a, paths: [/x]}]\noutput.console: ~")
    with pytest.raises(StartError, match="no input has the id 'b'; ids are: a"):
        chosen(load(file, ShipperConfig, env={}), "b", "-")


def test_inputs_of_files_that_are_all_disabled_are_named(tmp_path: Path) -> None:
    (file := tmp_path / "shipper.yml").write_text(
        "filebeat.inputs: [{id: a, paths: [/x], enabled: false}, {type: udp, host: 'localhost:9'}]\noutput.console: ~"
    )
    config = load(file, ShipperConfig, env={})
    with pytest.raises(StartError, match=r"no file input is enabled; choose one with --input ID: a$"):
        chosen(config, None, "-")
    assert chosen(config, "a", "-")[0].id == "a"


def test_a_warning_is_given_once(preview: Previewer, caplog: pytest.LogCaptureFixture) -> None:
    preview("parsers: [{ndjson: ~}], include_lines: [x]", b"no JSON\n", "[{add_locale: ~}]")
    assert len(caplog.messages) == 1
