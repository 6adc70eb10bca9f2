"""Librdkafka's clients of the input, without a broker."""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient

from log_shipper.shipper.clock import SystemClock
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.inputs.kafka.client import DescribedTopics, Topic, clients
from log_shipper.shipper.inputs.kafka.member_context import MemberContext
from log_shipper.shipper.inputs.kafka.options import KafkaInputConfig
from log_shipper.shipper.inputs.kafka.partition import Partition
from log_shipper.shipper.inputs.kafka.problems import MemberProblems
from log_shipper.shipper.inputs.kafka.session import Session
from log_shipper.shipper.inputs.kafka.starts import StartOffset


def never(start: StartOffset) -> Partition:
    raise AssertionError("no partition is assigned")


def threads() -> set[str]:
    return set(os.listdir("/proc/self/task"))


def open_and_close_a_session() -> None:
    """Print the threads that are left 30 s after it was closed."""
    config = KafkaInputConfig(id="k", hosts=("127.0.0.1:1",), topics=("logs",), group_id="g")
    clock = SystemClock()
    context = MemberContext(config, never, MemberProblems(config, clock.monotonic), clock, commits=True, once=False)
    before = threads()
    session = Session(clients(config), context, lambda: True)
    session.begin()
    assert threads() - before
    session.close()
    deadline = time.monotonic() + 30  # the system lists a thread for a moment after it was joined
    while (left := threads() - before) and time.monotonic() < deadline:
        pass
    print(sorted(left))  # noqa: T201


def test_a_session_that_is_closed_leaves_no_thread_of_its_clients() -> None:
    # In a process of its own: those of earlier tests may begin threads meanwhile.
    code = "from tests.unit.shipper.inputs.kafka.test_client import *\nopen_and_close_a_session()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "[]\n"


NO_CONTROLLER = KafkaException(KafkaError(KafkaError._TIMED_OUT, "Timed out waiting for controller"))


@dataclass
class Admin:
    """A client that describes each topic as one of `partitions`, some of them `leaderless`, or fails."""

    partitions: int = 0
    failure: Exception | None = None
    leaderless: Sequence[int] = ()

    def describe_topics(self, topics: TopicCollection, request_timeout: float) -> dict[str, Future[Any]]:
        described: Future[Any] = Future()
        if self.failure is not None:
            described.set_exception(self.failure)
        else:
            leaders = [None if number in self.leaderless else _NODE for number in range(self.partitions)]
            partitions = [SimpleNamespace(id=number, leader=leader) for number, leader in enumerate(leaders)]
            described.set_result(SimpleNamespace(topic_id=_ZEROS, partitions=partitions))
        return {"logs": described}


_NODE = SimpleNamespace(id=1)
_ZEROS = SimpleNamespace(get_most_significant_bits=lambda: 0, get_least_significant_bits=lambda: 0)


def described_by(*made: Admin | StartError) -> DescribedTopics:
    """Return the clients made, one after the other."""
    ways = list(made)

    def make() -> AdminClient:
        way = ways.pop(0)
        if isinstance(way, StartError):
            raise way
        return cast(AdminClient, way)

    return DescribedTopics(make)


def test_after_a_question_without_an_answer_another_client_is_asked() -> None:
    # The first one waits for the broker that it takes for the controller, which is away.
    topics = described_by(Admin(failure=NO_CONTROLLER), Admin(partitions=6))
    with pytest.raises(KafkaException, match="waiting for controller"):
        topics.look_up(["logs"])
    assert topics.look_up(["logs"]) == topics.look_up(["logs"]) == {"logs": Topic(partitions=6)}


def test_partitions_without_a_leader_are_known_by_their_numbers() -> None:
    topics = described_by(Admin(partitions=6, leaderless=[1, 4]))
    assert topics.look_up(["logs"]) == {"logs": Topic(partitions=6, leaderless=frozenset({1, 4}))}


def test_a_client_that_brokers_refuse_an_answer_is_asked_again() -> None:
    refused = KafkaException(KafkaError(KafkaError.SASL_AUTHENTICATION_FAILED))
    topics = described_by(Admin(failure=refused))
    for _ in range(2):
        with pytest.raises(KafkaException, match="SASL"):
            topics.look_up(["logs"])


def test_a_client_that_cannot_be_made_again_is_an_error_of_kafka() -> None:
    topics = described_by(Admin(failure=NO_CONTROLLER), StartError("no certificate"), Admin(partitions=6))
    for reason in ("waiting for controller", "no certificate"):
        with pytest.raises(KafkaException, match=reason):
            topics.look_up(["logs"])
    assert topics.look_up(["logs"]) == {"logs": Topic(partitions=6)}
