import logging
from collections.abc import Iterator

import pytest

from log_shipper.runtime.logs.recent import MAX_MESSAGES, RecentMessages
from log_shipper.shipper.monitor.composition import errors_log

logger = logging.getLogger(__name__)


@pytest.fixture
def errors() -> Iterator[RecentMessages]:
    handler = errors_log()
    logger.addHandler(handler)
    yield handler
    logger.removeHandler(handler)


def test_warnings_and_errors_are_kept_newest_first(errors: RecentMessages) -> None:
    logger.warning("careful with %s", "it")
    logger.info("all is well")
    logger.error("broken")
    assert [(line.level, line.message, line.count) for line in errors.newest_first()] == [
        ("error", "broken", 1),
        ("warning", "careful with it", 1),
    ]


def test_repeats_are_folded_also_if_their_numbers_differ(errors: RecentMessages) -> None:
    for seconds in (1, 2, 30):
        logger.warning("no answer for %d s", seconds)
        logger.error("another")
    assert [(line.message, line.count) for line in errors.newest_first()] == [("another", 3), ("no answer for 30 s", 3)]


def test_the_same_words_of_another_level_are_another_line(errors: RecentMessages) -> None:
    logger.warning("x")
    logger.error("x")
    assert [line.level for line in errors.newest_first()] == ["error", "warning"]


def test_a_message_of_several_lines_has_one(errors: RecentMessages) -> None:
    logger.error("the configuration has a mistake:\n%s", "a.yml:2: name: is empty\na.yml:3: tags: is empty")
    assert errors.newest_first()[0].message == (
        "the configuration has a mistake: a.yml:2: name: is empty a.yml:3: tags: is empty"
    )


def test_only_the_last_ones_are_kept_and_none_is_endless(errors: RecentMessages) -> None:
    for number in range(MAX_MESSAGES + 5):
        logger.warning("%s", chr(ord("a") + number) * 5000)
    lines = errors.newest_first()
    assert (len(lines), lines[0].message[0], len(lines[0].message)) == (MAX_MESSAGES, "y", 1000)
