"""The input `kafka` with a real broker: members that are killed, rebalances, transactions."""

import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from demo.broker import Broker
from tests.e2e.relaying import PARTITIONS, Numbers, Relay
from tests.e2e.running import PATIENCE

pytestmark = pytest.mark.kafka

KILLS = 20


@pytest.fixture
def relays(kafka_broker: Broker, topic_name: str, tmp_path: Path) -> Iterator[list[Relay]]:
    source, target = f"{topic_name}-in", f"{topic_name}-out"
    for topic in (source, target):
        kafka_broker.create_topic(topic, PARTITIONS)
    relays = [Relay(tmp_path / f"member-{number}", kafka_broker, source, target) for number in range(3)]
    yield relays
    for relay in relays:
        relay.end()


@pytest.fixture
def numbers(kafka_broker: Broker, topic_name: str, relays: list[Relay]) -> Iterator[Numbers]:
    numbers = Numbers(kafka_broker, f"{topic_name}-in", f"{topic_name}-out")
    yield numbers
    numbers.close()


def provoke(relays: list[Relay], numbers: Numbers, seed: int) -> None:
    """Kill members again and again, and now and then stop one, while records are written."""
    chance = random.Random(seed)
    for relay in relays:
        relay.start()
    for kill in range(KILLS):
        deadline = time.monotonic() + chance.uniform(0.5, 4)
        while time.monotonic() < deadline:
            numbers.write(2000)
            numbers.read(0.05)
        relay = chance.choice(relays)
        if kill % 5 == 4:
            relay.stop()
        else:
            relay.kill()
        relay.start()
    numbers.await_all()


@pytest.mark.slow("three members, twenty kills")
@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_no_record_is_missing_after_kills_of_members(
    relays: list[Relay], numbers: Numbers, seed: int, strategy: str
) -> None:
    for relay in relays:
        relay.options["rebalance.strategy"] = strategy
    provoke(relays, numbers, seed)


@pytest.mark.slow("three members, twenty kills")
@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_each_record_is_committed_once_by_members_that_are_killed(
    relays: list[Relay], numbers: Numbers, seed: int, strategy: str
) -> None:
    for relay in relays:
        relay.options |= {"rebalance.strategy": strategy, "isolation_level": "read_committed"}
        relay.output = {"delivery": "exactly_once"}
    provoke(relays, numbers, seed)
    numbers.read_for(5)
    assert numbers.repeated == 0


def test_records_are_relayed_once_and_members_share_the_partitions(relays: list[Relay], numbers: Numbers) -> None:
    numbers.write(3000)
    relays[0].start("--once")
    assert relays[0].process.wait(PATIENCE) == 0
    numbers.await_all()
    assert numbers.repeated == 0
    record = next(iter(numbers.records.values()))
    assert record["kafka"]["offset"] == record["log"]["offset"]
    assert "host" not in record
