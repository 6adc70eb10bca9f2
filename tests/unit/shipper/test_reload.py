"""What is logged of a reload; tests/model/test_reload.py has what it does to files."""

import logging
from typing import cast

import pytest

from config.shipper.model import ConsoleOutputConfig, InputConfig, OutputConfig, ShipperConfig
from shipper.inputs import InputFactory
from shipper.reload import ConfigSource, Reloader, difference, log_findings
from shipper.source.reading.factory import Input
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


class Made:
    """The `InputFactory` of a test: one, whatever the configuration."""

    def build(self, config: ShipperConfig) -> list[Input]:
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
    assert caplog.messages == [
        "the configuration is not reloaded: the agent reads standard input, whose options cannot change"
    ]


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
