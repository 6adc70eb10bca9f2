"""The partition of each record."""

import itertools
import time
from collections import Counter
from collections.abc import Sequence

import pytest
from confluent_kafka import KafkaError, KafkaException

from log_shipper.shipper.event import Batch, Topics
from log_shipper.shipper.output.at_least_once import AtLeastOnce
from log_shipper.shipper.output.kafka_records import RecordExtras, RecordMaker
from log_shipper.shipper.output.partitions import REFRESH, RETRY, ByHash, InGroups, Partitions, Records
from tests.builders import RecordedDeliveries, batch, encoder
from tests.fakes import ManualClock, MemoryKafka, kafka_context

LOGS = Topics("logs")


class Cluster:
    """The partitions of topics as a broker has them; a topic that it lacks is an error."""

    def __init__(self, **topics: Sequence[int]) -> None:
        self.topics = topics
        self.asked: list[str] = []
        self.errors: list[tuple[int, str]] = []

    def look_up(self, topic: str) -> Sequence[int]:
        self.asked.append(topic)
        if topic not in self.topics:
            raise KafkaException(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART))
        return self.topics[topic]

    def report(self, error: KafkaError, topic: str) -> None:
        self.errors.append((error.code(), topic))


def await_known(partitions: Partitions, topics: Topics) -> None:
    """Wait until a lookup, which runs on its own thread, has ended."""
    deadline = time.monotonic() + 30
    while not partitions.are_known(topics):
        assert time.monotonic() < deadline


def numbers_of(records: Records) -> list[int]:
    return [record["partition"] for record in records]


def records(count: int, partition: int | None = None) -> Records:
    return [{"value": "", "key": "", "partition": partition} for _ in range(count)]


def test_a_hash_chooses_among_the_partitions_that_there_are() -> None:
    made = [{"partition": hashed} for hashed in (0, 1, 2, 3, 4)]
    ByHash().assign("logs", made, [0, 2, 5])
    assert numbers_of(made) == [0, 2, 5, 0, 2]


def test_what_has_no_hash_goes_to_a_random_partition() -> None:
    made = records(200)
    ByHash().assign("logs", made, [0, 2, 5])
    assert set(numbers_of(made)) == {0, 2, 5}


@pytest.mark.parametrize("size", [1, 3])
def test_round_robin_takes_each_in_turn_for_a_group_of_records(size: int) -> None:
    choice = InGroups(size, at_random=False)
    made = records(12 * size)
    for start in range(0, len(made), 5):  # whatever the batches are
        choice.assign("logs", made[start : start + 5], [0, 1, 2])
        choice.assign("other", records(1), [0, 1, 2])
    groups = numbers_of(made)[::size]
    assert [number for number in groups for _ in range(size)] == numbers_of(made)
    assert all((after - before) % 3 == 1 for before, after in itertools.pairwise(groups))


def test_random_takes_any_for_a_group_of_records() -> None:
    made = records(3000)
    InGroups(10, at_random=True).assign("logs", made, [0, 1, 2])
    groups = numbers_of(made)[::10]
    assert [number for number in groups for _ in range(10)] == numbers_of(made)
    assert min(Counter(groups)[number] for number in (0, 1, 2)) > 50


def test_partitions_are_asked_for_once_and_again_after_a_while(clock: ManualClock) -> None:
    cluster = Cluster(logs=[0, 1], other=[0])
    partitions = Partitions(ByHash(), cluster.look_up, clock, cluster.report)
    assert not partitions.are_known(LOGS)
    await_known(partitions, LOGS)
    await_known(partitions, Topics(None, ["logs", None, "other"]))
    assert sorted(cluster.asked) == ["logs", "other"]
    cluster.topics["logs"] = [0, 1, 2]
    clock.advance(REFRESH)
    deadline = time.monotonic() + 30
    made = records(1, 2)
    while numbers_of(made) != [2]:  # what is known is used meanwhile
        assert time.monotonic() < deadline
        made = records(1, 2)
        partitions.assign("logs", made)
        assert numbers_of(made)[0] in (0, 2)


def test_a_topic_that_is_missing_is_reported_and_asked_for_again(clock: ManualClock) -> None:
    cluster = Cluster()
    partitions = Partitions(ByHash(), cluster.look_up, clock, cluster.report)
    deadline = time.monotonic() + 30
    while not cluster.errors:
        assert not partitions.are_known(LOGS)
        assert time.monotonic() < deadline
    assert cluster.errors == [(KafkaError.UNKNOWN_TOPIC_OR_PART, "logs")]
    cluster.topics["logs"] = [0]
    clock.advance(RETRY)
    await_known(partitions, LOGS)


def test_a_lookup_that_fails_in_any_way_is_reported_and_repeated(clock: ManualClock) -> None:
    cluster = Cluster()

    def look_up(topic: str) -> Sequence[int]:
        return cluster.topics[topic]  # KeyError

    partitions = Partitions(ByHash(), look_up, clock, cluster.report)
    deadline = time.monotonic() + 30
    while not cluster.errors:
        assert not partitions.are_known(LOGS)
        assert time.monotonic() < deadline
    assert cluster.errors == [(KafkaError._FAIL, "logs")]
    cluster.topics["logs"] = [0]
    clock.advance(RETRY)
    await_known(partitions, LOGS)


def test_partitions_that_were_known_stay_while_the_metadata_have_none(clock: ManualClock) -> None:
    cluster = Cluster(logs=[3])
    partitions = Partitions(ByHash(), cluster.look_up, clock, cluster.report)
    await_known(partitions, LOGS)
    cluster.topics["logs"] = []
    clock.advance(REFRESH)
    deadline = time.monotonic() + 30
    while len(cluster.asked) < 3:  # the second lookup has ended before the third begins
        assert time.monotonic() < deadline
        clock.advance(RETRY)
        made = records(1, 7)  # of a retry, which does not ask whether they are known
        partitions.assign("logs", made)
        assert numbers_of(made) == [3]


def test_records_wait_in_order_until_the_partitions_of_their_topic_are_known(clock: ManualClock) -> None:
    cluster, kafka, deliveries = Cluster(), MemoryKafka(), RecordedDeliveries()
    partitions = Partitions(ByHash(), cluster.look_up, clock, cluster.report)

    def by_length(events: Batch, keys: Sequence[str]) -> list[int | None]:
        return [len(text) for text in events.messages.texts]

    records = RecordMaker(encoder(), RecordExtras(hashes=by_length))
    output = AtLeastOnce(kafka.connect, kafka_context(clock, records=records, partitions=partitions), deliveries)
    assert output.publish(batch(["a", "bb"]))
    assert output.publish(batch(["ccc", "d"], start=5))
    output.poll(0)
    assert (kafka.journal, output.in_flight) == ([], 2)
    cluster.topics["logs"] = [0, 1]
    deadline = time.monotonic() + 30
    while output.in_flight:
        assert time.monotonic() < deadline
        clock.advance(RETRY)
        output.poll(0)
    assert deliveries.texts == ["a", "bb", "ccc", "d"]
    by_key = {sent.value: sent.partition for sent in kafka.sent}
    assert list(by_key.values()) == [1, 0, 1, 1]
