"""Partitions that have no leader: they are not read, and the client does not report it."""

import logging
from datetime import UTC, datetime

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from log_shipper.shipper.inputs.kafka.problems import MemberProblems
from tests.fakes import ManualClock
from tests.member_lab import OTHER, PLACE, MemberLab

NAME = "kafka partitions of topic logs"
AGAIN = "partitions have a leader again and are read: "
LOOK = 11  # steps of the lab, in which topics are looked at


@pytest.fixture
def lab(clock: ManualClock, caplog: pytest.LogCaptureFixture) -> MemberLab:
    caplog.set_level(logging.INFO)
    lab = MemberLab(clock)
    lab.topics.write(PLACE, b"one")
    lab.begin()
    lab.consumer.plan_assignment(PLACE, OTHER)
    lab.step(LOOK)
    return lab


def give(lab: MemberLab, *places: tuple[str, int]) -> None:
    lab.consumer.plan_assignment(*places)
    lab.step(LOOK)


def test_a_partition_without_a_leader_for_long_is_a_problem_until_it_has_one(
    lab: MemberLab, caplog: pytest.LogCaptureFixture
) -> None:
    lab.topics.leaderless = {OTHER}
    for _ in range(4):
        lab.topics.write(PLACE, b"of another partition")
        lab.step(LOOK)
        lab.read()
    assert lab.problems.now == {}
    lab.step(60)
    words = lab.problems.now[NAME]
    assert words.startswith("logs[1]: no leader, because their brokers are down; these partitions are not read")
    assert "kafka-topics.sh --describe --topic logs shows where the replicas are" in words
    lab.topics.write(PLACE, b"of another partition")
    lab.step(LOOK)
    assert list(lab.problems.now) == [NAME]
    assert AGAIN not in caplog.text
    lab.topics.leaderless.clear()
    lab.step(LOOK)
    assert lab.problems.now == {}
    assert f"{AGAIN}logs[1]" in caplog.text


@pytest.mark.parametrize("seconds", [3, 20, 28])
def test_an_election_and_a_restart_are_no_problem(
    lab: MemberLab, seconds: int, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(3):
        lab.topics.leaderless = {PLACE, OTHER}
        lab.step(2 * seconds)
        lab.topics.leaderless.clear()
        lab.step(LOOK)
    assert lab.problems.now == {}
    assert NAME not in caplog.text
    assert AGAIN not in caplog.text


def test_the_log_has_it_once_a_minute(lab: MemberLab, caplog: pytest.LogCaptureFixture) -> None:
    lab.topics.leaderless = {PLACE, OTHER}
    lab.step(2 * 60 * 5)
    lines = [record for record in caplog.records if NAME in record.message]
    assert [record.levelno for record in lines] == [logging.ERROR] * len(lines)
    assert len(lines) == 5
    assert "logs[0], logs[1]: no leader" in lines[0].message


@pytest.mark.parametrize("is_replaced", [False, True])
def test_what_was_seen_is_known_after_a_rebalance_and_to_the_next_consumer(lab: MemberLab, is_replaced: bool) -> None:
    lab.topics.leaderless = {OTHER}
    lab.step(30)
    if is_replaced:
        lab.session.close()
        lab.begin(lab.made)
    else:
        lab.consumer.plan_revocation(PLACE, OTHER)
        lab.step(LOOK)  # it has none meanwhile, and is about to be given some
    give(lab, PLACE, OTHER)
    assert lab.problems.now == {}
    lab.step(3 * LOOK)
    assert list(lab.problems.now) == [NAME]


def test_what_another_member_has_is_no_problem_of_this_one(lab: MemberLab, caplog: pytest.LogCaptureFixture) -> None:
    lab.topics.leaderless = {OTHER}
    lab.step(80)
    assert list(lab.problems.now) == [NAME]
    lab.consumer.plan_revocation(PLACE, OTHER)
    give(lab, PLACE)
    assert lab.problems.now == {}
    assert AGAIN not in caplog.text


def test_brokers_that_do_not_answer_change_nothing(lab: MemberLab) -> None:
    lab.topics.leaderless = {OTHER}
    lab.step(80)
    lab.topics.failing["topic_lookup"] = [KafkaException(KafkaError(KafkaError._TIMED_OUT))] * 2
    lab.topics.leaderless.clear()
    lab.step(LOOK)
    assert list(lab.problems.now) == [NAME]
    lab.step(60)
    assert lab.problems.now == {}


def test_a_topic_that_is_deleted_meanwhile_is_not_read_again(lab: MemberLab, caplog: pytest.LogCaptureFixture) -> None:
    lab.topics.leaderless = {OTHER}
    lab.step(80)
    lab.topics.deleted.add("logs")
    lab.step(LOOK)
    assert NAME not in lab.problems.now
    assert AGAIN not in caplog.text


def test_with_once_a_partition_that_is_read_to_its_end_needs_no_leader(clock: ManualClock) -> None:
    lab = MemberLab(clock, once=True)
    lab.topics.write(PLACE, b"one")
    lab.begin()
    lab.consumer.plan_assignment(PLACE)
    lab.step(LOOK)
    assert lab.partition.stopped
    lab.topics.leaderless = {PLACE}
    lab.step(100)
    assert lab.problems.now == {}


@pytest.mark.parametrize("way", ["its last record", "its end", "an assignment"])
def test_with_once_a_partition_is_well_at_once_when_all_of_it_is_received(clock: ManualClock, way: str) -> None:
    """The run may end before topics are looked at again, and a problem would be its result."""
    lab = MemberLab(clock, once=True)
    lab.topics.write(PLACE, b"one")
    if way == "its end":
        lab.topics.skip(PLACE, 1)
    lab.begin()
    lab.consumer.plan_assignment(PLACE)
    lab.consumer._pending.append(lambda: lab.topics.leaderless.add(PLACE))
    lab.step(80)
    assert (list(lab.problems.now), lab.partition.stopped) == ([NAME], False)
    lab.topics.leaderless.clear()
    if way == "an assignment":
        lab.topics.committed[PLACE] = 1  # by another member
        lab.session.close()
        lab.begin(lab.made)
        lab.session.rebalances.assigned(lab.consumer, [TopicPartition(*PLACE)])
    lab.consumer.most_at_once = 0
    while not lab.partition.stopped:
        lab.session._receive()  # one message
    assert (lab.problems.now, lab.partition.stopped) == ({}, True)


@pytest.mark.parametrize("is_read_meanwhile", [False, True])
def test_with_once_a_partition_without_a_leader_is_awaited_while_others_are_read(
    clock: ManualClock, is_read_meanwhile: bool, caplog: pytest.LogCaptureFixture
) -> None:
    lab = MemberLab(clock, once=True)
    lab.topics.write(PLACE, b"one")
    lab.topics.write(OTHER, b"of the other")
    lab.topics.leaderless = {OTHER}
    lab.begin()
    give(lab, PLACE, OTHER)
    other = lab.session.rebalances.partitions[OTHER]
    assert lab.texts() == ["one"]
    assert (lab.partition.stopped, other.stopped) == (True, False)
    lab.step(80)
    assert list(lab.problems.now) == [NAME]
    assert not other.stopped
    assert (
        caplog.text.count("partition logs[1] has no leader, because its brokers are down. --once waits for a leader")
        == 1
    )
    lab.topics.leaderless.clear()
    if is_read_meanwhile:
        lab.session._receive()  # before its end is known
    lab.step(LOOK)
    assert [batch.messages.texts for batch in lab.read(other)] == [["of the other"]]
    assert other.stopped
    assert lab.problems.now == {}


@pytest.mark.parametrize("initial", ["latest", datetime(2025, 11, 13, tzinfo=UTC)])
def test_a_group_that_cannot_know_where_it_begins_has_a_reason(
    clock: ManualClock, initial: object, caplog: pytest.LogCaptureFixture
) -> None:
    lab = MemberLab(clock, options={"initial_offset": initial})
    lab.topics.leaderless = {OTHER}
    lab.begin()
    lab.consumer.plan_assignment(PLACE, OTHER)
    with pytest.raises(KafkaException, match=r"logs\[1\]"):
        lab.step()
    words = lab.problems.now["kafka group g"]
    assert words.startswith("a partition has no leader because its brokers are down")
    assert "kafka-topics.sh --describe --unavailable-partitions" in words
    lab.topics.leaderless.clear()
    give(lab, PLACE, OTHER)
    assert lab.problems.now == {}


def test_of_many_partitions_some_are_named(lab: MemberLab) -> None:
    problems: MemberProblems = lab.problems
    many = {("logs", number) for number in range(100)} | {("other", 7)}
    for _ in range(2):
        problems.note_leaders(many, many)
        lab.clock.advance(30)
    assert "logs[19] and 80 more: no leader" in problems.now[NAME]
    assert problems.now["kafka partitions of topic other"].startswith("other[7]: no leader")
