"""The parsers `container` and `syslog` as they are written."""

import pytest

from log_shipper.shipper.parsers.container import ContainerConfig
from log_shipper.shipper.parsers.syslog import SyslogParserConfig
from log_shipper.shipper.reader.base import ParserConfig
from tests.config_lab import ConfigLab

INPUT = "shipper.inputs:\n- id: app\n  paths: [x]\n  parsers:\n{parsers}\noutput.console:\n"


def parsers(lab: ConfigLab, *items: str) -> tuple[ParserConfig, ...]:
    return lab.load(INPUT.format(parsers="\n".join(f"  - {item}" for item in items))).inputs[0].parsers


def test_both_need_nothing(lab: ConfigLab) -> None:
    assert parsers(lab, "container:", "syslog: {}") == (
        ContainerConfig(stream="all", format="auto"),
        SyslogParserConfig(format="auto", timezone="Local", log_errors=False, add_error_key=True),
    )


def test_options_of_both(lab: ConfigLab) -> None:
    first, second = parsers(
        lab,
        "container: {stream: stdout, format: json-file}",
        "syslog: {format: rfc3164, timezone: America/Chicago, log_errors: true, add_error_key: false}",
    )
    assert first == ContainerConfig(stream="stdout", format="json-file")
    assert second == SyslogParserConfig(
        format="rfc3164", timezone="America/Chicago", log_errors=True, add_error_key=False
    )


@pytest.mark.parametrize(("stream", "other"), [("stdout", "stderr"), ("stderr", "stdout")])
@pytest.mark.parametrize("text", ["id: app\n  parsers: [container: {{stream: {}}}]", "type: container\n  stream: {}"])
def test_who_asks_for_one_stream_is_reported_that_the_other_is_dropped(
    lab: ConfigLab, stream: str, other: str, text: str
) -> None:
    config = lab.load(f"shipper.inputs:\n- paths: [x]\n  {text.format(stream)}\noutput.console:\n")
    (note,) = config.notes
    assert "stream (" in note
    assert f"lines of {other} are dropped; a file belongs to one input, so no other input can ship them" in note


def test_who_asks_for_both_is_reported_nothing(lab: ConfigLab) -> None:
    assert lab.load("shipper.inputs:\n- {paths: [x], type: container}\noutput.console:\n").notes == ()


@pytest.mark.parametrize(
    ("item", "problem"),
    [
        ("container: {stream: stdin}", "container.stream: 'stdin' must be one of: all, stdout, stderr"),
        ("container: {format: json}", "container.format: 'json' must be one of: auto, docker, json-file, cri"),
        ("container: {streams: all}", "container.streams: unknown option; did you mean 'stream'?"),
        ("syslog: {format: rfc5425}", "syslog.format: 'rfc5425' must be one of: auto, rfc3164, rfc5424"),
        ("syslog: {timezone: Mars}", "syslog.timezone: 'Mars' is not a time zone; write a name such as Europe/Berlin"),
    ],
)
def test_mistakes_in_them(lab: ConfigLab, item: str, problem: str) -> None:
    (reported,) = lab.problems(INPUT.format(parsers=f"  - {item}"))
    assert f"shipper.inputs[0].parsers[0].{problem}" in reported
