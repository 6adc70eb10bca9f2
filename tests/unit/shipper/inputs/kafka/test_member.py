"""A member and its consumers, one after the other. Its thread is a real one."""

import threading
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import KafkaError

from log_shipper.shipper.inputs.kafka.member import Member
from tests.fakes import ManualClock
from tests.member_lab import PLACE, MemberLab

LOOKS = 2000


class Site:
    """A member in a memory cluster."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.lab = MemberLab(clock, once=True)
        self.topics = self.lab.topics
        self._woken = threading.Event()
        self.member = Member(self.topics.clients, self.lab.context(self._woken.set))
        self.member.start()

    def wait_until(self, is_over: Callable[[], bool]) -> None:
        for _ in range(LOOKS):
            if is_over():
                return
            self._woken.clear()
            self._woken.wait(0.01)
        raise AssertionError("nothing has changed")

    def give(self, number: int) -> None:
        """Give the partition to its consumer of this number."""
        self.wait_until(lambda: len(self.topics.consumers) > number)
        self.topics.consumers[number].plan_assignment(PLACE)
        self.wait_until(lambda: PLACE in self.member.partitions)


@pytest.fixture
def site(clock: ManualClock) -> Iterator[Site]:
    site = Site(clock)
    yield site
    site.member.stop()
    site.wait_until(lambda: site.member.has_ended)


def test_a_consumer_that_has_failed_does_not_leave_the_member_with_nothing_to_read(site: Site) -> None:
    site.give(0)
    assert site.member.assignment == site.member.partitions
    site.topics.consumers[0].on_error(KafkaError(KafkaError.FENCED_INSTANCE_ID, "fenced", True))
    site.wait_until(lambda: site.topics.consumers[0].is_closed)
    site.wait_until(lambda: not site.member.partitions)
    site.wait_until(lambda: site.member.assignment is None)
    assert not site.member.has_ended


def test_a_topic_that_is_made_again_is_read_by_another_consumer(site: Site) -> None:
    site.give(0)
    site.topics.recreate("logs")
    site.topics.write(PLACE, b"new")
    site.clock.advance(60)
    site.give(1)
    assert site.topics.consumers[0].is_closed
    site.wait_until(lambda: site.member.partitions[PLACE].has_blocks)


def test_records_that_were_lost_are_counted_on(site: Site) -> None:
    site.topics.write(PLACE, *[b"x"] * 10)
    site.topics.committed[PLACE] = 2
    site.topics.delete_before(PLACE, 7)
    site.give(0)
    site.wait_until(lambda: site.member.records_lost == 5)
    site.topics.consumers[0].on_error(KafkaError(KafkaError.FENCED_INSTANCE_ID, "fenced", True))
    site.wait_until(lambda: not site.member.partitions)
    assert site.member.records_lost == 5
