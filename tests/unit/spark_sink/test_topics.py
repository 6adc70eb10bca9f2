import pytest
from pyspark.sql import SparkSession

from spark_sink.errors import SinkError
from spark_sink.topics import Admin, wait_for


def test_topics_that_are_there_are_not_waited_for() -> None:
    said: list[str] = []
    assert wait_for(lambda: {"a", "b", "c"}, ["a", "b"], said.append, lambda: True)
    assert said == []


def test_the_wait_is_told_once_for_each_set_of_missing_topics() -> None:
    answers = iter([set(), set(), {"a"}, {"a", "b"}])
    said: list[str] = []
    assert wait_for(lambda: next(answers), ["a", "b"], said.append, lambda: False)
    assert said == [
        "waiting for topics a, b, which Kafka does not have yet",
        "waiting for topic b, which Kafka does not have yet",
        "topic b appeared",
    ]


def test_the_wait_ends_when_the_job_is_stopped() -> None:
    assert not wait_for(lambda: set(), ["a"], lambda text: None, lambda: True)


@pytest.mark.spark
def test_a_broker_that_does_not_answer_is_named(spark: SparkSession) -> None:
    with (
        pytest.raises(SinkError, match=r"cannot read from Kafka at 127\.0\.0\.1:1: Kafka does not answer"),
        Admin(spark, {"bootstrap.servers": "127.0.0.1:1"}, patience=0.5) as admin,
    ):
        admin.names()


@pytest.mark.spark
def test_a_setting_that_the_client_does_not_take_is_told(spark: SparkSession) -> None:
    wrong = {"bootstrap.servers": "127.0.0.1:1", "security.protocol": "nonsense"}
    with pytest.raises(SinkError, match=r"Kafka's client does not take these settings.*nonsense"), Admin(spark, wrong):
        pass
