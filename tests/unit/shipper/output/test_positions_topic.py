"""The topic of the positions, and brokers that do not answer about it. What they answer is in tests/contract."""

from concurrent.futures import Future
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from log_shipper.shipper.output.positions_topic import PAUSES, Clients, PositionsTopic


@dataclass
class Admin:
    """A client whose controller is away. Other brokers know whether the topic exists, and who leads its partitions."""

    exists: bool
    leaders: tuple[int, ...] = (1,)

    def list_topics(self, topic: str, timeout: float) -> Any:
        error = None if self.exists else KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART)
        partitions = {number: SimpleNamespace(leader=leader) for number, leader in enumerate(self.leaders)}
        return SimpleNamespace(topics={topic: SimpleNamespace(error=error, partitions=partitions)})

    def create_topics(self, topics: list[Any], validate_only: bool) -> dict[str, Future[None]]:
        return {topic.topic: _unanswered() for topic in topics}

    def describe_configs(self, resources: list[Any]) -> dict[Any, Future[Any]]:
        return {resource: _unanswered() for resource in resources}


@dataclass
class SlowCluster:
    """A client of brokers that learn of a topic some questions after the controller has created it."""

    behind: int  # questions

    def list_topics(self, topic: str, timeout: float) -> Any:
        self.behind -= 1
        error = None if self.behind < 0 else KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART)
        return SimpleNamespace(topics={topic: SimpleNamespace(error=error, partitions={0: SimpleNamespace(leader=1)})})

    def create_topics(self, topics: list[Any], validate_only: bool) -> dict[str, Future[None]]:
        return {topic.topic: _answered(None) for topic in topics}

    def describe_configs(self, resources: list[Any]) -> dict[Any, Future[Any]]:
        return {resource: _answered({"cleanup.policy": SimpleNamespace(value="compact")}) for resource in resources}


def _answered(answer: Any) -> Future[Any]:
    asked: Future[Any] = Future()
    asked.set_result(answer)
    return asked


def _unanswered() -> Future[Any]:
    asked: Future[Any] = Future()
    asked.set_exception(TimeoutError())  # as when it is awaited for so long
    return asked


def no_consumer(isolation: str) -> Consumer:
    raise AssertionError("nothing is read")


def positions_topic(admin: Admin | SlowCluster, pauses: list[float] | None = None) -> PositionsTopic:
    """`pauses` gets those that are made."""
    clients = Clients(lambda: cast(AdminClient, admin), no_consumer)
    return PositionsTopic("positions", "web-1", clients, ([] if pauses is None else pauses).append)


@pytest.mark.parametrize("exists", [False, True])
def test_a_broker_that_does_not_answer_about_the_topic_is_an_error_of_kafka_which_is_tried_again(exists: bool) -> None:
    topic = positions_topic(Admin(exists))
    with pytest.raises(KafkaException, match="no response about topic positions within 5 s") as raised:
        topic.prepare()
    assert raised.value.args[0].code() == KafkaError._TIMED_OUT


def test_brokers_that_learn_late_of_the_new_topic_are_asked_again() -> None:
    pauses: list[float] = []
    positions_topic(SlowCluster(behind=3), pauses).prepare()
    assert pauses == list(PAUSES[:2])


def test_brokers_that_do_not_learn_of_the_new_topic_are_an_error_of_kafka_which_is_tried_again() -> None:
    with pytest.raises(KafkaException, match="positions was created, but the brokers do not know it yet") as raised:
        positions_topic(SlowCluster(behind=100)).prepare()
    assert raised.value.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART


@pytest.mark.parametrize(
    ("admin", "code"),
    [
        (Admin(exists=True, leaders=(1, 2)), None),
        (Admin(exists=True, leaders=(1, -1)), KafkaError.LEADER_NOT_AVAILABLE),
        (Admin(exists=False, leaders=()), KafkaError.UNKNOWN_TOPIC_OR_PART),
    ],
)
def test_a_topic_with_a_partition_without_a_leader_does_not_take_all_records(admin: Admin, code: int | None) -> None:
    refused = positions_topic(admin).refused(["logs"], 5.0)
    assert refused is not None
    assert {topic: error.code() for topic, error in refused.items()} == ({} if code is None else {"logs": code})
