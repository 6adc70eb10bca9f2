"""The parsers ndjson and include_message, and json.* of the older inputs."""

from typing import Any

import pytest

from log_shipper.shipper.options.model import ShipperConfig
from log_shipper.shipper.parsers.include_message import IncludeMessageConfig
from log_shipper.shipper.parsers.multiline import MultilineConfig
from log_shipper.shipper.parsers.ndjson import NdjsonConfig
from log_shipper.shipper.reader.base import ParserConfig
from tests.config_lab import ConfigLab

ALL: dict[str, Any] = {
    "overwrite_keys": True,
    "expand_keys": True,
    "add_error_key": True,
    "message_key": "msg",
    "document_id": "a.id",
    "ignore_decoding_error": True,
}
NO_OBJECT = "is not an object; choose another field"
WRITTEN = ", ".join(f"{name}: {str(value).lower()}" for name, value in ALL.items())


def load(lab: ConfigLab, option: str, kind: str = "filestream") -> ShipperConfig:
    return lab.load(f"shipper.inputs:\n- {{type: {kind}, id: a, paths: [x], {option}}}\noutput.console:\n")


def problems(lab: ConfigLab, option: str, kind: str = "filestream") -> list[str]:
    return lab.problems(f"shipper.inputs:\n- {{type: {kind}, id: a, paths: [x], {option}}}\noutput.console:\n")


@pytest.mark.parametrize(
    ("written", "parsers"),
    [
        ("ndjson:", (NdjsonConfig(),)),
        ("ndjson: {target: ''}", (NdjsonConfig(),)),
        ("ndjson.target: k8s.audit", (NdjsonConfig(target="k8s.audit"),)),
        (f"ndjson: {{{WRITTEN}}}", (NdjsonConfig(**ALL),)),
        ("include_message.patterns: ['^ERR', '^WARN']", (IncludeMessageConfig(patterns=("^ERR", "^WARN")),)),
        ("include_message: {patterns: x}, ndjson:", None),
    ],
)
def test_a_parser_is_read(lab: ConfigLab, written: str, parsers: tuple[ParserConfig, ...] | None) -> None:
    if parsers is None:
        assert "found 2: include_message, ndjson" in problems(lab, f"parsers: [{{{written}}}]")[0]
    else:
        assert load(lab, f"parsers: [{{{written}}}]").inputs[0].parsers == parsers


@pytest.mark.parametrize(
    ("written", "where", "message"),
    [
        ("ndjson: {targe: x}", "ndjson.targe", "unknown option; did you mean 'target'?"),
        ("ndjson: {target: '@timestamp'}", "ndjson.target", f"'@timestamp' {NO_OBJECT}"),
        ("ndjson: {target: message.x}", "ndjson.target", f"'message' {NO_OBJECT}"),
        ("ndjson: {target: a..b}", "ndjson.target", "'a..b' has an empty name between its dots"),
        ("ndjson: {field: x}", "ndjson.field", "not supported; the message is always the field that is decoded"),
        ("ndjson: {overwrite_keys: perhaps}", "ndjson.overwrite_keys", "'perhaps' must be true or false"),
        ("include_message:", "include_message.patterns", "missing"),
        ("include_message.patterns: []", "include_message.patterns", "must not be empty"),
    ],
)
def test_a_mistake_in_a_parser_is_named(lab: ConfigLab, written: str, where: str, message: str) -> None:
    assert problems(lab, f"parsers: [{{{written}}}]") == [
        f"shipper.yml:2: shipper.inputs[0].parsers[0].{where}: {message}"
    ]


def test_a_pattern_that_cannot_be_is_named(lab: ConfigLab) -> None:
    (problem,) = problems(lab, "parsers: [include_message.patterns: [x, '(']]")
    assert problem.startswith("shipper.yml:2: shipper.inputs[0].parsers[0].include_message.patterns[1]: '(' is not a")


def test_the_target_selects_where_keys_are_written(lab: ConfigLab) -> None:
    config = load(lab, "parsers: [ndjson: {keys_under_root: true}]")
    assert config.inputs[0].parsers == (NdjsonConfig(),)
    assert [note.partition(" (")[0] for note in config.notes] == [
        "ignored: shipper.inputs[0].parsers[0].ndjson.keys_under_root"
    ]


@pytest.mark.parametrize("kind", ["log", "container"])
@pytest.mark.parametrize(
    ("written", "parser"),
    [
        ("json: {keys_under_root: true}", NdjsonConfig()),
        ("json.keys_under_root: false", NdjsonConfig(target="json")),
        ("json.message_key: log", NdjsonConfig(target="json", message_key="log")),
        (f"json: {{keys_under_root: true, {WRITTEN}}}", NdjsonConfig(**ALL)),
        ("json:", None),
        ("json: {}", NdjsonConfig(target="json")),
        ("json: {overwrite_keys: false}", NdjsonConfig(target="json")),
    ],
)
def test_the_older_json_becomes_the_parser(
    lab: ConfigLab, kind: str, written: str, parser: NdjsonConfig | None
) -> None:
    parsers = load(lab, written, kind).inputs[0].parsers
    assert [each for each in parsers if isinstance(each, NdjsonConfig)] == ([] if parser is None else [parser])


def test_the_older_json_comes_before_multiline(lab: ConfigLab) -> None:
    first, second = load(lab, "multiline.pattern: x, json.message_key: log", "log").inputs[0].parsers
    assert isinstance(first, NdjsonConfig)
    assert isinstance(second, MultilineConfig)
    assert second.pattern == "x"


@pytest.mark.parametrize("kind", ["log", "container", "stdin"])
@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("multiline.pattern: x", "multiline"),
        ("include_lines: [x]", "include_lines"),
        ("exclude_lines: [x]", "exclude_lines"),
    ],
)
def test_what_works_on_the_message_needs_a_message_key(lab: ConfigLab, kind: str, written: str, name: str) -> None:
    paths = "" if kind == "stdin" else "paths: [x], "
    text = "shipper.inputs:\n- {{type: {}, {}{}, json: {{{}}}}}\noutput.console:\n"
    assert lab.problems(text.format(kind, paths, written, "keys_under_root: true")) == [
        f"shipper.yml:2: shipper.inputs[0].json.message_key: missing; {name} needs the JSON member that holds "
        f"the message, as in 'message_key: log'"
    ]
    assert len(lab.load(text.format(kind, paths, written, "message_key: log")).inputs) == 1
    assert len(lab.load(text.format(kind, paths, "tags: [x]", "keys_under_root: true")).inputs) == 1


def test_the_parsers_of_a_filestream_may_be_in_any_order_without_a_message_key(lab: ConfigLab) -> None:
    """As in Filebeat, which does not look at them."""
    assert len(load(lab, "parsers: [ndjson: {}, multiline.pattern: x], include_lines: [x]").inputs[0].parsers) == 2


def test_the_older_json_has_no_target(lab: ConfigLab) -> None:
    (problem,) = problems(lab, "json.target: x", "log")
    assert problem.startswith("shipper.yml:2: shipper.inputs[0].json.target: unknown option")
