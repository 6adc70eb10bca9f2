import logging

import pytest

from log_shipper.runtime.logs.folding import MAX_CHARACTERS, NEVER, Folding, Message


def message(text: str, template: str = "", level: int = logging.WARNING, source: str = "a.b") -> Message:
    return Message(source, level, template or text, text)


class Log:
    """What a log would contain: messages, and the counts that come between them."""

    def __init__(self, folding: Folding | None = None) -> None:
        self.folding = folding or Folding()
        self.lines: list[str] = []

    def add(self, one: Message, now: float, times: int = 1) -> None:
        for _ in range(times):
            self.wait(now)
            if self.folding.is_logged(one, now):
                self.lines.append(one.text)

    def wait(self, now: float) -> None:
        self.lines += [repeats.text for repeats in self.folding.take_due(now)]


@pytest.fixture
def log() -> Log:
    return Log()


def test_the_first_message_is_logged_at_once_and_repeats_once_a_minute_with_their_count(log: Log) -> None:
    log.add(message("down"), 0.0)
    log.add(message("down"), 1.0, times=41)
    assert (log.lines, log.folding.due) == (["down"], 60.0)
    log.wait(59.9)
    assert log.lines == ["down"]
    log.wait(60.0)
    assert log.lines == ["down", "down (repeated 41 times in the last 60 s)"]
    log.add(message("down"), 61.0)
    log.wait(120.0)
    assert log.lines[2:] == ["down (repeated 1 time in the last 60 s)"]


def test_a_message_that_was_quiet_for_a_minute_is_new(log: Log) -> None:
    log.add(message("down"), 0.0)
    log.add(message("down"), 60.0)
    assert (log.lines, log.folding.due) == (["down", "down"], NEVER)
    log.add(message("down"), 61.0)
    log.wait(120.0)  # counted in the second minute, and quiet in the third
    log.add(message("down"), 180.0)
    assert log.lines[2:] == ["down (repeated 1 time in the last 60 s)", "down"]


@pytest.mark.parametrize(
    "other",
    [
        message("up"),
        message("down", level=logging.ERROR),
        message("down", source="a.c"),
        Message("a.b", logging.WARNING, "down", "down", "{'view': 'errors'}"),
    ],
)
def test_a_message_with_another_text_level_logger_or_field_is_another_one(other: Message, log: Log) -> None:
    log.add(message("down"), 0.0)
    log.add(other, 1.0)
    assert len(log.lines) == 2


@pytest.mark.parametrize("level", [logging.DEBUG, logging.CRITICAL])
def test_what_was_asked_for_and_what_ends_the_program_is_never_folded(level: int, log: Log) -> None:
    log.add(message("one", level=level), 0.0, times=3)
    assert log.lines == ["one"] * 3


def test_of_warnings_that_differ_in_their_arguments_some_are_logged_and_the_others_counted() -> None:
    log = Log(Folding(rate=3))
    for number in range(10):
        log.add(message(f"{number} is bad", "%s is bad"), 0.1 * number)
    assert log.lines == ["0 is bad", "1 is bad", "2 is bad"]
    log.add(message("0 is bad", "%s is bad"), 2.0)  # this very one was logged
    log.wait(62.0)
    assert log.lines[3:] == [
        "9 is bad (last of 7 similar messages in the last 62 s)",
        "0 is bad (repeated 1 time in the last 62 s)",
    ]


def test_after_a_minute_of_a_flood_there_are_examples_again() -> None:
    log = Log(Folding(rate=1))
    for number in range(3):
        log.add(message(f"{number} is bad", "%s is bad"), 60.0 * number)
        log.add(message(f"{number}, too, is bad", "%s is bad"), 60.0 * number + 1)
    assert [line for line in log.lines if "similar" not in line] == ["0 is bad", "1 is bad", "2 is bad"]


def test_information_that_differs_is_never_counted_together() -> None:
    log = Log(Folding(rate=1))
    for number in range(3):
        log.add(message(f"new file {number}", "new file %s", logging.INFO), 0.0)
    assert len(log.lines) == 3


def test_the_end_of_an_incident_logs_the_counts_of_its_package_and_the_next_one_is_new(log: Log) -> None:
    for one in (message("down"), message("also down", source="a.c"), message("slow", source="ab")):
        log.add(one, 0.0, times=3)
    assert [repeats.text for repeats in log.folding.take_ended("a.b", 7.0)] == [
        "down (repeated 2 times in the last 7 s)",
        "also down (repeated 2 times in the last 7 s)",
    ]
    log.add(message("down"), 8.0)
    assert log.lines == ["down", "also down", "slow", "down"]
    assert log.folding.due == 60.0  # of the one that is slow


def test_the_end_of_the_log_has_all_counts(log: Log) -> None:
    log.add(message("down"), 0.0, times=3)
    log.add(message("up"), 0.0)
    assert [repeats.text for repeats in log.folding.take_all(0.2)] == ["down (repeated 2 times in the last 1 s)"]
    assert log.folding.take_all(0.3) == []
    assert log.folding.due == NEVER


def test_a_few_messages_are_remembered_and_no_count_is_lost_with_those_that_are_forgotten() -> None:
    log = Log(Folding(max_messages=10, rate=10**6))
    log.add(message("first"), 0.0, times=3)
    for number in range(20):
        log.add(message(str(number)), 1.0)
    assert "first (repeated 2 times in the last 1 s)" in log.lines
    log.add(message("first"), 2.0)
    assert log.lines[-1] == "first"


def test_a_long_text_is_remembered_in_part(log: Log) -> None:
    text = "x" * 10 * MAX_CHARACTERS
    log.add(message(text), 0.0, times=2)
    (repeats,) = log.folding.take_all(1.0)
    assert log.lines == [text]
    assert repeats.text == f"{'x' * MAX_CHARACTERS}... (repeated 1 time in the last 1 s)"
