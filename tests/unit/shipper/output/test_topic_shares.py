from collections.abc import Sequence

import pytest

from log_shipper.shipper.event import BATCH_OVERHEAD, EVENT_OVERHEAD, Batch, Topics
from log_shipper.shipper.output.topic_shares import (
    MAX_SHARES,
    SHARE_OF_OTHERS,
    SHARE_OF_WORKING,
    WORKS_FOR,
    TopicShares,
)
from tests.builders import batch, source
from tests.fakes import ManualClock

EVENTS = 6400
OF_WORKING = int(EVENTS * SHARE_OF_WORKING)
OF_OTHERS = int(EVENTS * SHARE_OF_OTHERS)
WEB, ERRORS = Topics("web"), Topics("errors")


@pytest.fixture
def shares(clock: ManualClock) -> TopicShares:
    return TopicShares(EVENTS, 2**40, clock)


def events(count: int, file_id: str = "f1") -> Batch:
    return batch(["x"] * count, file_id)


def let_work(shares: TopicShares, topics: Topics) -> None:
    first = events(1, "first")
    shares.add(first, topics)
    shares.remove(first, topics)


def taken(shares: TopicShares, file_ids: Sequence[str]) -> list[bool]:
    return [shares.takes_more(source(file_id)) for file_id in file_ids]


def test_a_topic_that_never_worked_takes_little_of_the_queue_whatever_the_number_of_its_files(
    shares: TopicShares,
) -> None:
    shares.add(events(OF_OTHERS - 1), WEB)
    assert shares.takes_more(source("f1"))
    shares.add(events(1, "f2"), WEB)
    assert taken(shares, ["f1", "f2", "f3"]) == [False, False, True]


def test_a_topic_that_works_takes_more_until_it_has_not_for_a_while(shares: TopicShares, clock: ManualClock) -> None:
    let_work(shares, WEB)
    shares.add(events(OF_WORKING - 1), WEB)
    assert shares.takes_more(source("f1"))
    assert not shares.awaits_reports
    shares.add(events(1), WEB)
    assert not shares.takes_more(source("f1"))
    assert shares.awaits_reports
    clock.advance(WORKS_FOR)
    assert not shares.awaits_reports


def test_a_topic_that_stopped_working_gets_no_more_than_one_that_never_did(
    shares: TopicShares, clock: ManualClock
) -> None:
    let_work(shares, WEB)
    shares.add(events(OF_OTHERS), WEB)
    assert shares.takes_more(source("f1"))
    clock.advance(WORKS_FOR)
    assert not shares.takes_more(source("f1"))


def test_bytes_count_too(clock: ManualClock) -> None:
    shares = TopicShares(10**9, int(2 * (BATCH_OVERHEAD + EVENT_OVERHEAD) / SHARE_OF_OTHERS), clock)
    shares.add(events(1), WEB)
    assert shares.takes_more(source("f1"))
    shares.add(events(1), WEB)
    assert not shares.takes_more(source("f1"))


def test_what_is_delivered_makes_room(shares: TopicShares) -> None:
    first = events(OF_WORKING)
    shares.add(first, WEB)
    shares.add(events(1), WEB)
    shares.remove(first, WEB)
    assert shares.takes_more(source("f1"))


def test_another_topic_has_room_of_its_own(shares: TopicShares) -> None:
    shares.add(events(OF_WORKING, "broken"), WEB)
    shares.add(events(1, "f2"), ERRORS)
    assert taken(shares, ["broken", "f2"]) == [False, True]


def test_a_batch_of_several_topics_counts_for_its_file_alone(shares: TopicShares) -> None:
    mixed = events(OF_OTHERS)
    topics = Topics(None, ["web", "errors"] * (OF_OTHERS // 2))
    shares.add(mixed, topics)
    shares.add(events(1, "f2"), WEB)
    assert taken(shares, ["f1", "f2"]) == [False, True]
    shares.remove(mixed, topics)
    assert shares.takes_more(source("f1"))


def test_topics_that_are_settled_are_forgotten_when_there_are_many(shares: TopicShares, clock: ManualClock) -> None:
    shares.add(events(OF_OTHERS), WEB)
    for number in range(MAX_SHARES * 3):
        let_work(shares, Topics(f"day-{number}"))
        clock.advance(1.0)
    assert len(shares._shares) <= MAX_SHARES
    assert not shares.takes_more(source("f1"))
