"""What is logged of a reload; tests/model/test_reload.py has what it does to files."""

import json
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from log_shipper.config.yaml.load import load
from log_shipper.shipper.agent.inputs import InputFactory
from log_shipper.shipper.agent.reload import RELOADED, ConfigSource, Reloader, changed_options, difference, log_findings
from log_shipper.shipper.autodiscover.base import DiscoveredInput
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.inputs.files.reading.factory import Input
from log_shipper.shipper.options.included import ConfigInputs, ReloadConfig
from log_shipper.shipper.options.model import InputConfig, OutputConfig, ShipperConfig
from log_shipper.shipper.outputs.console import ConsoleOutputConfig
from tests.builders import AGENT, input_config
from tests.fakes import ManualClock


def an_input(name: str) -> Input:
    return Input(InputConfig(id=name, paths=("x",)), AGENT, {}, 1000, ManualClock(), print)


A, B, C = map(an_input, "abc")


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ([A], [A, B], "1 input added, 1 unchanged"),
        ([], [A, B], "2 inputs added"),
        ([A, B, C], [C, an_input("b"), an_input("d")], "1 input added, 1 removed, 1 changed, 1 unchanged"),
        ([A, B], [], "2 inputs removed"),
        ([A, B], [B, A], "2 inputs unchanged"),
        ([], [], "0 inputs left"),
    ],
)
def test_the_difference_is_logged_in_numbers(before: list[Input], after: list[Input], words: str) -> None:
    assert difference(before, after) == words


KAFKA = {"hosts": ["h:1"], "topic": "t"}
BASE = {"output.kafka": KAFKA, "http": {"enabled": True}, "tags": ["a"]}


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({"http": {"enabled": True, "port": 5067, "host": "0.0.0.0"}}, ["http.host", "http.port"]),
        (
            {"output.kafka": {**KAFKA, "hosts": ["h:2"], "backoff.init": "2s"}},
            ["output.kafka.hosts", "output.kafka.backoff.init"],
        ),
        (
            {"output.kafka": {**KAFKA, "enabled": False}, "output.file.path": "/x"},
            ["output.kafka.enabled", "output.file"],
        ),
        ({"queue.mem.events": 7, "shipper.registry.flush": "2s"}, ["queue.mem.events", "shipper.registry.flush"]),
        ({"tags": ["b"]}, []),
    ],
)
def test_options_that_changed_have_their_whole_names(changes: dict[str, Any], names: list[str], tmp_path: Path) -> None:
    def read(options: dict[str, Any]) -> ShipperConfig:
        file = tmp_path / "shipper.yml"
        inputs = [{"type": "filestream", "id": "a", "paths": ["/x"]}]
        file.write_text(json.dumps({"shipper.inputs": inputs, **options}))
        return load(file, ShipperConfig)

    assert changed_options(read(BASE), read(BASE | changes), RELOADED) == names


class Made:
    """The `InputFactory` of a test: one, whatever the configuration."""

    def build(self, config: ShipperConfig, discovered: Sequence[DiscoveredInput] = ()) -> list[Input]:
        return [A]


def test_while_standard_input_is_read_nothing_is_read_again(caplog: pytest.LogCaptureFixture) -> None:
    def read() -> ShipperConfig:
        raise AssertionError("it is not asked for")

    config = ShipperConfig(inputs=(input_config(),), output=OutputConfig(console=ConsoleOutputConfig()))
    is_requested = iter([False, True])
    reading = ConfigSource(read, lambda: next(is_requested), start=lambda work: work())
    reloader = Reloader(config, reading, cast("InputFactory", Made()), None, ManualClock())
    caplog.set_level(logging.INFO)
    reloader.step()
    assert caplog.messages == []
    reloader.step()
    assert caplog.messages == ["the configuration is not reloaded: options of stdin cannot change while it is read"]


class Reports:
    """What a reload reports, and the text of its mistake."""

    def __init__(self, mistake: str = "") -> None:
        self.reports: list[bool] = []
        self.requests = [True, False]
        self.mistake = mistake

    def reloader(self, config: ShipperConfig, clock: ManualClock) -> Reloader:
        def read() -> ShipperConfig:
            if self.mistake:
                raise StartError(self.mistake)
            return config

        reading = ConfigSource(read, lambda: self.requests.pop(0), start=self.start, report=self.reports.append)
        return Reloader(config, reading, cast("InputFactory", Made()), lambda inputs: None, clock)

    def start(self, work: Callable[[], None]) -> None:
        self.work = work


@pytest.mark.parametrize("mistake", ["", "there is a mistake"])
def test_a_reload_on_request_is_reported_when_it_begins_and_when_it_was_taken_or_refused(mistake: str) -> None:
    config = ShipperConfig(inputs=(input_config(),), output=OutputConfig(console=ConsoleOutputConfig()))
    reports = Reports(mistake)
    reloader = reports.reloader(config, ManualClock())
    reloader.step()
    assert reports.reports == [True]
    reloader.step()
    assert reports.reports == [True], "it is still being read"
    reports.work()
    reloader.step()
    assert reports.reports == [True, False]
    assert (reloader.reloads.ok, reloader.reloads.failed) == ((0, 1) if mistake else (1, 0))
    assert reloader.reloads.is_refused is bool(mistake)


def test_a_look_at_included_files_is_not_a_reload() -> None:
    included = ConfigInputs(path="/nowhere/*.yml", reload=ReloadConfig(enabled=True))
    output = OutputConfig(console=ConsoleOutputConfig())
    config = ShipperConfig(inputs=(input_config(),), output=output, config_inputs=included)
    reports, clock = Reports(), ManualClock()
    reports.requests = [False]
    reloader = reports.reloader(config, clock)
    clock.advance(3600)
    reloader.step()
    reports.work()
    reloader.step()
    assert reports.reports == []


def test_warnings_and_notes_are_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    def read(warnings: tuple[str, ...], notes: tuple[str, ...]) -> ShipperConfig:
        output = OutputConfig(console=ConsoleOutputConfig())
        return ShipperConfig(inputs=(input_config(),), output=output, warnings=warnings, notes=notes)

    caplog.set_level(logging.INFO)
    first = read(("misspelt",), ("ignored",))
    log_findings(first)
    log_findings(read(("misspelt", "misplaced"), ("ignored", "more")), first)
    assert [(record.levelname, record.message) for record in caplog.records] == [
        ("WARNING", "misspelt"),
        ("INFO", "ignored"),
        ("WARNING", "misplaced"),
        ("INFO", "more"),
    ]
