import json
import logging
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from log_shipper.runtime.logs.folding import EACH, END
from log_shipper.runtime.logs.folding_handler import FoldingHandler
from log_shipper.runtime.logs.formatters import STATUS_LINE, JsonFormatter


class Target(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.closed = False

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))

    def close(self) -> None:
        self.closed = True
        super().close()


@dataclass
class Time:
    """The clock and the alarms of a handler."""

    now: float = 0.0
    alarms: dict[int, tuple[float, Callable[[], None]]] = field(default_factory=dict)

    def monotonic(self) -> float:
        return self.now

    def later(self, seconds: float, call: Callable[[], None]) -> "Alarm":
        alarm = Alarm(self)
        self.alarms[id(alarm)] = self.now + seconds, call
        return alarm

    def advance(self, seconds: float) -> None:
        self.now += seconds
        for key, (due, call) in list(self.alarms.items()):
            if due <= self.now:
                del self.alarms[key]
                call()


@dataclass(eq=False)
class Alarm:
    time: Time

    def cancel(self) -> None:
        self.time.alarms.pop(id(self), None)


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def target() -> Target:
    return Target()


@pytest.fixture
def log(time: Time, target: Target) -> Iterator[logging.Logger]:
    handler = FoldingHandler([target], time.monotonic, time.later)
    logger = logging.Logger("log_shipper.shipper.output.kafka")
    logger.addHandler(handler)
    yield logger
    handler.close()


def test_a_count_is_logged_although_no_other_message_comes(log: logging.Logger, time: Time, target: Target) -> None:
    for _ in range(42):
        log.warning("%s is down", "kafka-1")
    assert target.lines == ["kafka-1 is down"]
    time.advance(60)
    assert target.lines[1:] == ["kafka-1 is down (repeated 41 times in the last 60 s)"]
    time.advance(600)
    assert (len(target.lines), time.alarms) == (2, {})


def test_an_alarm_is_set_for_the_count_that_is_due_first(log: logging.Logger, time: Time, target: Target) -> None:
    log.warning("one")
    time.advance(10)
    log.warning("two")
    log.warning("two")  # due at 70
    log.warning("one")  # due at 60
    assert [due for due, _ in time.alarms.values()] == [60]
    time.advance(50)
    assert target.lines[2:] == ["one (repeated 1 time in the last 60 s)"]
    time.advance(10)
    assert target.lines[3:] == ["two (repeated 1 time in the last 60 s)"]


def test_the_end_of_an_incident_is_logged_behind_its_count_and_the_next_one_at_once(
    log: logging.Logger, target: Target
) -> None:
    for _ in range(2):
        log.warning("down")
        log.warning("down")
        log.info("works again", extra=END)
    one = ["down", "down (repeated 1 time in the last 1 s)", "works again"]
    assert target.lines == one * 2


def test_what_answers_a_person_is_logged_each_time(log: logging.Logger, target: Target) -> None:
    for _ in range(2):
        log.error("the configuration has a mistake", extra=EACH)
    assert len(target.lines) == 2


def test_messages_with_other_fields_are_others_and_the_status_line_is_no_message(
    log: logging.Logger, target: Target
) -> None:
    for number in (1, 2, 2):
        log.info("batch", extra={"rows": number})
    for _ in range(2):
        log.info("batch", extra={STATUS_LINE: "batch 1"})
    assert len(target.lines) == 4


def test_messages_with_other_exceptions_are_others(log: logging.Logger, target: Target) -> None:
    for reason in ("one", "two", "two"):
        try:
            raise ValueError(reason)
        except ValueError:
            log.exception("it failed")
    assert len(target.lines) == 2


def test_a_count_is_a_field_of_the_json_line_and_a_mark_is_none(
    log: logging.Logger, time: Time, target: Target
) -> None:
    target.setFormatter(JsonFormatter())
    log.warning("down", extra=EACH)
    log.warning("down")
    log.warning("down")
    time.advance(60)
    marked, _, repeated = map(json.loads, target.lines)
    assert (repeated["repeated"], repeated["log.level"], repeated["log.logger"]) == (
        1,
        "warning",
        "log_shipper.shipper.output.kafka",
    )
    assert marked.keys() == repeated.keys() - {"repeated"}


def test_a_message_whose_arguments_do_not_fit_is_left_to_the_target(log: logging.Logger, target: Target) -> None:
    with pytest.raises(TypeError):
        log.warning("%d is bad", "x")


def test_at_the_end_counts_are_logged_and_targets_closed(log: logging.Logger, time: Time, target: Target) -> None:
    log.warning("down")
    log.warning("down")
    log.handlers[0].close()
    assert target.lines == ["down", "down (repeated 1 time in the last 1 s)"]
    assert target.closed
    assert time.alarms == {}


def test_the_real_alarm_is_a_thread_that_does_not_keep_the_program_alive(target: Target) -> None:
    handler, others = FoldingHandler([target]), threading.enumerate()
    for _ in range(2):
        handler.handle(logging.makeLogRecord({"levelno": logging.WARNING, "msg": "down"}))
    timers = [thread for thread in threading.enumerate() if thread not in others]
    handler.close()
    assert [timer.daemon for timer in timers] == [True]
    for timer in timers:
        timer.join(30)
        assert not timer.is_alive()


def test_many_threads_lose_no_message(target: Target) -> None:
    handler = FoldingHandler([target])

    def log() -> None:
        for _ in range(1000):
            handler.handle(logging.makeLogRecord({"levelno": logging.WARNING, "msg": "down"}))

    threads = [threading.Thread(target=log) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    handler.close()
    assert target.lines[0] == "down"
    assert target.lines[1].startswith("down (repeated 3,999 times in the last ")


class Unreadable:
    def __str__(self) -> str:
        raise LookupError("it has no text")


def test_a_message_without_a_text_reaches_the_target_which_reports_it(
    time: Time, capsys: pytest.CaptureFixture[str]
) -> None:
    logger = logging.Logger("shipper")
    logger.addHandler(FoldingHandler([logging.StreamHandler()], time.monotonic, time.later))
    logger.warning("%s is down", Unreadable())
    assert "LookupError: it has no text" in capsys.readouterr().err
