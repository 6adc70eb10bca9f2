"""Librdkafka's clients of the input, without a broker."""

import os
import time

from config.shipper.feeds.kafka import KafkaInputConfig
from shipper.clock import SystemClock
from shipper.source.feeds.kafka.client import clients
from shipper.source.feeds.kafka.partition import Partition
from shipper.source.feeds.kafka.problems import Problems
from shipper.source.feeds.kafka.rebalances import MemberContext
from shipper.source.feeds.kafka.session import Session
from shipper.source.feeds.kafka.starts import Start


def never(start: Start) -> Partition:
    raise AssertionError("no partition is assigned")


def test_a_session_that_is_closed_leaves_no_thread_of_its_clients() -> None:
    config = KafkaInputConfig(id="k", hosts=("127.0.0.1:1",), topics=("logs",), group_id="g")
    clock = SystemClock()
    context = MemberContext(config, never, Problems(config, clock.monotonic), clock, commits=True, once=False)
    before = set(os.listdir("/proc/self/task"))
    session = Session(clients(config), context, lambda: True)
    session.begin()
    assert set(os.listdir("/proc/self/task")) - before
    session.close()
    deadline = time.monotonic() + 30  # the system lists a thread for a moment after it was joined
    while left := set(os.listdir("/proc/self/task")) - before:
        assert time.monotonic() < deadline, left
