"""The input `kafka` with three brokers that are killed in turn: coordinators and leaders move, and records flow on."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.brokers import Brokers
from tests.e2e.relaying import PARTITIONS, Numbers, Relay
from tests.e2e.running import await_true

pytestmark = [pytest.mark.kafka, pytest.mark.slow("three brokers, each killed once")]

ENOUGH = 2000  # records that come while a broker is away


@pytest.fixture
def brokers(tmp_path: Path) -> Iterator[Brokers]:
    with Brokers(tmp_path / "kafka") as brokers:
        yield brokers


@pytest.fixture
def numbers(brokers: Brokers) -> Iterator[Numbers]:
    for topic in ("in", "out"):
        brokers.create_topic(topic, PARTITIONS)
    numbers = Numbers(brokers, "in", "out")
    yield numbers
    numbers.close()


@pytest.fixture
def relays(brokers: Brokers, numbers: Numbers, tmp_path: Path) -> Iterator[list[Relay]]:
    relays = [Relay(tmp_path / f"member-{number}", brokers, "in", "out") for number in range(2)]
    yield relays
    for relay in relays:
        relay.end()


def await_more(numbers: Numbers, why: str) -> None:
    enough = len(numbers.seen) + ENOUGH

    def have_come() -> bool:
        numbers.read()
        return len(numbers.seen) >= enough

    await_true(have_come, why)


def test_each_record_is_committed_once_while_brokers_are_killed_in_turn(
    brokers: Brokers, relays: list[Relay], numbers: Numbers
) -> None:
    ending = threading.Event()

    def write() -> None:
        while not ending.wait(0.05):
            numbers.write(50)

    for relay in relays:
        relay.options |= {"rebalance.timeout": "60s", "isolation_level": "read_committed"}
        relay.output = {"delivery": "exactly_once"}
        relay.start()
    writing = threading.Thread(target=write)
    writing.start()
    try:
        await_more(numbers, "records come")
        for broker in brokers.all:
            broker.kill()
            await_more(numbers, "records come without it")
            broker.start()
            brokers.await_replicas()
    finally:
        ending.set()
        writing.join()
    numbers.await_all()
    numbers.read_for(3)
    assert numbers.repeated == 0
    for relay in relays:
        assert relay.stop() == 0
        assert "no broker responds" not in relay.log
        assert "Traceback" not in relay.log
