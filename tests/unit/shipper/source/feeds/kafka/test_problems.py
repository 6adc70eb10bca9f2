"""What keeps the input from reading, in words."""

import pytest
from confluent_kafka import KafkaError

from config.shipper.feeds.kafka import KafkaInputConfig
from shipper.source.feeds.kafka.problems import Problems
from tests.fakes import ManualClock

FORBIDDEN = KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)


@pytest.fixture
def problems(clock: ManualClock) -> Problems:
    return Problems(KafkaInputConfig(id="in", hosts=("a:1",), topics=("logs",), group_id="g"), clock.monotonic)


def test_a_topic_of_which_records_come_is_well_once_nothing_is_reported_any_more(
    problems: Problems, clock: ManualClock
) -> None:
    problems.report(FORBIDDEN, "logs")
    clock.advance(9)
    problems.arrived({"logs"})  # of another partition, perhaps
    assert list(problems.now) == ["kafka topic logs"]
    problems.report(FORBIDDEN, "logs")
    clock.advance(9)
    problems.arrived({"logs"})
    assert list(problems.now) == ["kafka topic logs"]
    clock.advance(2)
    problems.arrived({"others"})
    assert list(problems.now) == ["kafka topic logs"]
    problems.arrived({"logs"})
    assert problems.now == {}


def test_records_show_that_the_group_works(problems: Problems) -> None:
    problems.report(KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED))
    problems.arrived({"logs"})
    assert problems.now == {}


def test_what_does_not_exist_is_named_where_the_client_names_it(problems: Problems) -> None:
    problems.report(KafkaError(KafkaError._UNKNOWN_PARTITION, "gone"), "logs")
    problems.report(KafkaError(KafkaError._UNKNOWN_PARTITION, "gone"))
    assert problems.now["kafka topic logs"].startswith("the topic logs does not exist; create it")
    assert problems.now["kafka group g"].startswith("a topic, or a partition of one, does not exist; create it")
