import logging

import pytest

from log_shipper.runtime.logs.recent import MAX_MESSAGES, RecentMessages
from log_shipper.spark_sink.monitor.http import MAX_CHARACTERS, recent_problems


@pytest.fixture
def logger() -> logging.Logger:
    logger = logging.Logger("test")
    logger.addHandler(recent_problems())
    return logger


def kept(logger: logging.Logger) -> list[tuple[str, str, int]]:
    (handler,) = logger.handlers
    assert isinstance(handler, RecentMessages)
    return [(problem.level, problem.message, problem.count) for problem in handler.newest_first()]


def test_warnings_and_errors_are_kept_newest_first(logger: logging.Logger) -> None:
    logger.info("landed")
    logger.warning("the view %s", "errors")
    logger.error("the broker")
    assert kept(logger) == [("error", "the broker", 1), ("warning", "the view errors", 1)]


def test_equal_ones_are_counted(logger: logging.Logger) -> None:
    for text in ("a", "b", "a"):
        logger.warning(text)
    assert kept(logger) == [("warning", "a", 2), ("warning", "b", 1)]


def test_the_oldest_are_dropped(logger: logging.Logger) -> None:
    for number in range(MAX_MESSAGES + 5):
        logger.warning("%s", number)
    assert [message for _, message, _ in kept(logger)] == [str(number) for number in range(MAX_MESSAGES + 4, 4, -1)]


def test_what_spark_quotes_of_a_row_is_left_out(logger: logging.Logger) -> None:
    logger.error(
        "the view a (/t) has stopped: SparkNumberFormatException: [CAST_INVALID_INPUT] The value 'my password' of the "
        "type STRING cannot be cast\nto BIGINT"
    )
    ((_, message, _),) = kept(logger)
    assert message == (
        "the view a (/t) has stopped: SparkNumberFormatException: [CAST_INVALID_INPUT] (the log has the rest)"
    )


def test_a_very_long_message_is_cut(logger: logging.Logger) -> None:
    logger.error("x" * 5000)
    ((_, message, _),) = kept(logger)
    assert len(message) == MAX_CHARACTERS + 1
