"""What keeps the input from reading, in words."""

import logging

import pytest
from confluent_kafka import KafkaError

from log_shipper.shipper.inputs.kafka.options import KafkaInputConfig
from log_shipper.shipper.inputs.kafka.problems import MemberProblems
from tests.fakes import ManualClock

FORBIDDEN = KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)
REFUSED = KafkaError(KafkaError._TRANSPORT, "b:1/2: Connect to ipv4#10.0.0.2:1 failed: Connection refused")
COORDINATOR = KafkaError(KafkaError._TRANSPORT, "GroupCoordinator: b:1: Connect to ipv4#10.0.0.2:1 failed: refused")
OTHER = KafkaError(KafkaError._TRANSPORT, "c:1/3: Connect to ipv4#10.0.0.3:1 failed: Connection refused")
ALL_DOWN = KafkaError(KafkaError._ALL_BROKERS_DOWN, "3/3 brokers are down")


@pytest.fixture
def problems(clock: ManualClock) -> MemberProblems:
    return MemberProblems(KafkaInputConfig(id="in", hosts=("a:1",), topics=("logs",), group_id="g"), clock.monotonic)


def test_a_topic_of_which_records_come_is_well_once_nothing_is_reported_any_more(
    problems: MemberProblems, clock: ManualClock
) -> None:
    problems.report(FORBIDDEN, "logs")
    clock.advance(9)
    problems.note_records({"logs"})  # of another partition, perhaps
    assert list(problems.now) == ["kafka topic logs"]
    problems.report(FORBIDDEN, "logs")
    clock.advance(9)
    problems.note_records({"logs"})
    assert list(problems.now) == ["kafka topic logs"]
    clock.advance(2)
    problems.note_records({"others"})
    assert list(problems.now) == ["kafka topic logs"]
    problems.note_records({"logs"})
    assert problems.now == {}


def test_records_show_that_the_group_works(problems: MemberProblems) -> None:
    problems.report(KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED))
    problems.note_records({"logs"})
    assert problems.now == {}


def test_what_does_not_exist_is_named_where_the_client_names_it(problems: MemberProblems) -> None:
    problems.report(KafkaError(KafkaError._UNKNOWN_PARTITION, "gone"), "logs")
    problems.report(KafkaError(KafkaError._UNKNOWN_PARTITION, "gone"))
    assert problems.now["kafka topic logs"].startswith("topic logs does not exist; create it")
    assert problems.now["kafka group g"].startswith("a topic or partition does not exist; create it")


def test_one_broker_that_is_away_is_no_problem_until_it_stays_away(
    problems: MemberProblems, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(3):
        problems.connection_failed(REFUSED)
        clock.advance(10)
    assert problems.now == {}
    assert [(record.levelno, REFUSED.str() in record.message) for record in caplog.records] == [(logging.WARNING, True)]
    problems.connection_failed(COORDINATOR)  # the same broker
    assert problems.now["kafka brokers of group g"].startswith("a broker is not responding; check hosts (a:1)")
    clock.advance(44)
    problems.note_response()
    assert problems.now
    clock.advance(1)
    problems.note_response()
    assert problems.now == {}
    problems.connection_failed(REFUSED)  # another one, which is not away for long
    assert problems.now == {}


def test_brokers_that_are_restarted_one_after_the_other_are_no_problem(
    problems: MemberProblems, clock: ManualClock
) -> None:
    for error in (REFUSED, OTHER) * 3:
        problems.connection_failed(error)
        clock.advance(25)
        problems.connection_failed(error)
        problems.note_response()
        assert problems.now == {}
        clock.advance(10)


def test_brokers_that_are_all_away_are_one_problem_until_they_answer(
    problems: MemberProblems, clock: ManualClock
) -> None:
    problems.connection_failed(REFUSED)
    problems.connection_failed(ALL_DOWN)
    clock.advance(30)
    problems.connection_failed(REFUSED)
    assert list(problems.now) == ["kafka group g"]
    assert problems.now["kafka group g"].startswith("no broker responds at a:1; check hosts")
    clock.advance(10)
    problems.note_response()
    assert problems.now == {}
    problems.connection_failed(REFUSED)
    assert problems.now == {}


def test_that_brokers_answer_does_not_end_what_they_refuse(problems: MemberProblems, clock: ManualClock) -> None:
    problems.report(KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED))
    clock.advance(60)
    problems.note_response()
    assert list(problems.now) == ["kafka group g"]
