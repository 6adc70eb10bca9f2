"""The input `kafka` with a real broker: members that are killed, rebalances, transactions."""

import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from demo.broker import Broker
from tests.e2e.relaying import PARTITIONS, Numbers, Relay
from tests.e2e.running import PATIENCE, unless_kafka_lost_an_end

pytestmark = pytest.mark.kafka

KILLS = 20
JOINED_KILLS = 12


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


@pytest.mark.slow("kills the broker")
@pytest.mark.parametrize("delivery", ["at_least_once", "exactly_once"])
def test_a_broker_that_is_killed_while_records_flow_stops_nothing_for_good(
    relays: list[Relay], numbers: Numbers, kafka_broker: Broker, delivery: str
) -> None:
    relay = relays[0]
    relay.options["isolation_level"] = "read_committed"
    relay.output = {"delivery": delivery}
    relay.start()
    ending = threading.Event()

    def write() -> None:
        while not ending.wait(0.05):
            numbers.write(200)

    writing = threading.Thread(target=write)
    writing.start()
    with unless_kafka_lost_an_end(kafka_broker):
        try:
            for _ in range(2):
                seen = len(numbers.seen)
                deadline = time.monotonic() + PATIENCE
                while len(numbers.seen) < seen + 2000:
                    numbers.read()
                    assert time.monotonic() < deadline, "no records come any more"
                kafka_broker.kill()
                time.sleep(0.5)
                kafka_broker.start()
        finally:
            ending.set()
            writing.join()
        numbers.await_all()
    assert relay.stop() == 0


@pytest.mark.slow("kills the broker")
def test_an_input_that_a_reload_adds_has_a_producer_that_outlives_the_broker(
    relays: list[Relay], numbers: Numbers, kafka_broker: Broker, tmp_path: Path
) -> None:
    relay = relays[0]
    relay.options["isolation_level"] = "read_committed"
    relay.output = {"delivery": "exactly_once"}
    relay.other_inputs = [{"type": "filestream", "id": "app", "paths": [str(tmp_path / "app.log")]}]
    relay.start(without_input=True)
    relay.await_log("started")
    numbers.write(1000)
    relay.reload()
    numbers.await_all()
    relay.await_log("the Kafka producer was replaced")
    with unless_kafka_lost_an_end(kafka_broker):
        kafka_broker.kill()
        kafka_broker.start()
        numbers.write(1000)
        numbers.await_all()
    assert relay.stop() == 0


@pytest.mark.slow("kills the broker")
@pytest.mark.parametrize(("strategy", "delivery"), [("range", "exactly_once"), ("cooperative-sticky", "at_least_once")])
def test_a_topic_that_is_made_again_when_its_broker_is_back_is_read_from_its_first_record(
    relays: list[Relay], numbers: Numbers, kafka_broker: Broker, strategy: str, delivery: str
) -> None:
    relay, topic = relays[0], numbers.source
    relay.options |= {"rebalance.strategy": strategy, "isolation_level": "read_committed"}
    relay.output = {"delivery": delivery}
    relay.start()
    numbers.write(4000)
    numbers.await_all()
    kafka_broker.kill()  # with offsets that are not committed yet
    kafka_broker.start()
    kafka_broker.delete_topic(topic)
    kafka_broker.create_topic(topic, PARTITIONS)
    numbers.renew_producer()
    numbers.write(4000)
    numbers.await_all()


@pytest.mark.slow("waits for the client to find partitions and topics")
@pytest.mark.parametrize("delivery", ["at_least_once", "exactly_once"])
@pytest.mark.parametrize("is_made_again", [False, True], ids=["added", "made again"])
def test_a_group_that_begins_at_the_end_reads_new_partitions_from_their_first_record(
    relays: list[Relay], numbers: Numbers, kafka_broker: Broker, delivery: str, is_made_again: bool
) -> None:
    relay, topic = relays[0], numbers.source
    relay.options |= {
        "initial_offset": "newest",
        "isolation_level": "read_committed",
        "librdkafka": {"topic.metadata.refresh.interval.ms": 3000},
    }
    relay.output = {"delivery": delivery}
    relay.start()
    relay.await_log("assigned partitions")
    numbers.write(1000)
    numbers.await_all()
    if is_made_again:
        numbers.read_for(2)  # all is committed, and the broker removes that with the topic
        kafka_broker.delete_topic(topic)
        kafka_broker.create_topic(topic, PARTITIONS)
    else:
        kafka_broker.add_partitions(topic, 2 * PARTITIONS)
    numbers.renew_producer()
    numbers.write(1000)
    numbers.await_all()
    numbers.read_for(3)
    assert set(numbers.landed.values()) == {1}


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


@pytest.mark.slow("two members, twelve kills")
@pytest.mark.parametrize("delivery", ["at_least_once", "exactly_once"])
def test_joined_records_are_in_one_message_each_after_kills_of_members(
    relays: list[Relay], numbers: Numbers, seed: int, delivery: str
) -> None:
    numbers.indented = True
    members = relays[:2]
    for relay in members:
        relay.options["parsers"] = [{"multiline": {"pattern": "^ ", "timeout": "300ms"}}]
        if delivery == "exactly_once":
            relay.options["isolation_level"] = "read_committed"
            relay.output = {"delivery": delivery}
        relay.start()
    chance = random.Random(seed)
    for kill in range(JOINED_KILLS):
        numbers.write(chance.choice([50, 2000]))
        numbers.await_all()
        # The last messages were ended by time, and the offsets behind them are hardly committed yet.
        killed = members if kill % 2 else [chance.choice(members)]
        for relay in killed:
            relay.kill()
        numbers.write(50)
        for relay in killed:
            relay.start()
    numbers.await_all()
    numbers.read_for(5)
    assert set(numbers.landed.values()) == {1}
    assert any(record["message"].startswith(" ") for record in numbers.records.values())  # what came after that
    if delivery == "exactly_once":
        assert numbers.repeated == 0


def test_with_once_the_last_message_is_sent_as_it_is(relays: list[Relay], numbers: Numbers) -> None:
    numbers.indented = True
    numbers.write(1000)
    relays[0].options = {"parsers": [{"multiline": {"pattern": "^ ", "timeout": "1h"}}]}
    relays[0].start("--once")
    assert relays[0].process.wait(PATIENCE) == 0
    numbers.await_all()
    assert (numbers.repeated, set(numbers.landed.values())) == (0, {1})
    assert len(numbers.records) < 1000


def test_records_are_relayed_once_and_members_share_the_partitions(relays: list[Relay], numbers: Numbers) -> None:
    numbers.write(3000)
    relays[0].options = {}  # the group waits for it longer than a busy machine stands still
    relays[0].start("--once")
    assert relays[0].process.wait(PATIENCE) == 0
    numbers.await_all()
    assert numbers.repeated == 0
    record = next(iter(numbers.records.values()))
    assert record["kafka"]["offset"] == record["log"]["offset"]
    assert "host" not in record
