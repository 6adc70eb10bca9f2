import pytest

from log_shipper.spark_sink.kafka.topics import describe, missing, present, topics, wait_for
from log_shipper.spark_sink.options.kafka import KafkaSource
from tests.unit.spark_sink.kafka.fake_broker import FakeBroker

KAFKA = FakeBroker(end={("logs-a", 0): 1, ("logs-b", 0): 1, ("logs-b", 1): 1, ("other", 0): 1})


def source(**what: object) -> KafkaSource:
    return KafkaSource(hosts=("k:9092",), **what)  # type: ignore[arg-type]  # the tests name real fields


@pytest.mark.parametrize(
    ("kafka", "partitions"),
    [
        (source(topics=("other", "none")), {("other", 0)}),
        (source(topics_pattern="logs-.*"), {("logs-a", 0), ("logs-b", 0), ("logs-b", 1)}),
        (source(topics_pattern="logs"), set()),
        (source(partitions={"logs-b": (1, 7), "none": (0,)}), {("logs-b", 1)}),
    ],
)
def test_what_is_read_is_what_is_there_of_what_is_named(kafka: KafkaSource, partitions: set[tuple[str, int]]) -> None:
    assert present(kafka, KAFKA) == partitions
    assert topics(kafka, KAFKA) >= {topic for topic, _ in partitions}


@pytest.mark.parametrize(
    ("kafka", "message"),
    [
        (source(topics=("other", "logs-a")), []),
        (source(topics=("other", "new", "b-new")), ["topic b-new", "topic new"]),
        (source(topics_pattern=".*-a"), []),
        (source(topics_pattern="new-.*"), ["a topic that matches 'new-.*'"]),
        (source(partitions={"logs-b": (0, 1)}), []),
        (source(partitions={"logs-b": (1, 2), "new": (0,)}), ["partition logs-b/2", "partition new/0"]),
    ],
)
def test_what_is_not_there_yet_is_reported(kafka: KafkaSource, message: list[str]) -> None:
    assert missing(kafka, KAFKA) == message


@pytest.mark.parametrize(
    "kafka", [source(topics=("other", "new")), source(topics_pattern="new.*"), source(partitions={"new": (0,)})]
)
def test_a_topic_that_was_deleted_is_not_waited_for(kafka: KafkaSource) -> None:
    assert missing(kafka, KAFKA)
    assert missing(kafka, KAFKA, {"new"}) == []


def test_what_is_read_has_a_name_for_messages() -> None:
    assert describe(source(topics=("a", "b"))) == "topics a, b"
    assert describe(source(topics_pattern="a.*")) == "topics like 'a.*'"
    assert describe(source(partitions={"a": (1, 0)})) == "partitions a/0, a/1"


def test_what_is_there_is_not_waited_for() -> None:
    logged: list[str] = []
    assert wait_for(list, logged.append, lambda: True)
    assert logged == []


def test_the_wait_is_reported_once_for_each_set_of_missing_topics() -> None:
    answers = iter([["topic a", "topic b"], ["topic a", "topic b"], ["topic b"], []])
    logged: list[str] = []
    assert wait_for(lambda: next(answers), logged.append, lambda: False)
    assert [text.partition(":")[0] for text in logged] == [
        "waiting for topic a, topic b",
        "waiting for topic b",
        "topic b appeared",
    ]
    for text in logged[:2]:
        assert text.endswith(
            ": does not exist, or these credentials lack the permission to see it. Nothing lands until then. Create "
            "it, or correct `kafka` in the configuration"
        )


def test_the_wait_ends_when_the_job_is_stopped() -> None:
    assert not wait_for(lambda: ["topic a"], lambda text: None, lambda: True)
