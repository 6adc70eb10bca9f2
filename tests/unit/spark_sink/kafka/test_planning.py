"""Where the next batch ends."""

import pytest

from log_shipper.spark_sink.errors import Refused, SinkError
from log_shipper.spark_sink.kafka.planning import Planner, PlanningLimits, begin_new_topics, resume
from log_shipper.spark_sink.options.kafka import KafkaSource
from tests.fakes import ManualClock
from tests.unit.spark_sink.kafka.fake_broker import FakeBroker

A, B, OTHER = ("logs", 0), ("logs", 1), ("other", 0)


class PlannerLab:
    def __init__(
        self, limits: PlanningLimits | None = None, *, may_lose: bool = False, ids: dict[str, str] | None = None
    ) -> None:
        self.broker = FakeBroker(end={A: 10, B: 20, OTHER: 5}, topic_ids={"logs": "one", "other": "two"})
        self.clock = ManualClock()
        kafka = KafkaSource(hosts=("k:9092",), topics=("logs", "other"), metadata_max_age=30.0)
        limits = limits or PlanningLimits(max_offsets=1000)
        self.planner = Planner(kafka, limits, may_lose, self.broker, {A: 4, B: 20}, ids or {}, self.clock.monotonic)

    def ends(self) -> dict[tuple[str, int], int]:
        return dict(self.planner.next_ends())


def test_a_batch_ends_where_kafka_ends() -> None:
    lab = PlannerLab()
    assert lab.ends() == {A: 10, B: 20, OTHER: 5}
    assert lab.ends() == {A: 10, B: 20, OTHER: 5}
    lab.broker.end[B] = 21
    assert lab.ends() == {A: 10, B: 21, OTHER: 5}


def test_a_batch_has_no_more_than_the_limit_in_proportion_to_what_there_is() -> None:
    lab = PlannerLab(PlanningLimits(max_offsets=200))
    lab.broker.end |= {A: 1004, B: 520, OTHER: 2}
    assert lab.ends() == {A: 4 + 133, B: 20 + 66, OTHER: 1}
    for _ in range(50):
        lab.ends()
    assert lab.ends() == lab.broker.end


def test_a_batch_waits_for_the_least_number_of_records_and_not_for_ever() -> None:
    lab = PlannerLab(PlanningLimits(max_offsets=1000, min_offsets=100, max_wait=60.0))
    before = lab.ends()
    lab.clock.advance(59)
    assert lab.ends() == before
    lab.clock.advance(2)
    assert lab.ends() == {A: 10, B: 20, OTHER: 5}
    lab.broker.end[A] = 110
    assert lab.ends() == {A: 110, B: 20, OTHER: 5}


def test_nothing_is_planned_behind_the_end_of_the_run_nor_of_a_partition_without_one() -> None:
    lab = PlannerLab(PlanningLimits(max_offsets=1000, ends={A: 7, B: 3}))
    assert lab.ends() == {A: 7, B: 20, OTHER: 0}
    lab.broker.end[A] = 100
    assert lab.ends() == {A: 7, B: 20, OTHER: 0}


def test_new_partitions_are_found_when_the_metadata_is_old() -> None:
    lab, new = PlannerLab(), ("logs", 2)
    lab.ends()
    lab.broker.end[new] = 3
    assert new not in lab.ends()
    lab.clock.advance(31)
    assert lab.ends()[new] == 3


def test_a_topic_that_is_deleted_is_refused_in_words_or_left_out() -> None:
    lab = PlannerLab()
    lab.ends()
    del lab.broker.end[OTHER]
    with pytest.raises(SinkError, match=r"other/0: deleted in Kafka.*lost_offsets: continue"):
        lab.ends()
    careless = PlannerLab(may_lose=True)
    careless.ends()
    del careless.broker.end[OTHER]
    careless.broker.end[A] = 11
    assert careless.ends() == {A: 11, B: 20}


def test_a_topic_that_was_recreated_is_refused() -> None:
    """Also where records may be lost: those of the new topic are not lost, and would be left out."""
    lab = PlannerLab(may_lose=True)
    lab.ends()
    lab.broker.end[A], lab.broker.topic_ids["logs"] = 1, "three"
    with pytest.raises(Refused, match=r"logs was deleted and re-created.*its id was one, and is three.*repair"):
        lab.ends()


def test_a_topic_that_was_deleted_before_the_start_and_is_recreated_afterwards_is_refused() -> None:
    """Its first records have offsets that the marks have, and would be left out."""
    lab = PlannerLab(may_lose=True, ids={"logs": "one", "other": "before", "elsewhere": "x"})
    del lab.broker.end[OTHER]
    assert lab.ends() == {A: 10, B: 20}
    lab.broker.end[OTHER] = 9
    lab.clock.advance(31)
    with pytest.raises(Refused, match=r"other was deleted and re-created.*its id was before, and is two.*repair"):
        lab.ends()


def test_a_partition_that_the_last_batch_does_not_name_is_resumed_where_it_has_landed() -> None:
    assert resume({A: 7}, {A: 5, B: 20, OTHER: 3}, {A, B, ("logs", 2)}) == {A: 7, B: 20}


def test_a_topic_of_which_nothing_is_known_begins_at_its_first_record() -> None:
    """Of one that is known, what Kafka deleted of a new partition is lost."""
    new = ("new", 0)
    first = {A: 0, B: 5, OTHER: 6, new: 7}
    assert begin_new_topics(first, {A: 3}, {OTHER: 9}) == {new: 7}
    assert begin_new_topics(first, {A: 3}, {}) == {OTHER: 6, new: 7}


def test_a_partition_that_ends_earlier_than_before_is_refused_or_stays_where_it_is() -> None:
    lab = PlannerLab()
    lab.ends()
    lab.broker.end[B] = 19
    with pytest.raises(SinkError, match="logs/1: Kafka's end is before the landed offsets"):
        lab.ends()
    careless = PlannerLab(may_lose=True)
    careless.ends()
    careless.broker.end[B] = 19
    assert careless.ends()[B] == 20


def test_without_ids_a_partition_that_ends_earlier_begins_again() -> None:
    lab = PlannerLab(may_lose=True)
    lab.broker.topic_ids.clear()
    lab.ends()
    lab.broker.end[B] = 3
    assert lab.ends()[B] == 3
    lab.broker.end[B] = 5
    assert lab.ends()[B] == 5
