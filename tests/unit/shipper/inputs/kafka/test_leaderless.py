"""Partitions that have no leader: they are not read, and the client does not report it."""

import logging
from datetime import UTC, datetime

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from log_shipper.shipper.inputs.kafka.problems import Problems
from tests.fakes import ManualClock
from tests.member_desk import OTHER, PLACE, Desk

NAME = "kafka partitions of topic logs"
AGAIN = "partitions have a leader, and are read again: "
LOOK = 11  # steps of the desk, in which topics are looked at


@pytest.fixture
def desk(clock: ManualClock, caplog: pytest.LogCaptureFixture) -> Desk:
    caplog.set_level(logging.INFO)
    desk = Desk(clock)
    desk.topics.write(PLACE, b"one")
    desk.begin()
    desk.consumer.give(PLACE, OTHER)
    desk.step(LOOK)
    return desk


def give(desk: Desk, *places: tuple[str, int]) -> None:
    desk.consumer.give(*places)
    desk.step(LOOK)


def test_a_partition_without_a_leader_for_long_is_a_problem_until_it_has_one(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    desk.topics.leaderless = {OTHER}
    for _ in range(4):
        desk.topics.write(PLACE, b"of another partition")
        desk.step(LOOK)
        desk.read()
    assert desk.problems.now == {}
    desk.step(60)
    words = desk.problems.now[NAME]
    assert words.startswith("logs[1]: no leader, because the brokers that may lead them are away; nothing of them is")
    assert "kafka-topics.sh --describe --topic logs shows where the replicas are" in words
    desk.topics.write(PLACE, b"of another partition")
    desk.step(LOOK)
    assert list(desk.problems.now) == [NAME]
    assert AGAIN not in caplog.text
    desk.topics.leaderless.clear()
    desk.step(LOOK)
    assert desk.problems.now == {}
    assert f"{AGAIN}logs[1]" in caplog.text


@pytest.mark.parametrize("seconds", [3, 20, 28])
def test_an_election_and_a_restart_are_no_problem(desk: Desk, seconds: int, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(3):
        desk.topics.leaderless = {PLACE, OTHER}
        desk.step(2 * seconds)
        desk.topics.leaderless.clear()
        desk.step(LOOK)
    assert desk.problems.now == {}
    assert NAME not in caplog.text
    assert AGAIN not in caplog.text


def test_the_log_has_it_once_a_minute(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    desk.topics.leaderless = {PLACE, OTHER}
    desk.step(2 * 60 * 5)
    lines = [record for record in caplog.records if NAME in record.message]
    assert [record.levelno for record in lines] == [logging.ERROR] * len(lines)
    assert len(lines) == 5
    assert "logs[0], logs[1]: no leader" in lines[0].message


@pytest.mark.parametrize("is_replaced", [False, True])
def test_what_was_seen_is_known_after_a_rebalance_and_to_the_next_consumer(desk: Desk, is_replaced: bool) -> None:
    desk.topics.leaderless = {OTHER}
    desk.step(30)
    if is_replaced:
        desk.session.close()
        desk.begin(desk.made)
    else:
        desk.consumer.take(PLACE, OTHER)
        desk.step(LOOK)  # it has none meanwhile, and is about to be given some
    give(desk, PLACE, OTHER)
    assert desk.problems.now == {}
    desk.step(3 * LOOK)
    assert list(desk.problems.now) == [NAME]


def test_what_another_member_has_is_no_problem_of_this_one(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    desk.topics.leaderless = {OTHER}
    desk.step(80)
    assert list(desk.problems.now) == [NAME]
    desk.consumer.take(PLACE, OTHER)
    give(desk, PLACE)
    assert desk.problems.now == {}
    assert AGAIN not in caplog.text


def test_brokers_that_do_not_answer_change_nothing(desk: Desk) -> None:
    desk.topics.leaderless = {OTHER}
    desk.step(80)
    desk.topics.failing["topic_lookup"] = [KafkaException(KafkaError(KafkaError._TIMED_OUT))] * 2
    desk.topics.leaderless.clear()
    desk.step(LOOK)
    assert list(desk.problems.now) == [NAME]
    desk.step(60)
    assert desk.problems.now == {}


def test_a_topic_that_is_deleted_meanwhile_is_not_read_again(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    desk.topics.leaderless = {OTHER}
    desk.step(80)
    desk.topics.deleted.add("logs")
    desk.step(LOOK)
    assert NAME not in desk.problems.now
    assert AGAIN not in caplog.text


def test_with_once_a_partition_that_is_read_to_its_end_needs_no_leader(clock: ManualClock) -> None:
    desk = Desk(clock, once=True)
    desk.topics.write(PLACE, b"one")
    desk.begin()
    desk.consumer.give(PLACE)
    desk.step(LOOK)
    assert desk.partition.stopped
    desk.topics.leaderless = {PLACE}
    desk.step(100)
    assert desk.problems.now == {}


@pytest.mark.parametrize("way", ["its last record", "its end", "an assignment"])
def test_with_once_a_partition_is_well_at_once_when_all_of_it_is_received(clock: ManualClock, way: str) -> None:
    """The run may end before topics are looked at again, and a problem would be its result."""
    desk = Desk(clock, once=True)
    desk.topics.write(PLACE, b"one")
    if way == "its end":
        desk.topics.skip(PLACE, 1)
    desk.begin()
    desk.consumer.give(PLACE)
    desk.consumer._pending.append(lambda: desk.topics.leaderless.add(PLACE))
    desk.step(80)
    assert (list(desk.problems.now), desk.partition.stopped) == ([NAME], False)
    desk.topics.leaderless.clear()
    if way == "an assignment":
        desk.topics.committed[PLACE] = 1  # by another member
        desk.session.close()
        desk.begin(desk.made)
        desk.session.rebalances.assigned(desk.consumer, [TopicPartition(*PLACE)])
    desk.consumer.most_at_once = 0
    while not desk.partition.stopped:
        desk.session._receive()  # one message
    assert (desk.problems.now, desk.partition.stopped) == ({}, True)


@pytest.mark.parametrize("is_read_meanwhile", [False, True])
def test_with_once_a_partition_without_a_leader_is_awaited_while_others_are_read(
    clock: ManualClock, is_read_meanwhile: bool, caplog: pytest.LogCaptureFixture
) -> None:
    desk = Desk(clock, once=True)
    desk.topics.write(PLACE, b"one")
    desk.topics.write(OTHER, b"of the other")
    desk.topics.leaderless = {OTHER}
    desk.begin()
    give(desk, PLACE, OTHER)
    other = desk.session.rebalances.partitions[OTHER]
    assert desk.texts() == ["one"]
    assert (desk.partition.stopped, other.stopped) == (True, False)
    desk.step(80)
    assert list(desk.problems.now) == [NAME]
    assert not other.stopped
    assert caplog.text.count("logs[1] has no leader, because the brokers that may lead it are away; --once ends") == 1
    desk.topics.leaderless.clear()
    if is_read_meanwhile:
        desk.session._receive()  # before its end is known
    desk.step(LOOK)
    assert [batch.messages.texts for batch in desk.read(other)] == [["of the other"]]
    assert other.stopped
    assert desk.problems.now == {}


@pytest.mark.parametrize("initial", ["latest", datetime(2025, 11, 13, tzinfo=UTC)])
def test_a_group_that_cannot_know_where_it_begins_has_a_reason(
    clock: ManualClock, initial: object, caplog: pytest.LogCaptureFixture
) -> None:
    desk = Desk(clock, options={"initial_offset": initial})
    desk.topics.leaderless = {OTHER}
    desk.begin()
    desk.consumer.give(PLACE, OTHER)
    with pytest.raises(KafkaException, match=r"logs\[1\]"):
        desk.step()
    words = desk.problems.now["kafka group g"]
    assert words.startswith("a partition has no leader, because the brokers that may lead it are away")
    assert "kafka-topics.sh --describe --unavailable-partitions" in words
    desk.topics.leaderless.clear()
    give(desk, PLACE, OTHER)
    assert desk.problems.now == {}


def test_of_many_partitions_some_are_named(desk: Desk) -> None:
    problems: Problems = desk.problems
    many = {("logs", number) for number in range(100)} | {("other", 7)}
    for _ in range(2):
        problems.note_leaders(many, many)
        desk.clock.advance(30)
    assert "logs[19] and 80 more: no leader" in problems.now[NAME]
    assert problems.now["kafka partitions of topic other"].startswith("other[7]: no leader")
