"""Reading the configuration beside the loop's thread."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from log_shipper.config.yaml.errors import ConfigError, Problem
from log_shipper.shipper.agent.config_reader import ConfigReader, Contents, ReadResult, on_new_thread
from log_shipper.shipper.options.included import ConfigInputs
from log_shipper.shipper.options.model import OutputConfig, ShipperConfig
from log_shipper.shipper.outputs.console import ConsoleOutputConfig
from tests.builders import input_config

CONFIG = ShipperConfig(inputs=(input_config(),), output=OutputConfig(console=ConsoleOutputConfig()))
NO_FILES = ConfigInputs()


def at_once(work: Callable[[], None]) -> None:
    work()


def refuse() -> ShipperConfig:
    raise AssertionError("it is not asked for")


def read_by(read: Callable[[], ShipperConfig], rules: ConfigInputs = NO_FILES) -> ReadResult | None:
    reader = ConfigReader(read, at_once, lambda: None)
    reader.start(rules, None)
    return reader.pop_result()


def raising(error: Exception) -> Callable[[], ShipperConfig]:
    def read() -> ShipperConfig:
        raise error

    return read


@pytest.fixture
def rules(tmp_path: Path) -> ConfigInputs:
    (tmp_path / "a.yml").write_text("[]")
    return ConfigInputs(path=f"{tmp_path}/*.yml")


def test_the_caller_continues_until_it_is_done() -> None:
    gate, done = threading.Event(), threading.Event()

    def read() -> ShipperConfig:
        assert gate.wait(60)
        return CONFIG

    reader = ConfigReader(read, on_new_thread, done.set)
    reader.start(NO_FILES, None)
    assert reader.pending
    assert reader.pop_result() is None
    gate.set()
    assert done.wait(60)
    assert reader.pop_result() == ReadResult({}, CONFIG)
    assert not reader.pending
    assert reader.pop_result() is None


def test_nothing_is_read_if_the_files_are_unchanged(rules: ConfigInputs) -> None:
    reader = ConfigReader(refuse, at_once, lambda: None)
    reader.start(rules, rules.contents())
    assert reader.pop_result() == ReadResult(rules.contents())


def test_a_change_of_the_files_and_a_request_are_reasons_to_read(rules: ConfigInputs) -> None:
    config = replace(CONFIG, config_inputs=rules)
    nothing: Contents = {}
    for before in (nothing, None):
        reader = ConfigReader(lambda: config, at_once, lambda: None)
        reader.start(rules, before)
        assert reader.pop_result() == ReadResult(rules.contents(), config)


def test_files_that_count_from_now_on_are_looked_at_before_they_are_read(rules: ConfigInputs, tmp_path: Path) -> None:
    config = replace(CONFIG, config_inputs=rules)
    before = rules.contents()

    def changing() -> Iterator[ShipperConfig]:
        yield config
        (tmp_path / "a.yml").write_text("changed after it was looked at")
        yield config

    reads = changing()
    assert read_by(lambda: next(reads)) == ReadResult(before, config)
    assert rules.contents() != before


def test_a_mistake_is_handed_over_in_words() -> None:
    result = read_by(raising(ConfigError([Problem("a.yml", 3, "tags", "is wrong")])))
    assert result == ReadResult({}, mistake="a.yml:3: tags: is wrong")


def test_an_unexpected_error_is_logged_and_is_a_mistake(caplog: pytest.LogCaptureFixture) -> None:
    assert read_by(raising(RecursionError("too deep"))) == ReadResult(
        {}, mistake="unexpected error: RecursionError('too deep')"
    )
    assert "unexpected error while reading the configuration" in caplog.text


def test_where_no_thread_can_be_started_the_next_look_may_find_one() -> None:
    def refused(work: Callable[[], None]) -> None:
        raise RuntimeError("can't start new thread")

    reader = ConfigReader(refuse, refused, lambda: None)
    reader.start(NO_FILES, None)
    assert reader.pop_result() == ReadResult({}, mistake="cannot be read: can't start new thread")
    assert not reader.pending
