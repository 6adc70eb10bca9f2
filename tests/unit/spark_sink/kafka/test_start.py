from dataclasses import replace
from datetime import UTC, datetime

import pytest

from log_shipper.spark_sink.errors import Refused
from log_shipper.spark_sink.kafka.planned_source import as_topics
from log_shipper.spark_sink.kafka.start import Start, resolve
from log_shipper.spark_sink.options.model import SinkConfig
from log_shipper.spark_sink.options.parts import LostOffsets
from tests.unit.spark_sink.kafka.fake_broker import FakeBroker

THERE = {("logs", 0), ("logs", 1)}
TEN = datetime(2026, 11, 21, 10, tzinfo=UTC)
TEN_MS = round(TEN.timestamp() * 1000)


@pytest.fixture
def broker() -> FakeBroker:
    """logs/0 has the offsets 100 to 199, logs/1 those from 0 to 49."""
    return FakeBroker(first={("logs", 0): 100}, end={("logs", 0): 200, ("logs", 1): 50})


def begins(start: Start) -> dict[str, dict[str, int]]:
    return as_topics(start.offsets)


def test_the_first_record_is_that_of_the_start(config: SinkConfig, broker: FakeBroker) -> None:
    assert begins(resolve(config, broker, THERE)) == {"logs": {"0": 100, "1": 0}}


def test_the_end_is_where_it_is_at_the_start(config: SinkConfig, broker: FakeBroker) -> None:
    assert begins(resolve(replace(config, start="latest"), broker, THERE)) == {"logs": {"0": 200, "1": 50}}


def test_a_time_begins_at_its_first_record_and_at_the_end_where_there_is_none(
    config: SinkConfig, broker: FakeBroker
) -> None:
    broker.times = {("logs", 0): [TEN_MS - 2, TEN_MS - 1, TEN_MS, TEN_MS], ("logs", 1): [TEN_MS - 1] * 50}
    start = resolve(replace(config, start="timestamp", start_timestamp=TEN), broker, THERE)
    assert begins(start) == {"logs": {"0": 102, "1": 50}}
    assert start.notes == ("logs/1 has no record at or after start_timestamp; reading from its end",)


def test_a_record_that_comes_while_the_time_is_looked_up_is_not_skipped(config: SinkConfig, broker: FakeBroker) -> None:
    class Growing(FakeBroker):
        def partition(self, partitions, milliseconds):  # type: ignore[no-untyped-def]  # as in the fake
            self.end = {partition: end + 1 for partition, end in self.end.items()}
            return {}

    growing = Growing(first=broker.first, end=broker.end)
    start = resolve(replace(config, start="timestamp", start_timestamp=TEN), growing, THERE)
    assert begins(start) == {"logs": {"0": 200, "1": 50}}


def test_offsets_are_taken_as_named_and_what_is_not_named_begins_at_its_first_record(
    config: SinkConfig, broker: FakeBroker
) -> None:
    start = resolve(replace(config, start="offsets", start_offsets={"logs": {0: 150}}), broker, THERE)
    assert begins(start) == {"logs": {"0": 150, "1": 0}}
    assert start.notes == ("start_offsets has no offset for logs/1; reading from its first record",)


def test_the_first_and_the_end_may_stand_among_offsets(config: SinkConfig, broker: FakeBroker) -> None:
    """And what was deleted before the first record is not lost: no one asked for it."""
    start = resolve(replace(config, start="offsets", start_offsets={"logs": {0: -2, 1: -1}}), broker, THERE)
    assert begins(start) == {"logs": {"0": 100, "1": 50}}
    assert start.notes == ()


@pytest.mark.parametrize("edge", [100, 200])
def test_the_first_offset_and_the_end_are_within_the_range(config: SinkConfig, broker: FakeBroker, edge: int) -> None:
    start = resolve(replace(config, start="offsets", start_offsets={"logs": {0: edge, 1: 0}}), broker, THERE)
    assert begins(start)["logs"]["0"] == edge


def test_offsets_that_kafka_has_deleted_are_refused_by_topic_partition_and_range(
    config: SinkConfig, broker: FakeBroker
) -> None:
    wrong = replace(config, start="offsets", start_offsets={"logs": {0: 99, 1: 0}})
    with pytest.raises(Refused, match=r"topic logs, partition 0: wanted 99, available 100 to 200.*lost_offsets"):
        resolve(wrong, broker, THERE)


def test_with_lost_offsets_continue_the_batch_begins_where_it_was_configured_and_the_loss_can_be_seen(
    config: SinkConfig, broker: FakeBroker
) -> None:
    start = resolve(
        replace(config, start="offsets", start_offsets={"logs": {0: 99, 1: 0}}, lost_offsets="continue"), broker, THERE
    )
    assert begins(start) == {"logs": {"0": 99, "1": 0}}


@pytest.mark.parametrize("lost", ["fail", "continue"])
def test_offsets_behind_the_end_are_refused_whatever_may_be_lost(
    config: SinkConfig, broker: FakeBroker, lost: LostOffsets
) -> None:
    wrong = replace(config, start="offsets", start_offsets={"logs": {1: 51}}, lost_offsets=lost)
    with pytest.raises(Refused, match=r"logs, partition 1: wanted 51, available 0 to 50\. The topic was re-created"):
        resolve(wrong, broker, THERE)


def test_an_offset_of_a_partition_that_is_not_there_is_refused(config: SinkConfig, broker: FakeBroker) -> None:
    wrong = replace(config, start="offsets", start_offsets={"logs": {0: 150, 7: 0}})
    with pytest.raises(
        Refused,
        match=r"start_offsets has offsets for logs/7: not found in Kafka, or not selected under kafka\. Correct "
        "start_offsets",
    ):
        resolve(wrong, broker, THERE)


def test_a_groups_offsets_are_those_of_the_topics_that_are_read(config: SinkConfig, broker: FakeBroker) -> None:
    broker.groups = {"old": {("logs", 0): 170, ("others", 0): 3}}
    start = resolve(replace(config, start="committed", start_group="old"), broker, THERE)
    assert begins(start) == {"logs": {"0": 170, "1": 0}}
    assert start.notes == ("the group old has no offset for logs/1; reading from its first record",)


def test_without_a_group_of_its_own_the_monitoring_group_is_meant(config: SinkConfig, broker: FakeBroker) -> None:
    broker.groups = {"spark-sink": {("logs", 0): 170, ("logs", 1): 1}}
    assert begins(resolve(replace(config, start="committed"), broker, THERE)) == {"logs": {"0": 170, "1": 1}}


def test_a_group_without_offsets_of_these_topics_is_refused(config: SinkConfig, broker: FakeBroker) -> None:
    broker.groups = {"old": {("others", 0): 3}}
    with pytest.raises(Refused, match="the group old has no committed offsets"):
        resolve(replace(config, start="committed", start_group="old"), broker, THERE)


def test_a_table_goes_on_where_it_ends_and_new_partitions_begin_at_their_first_record(
    config: SinkConfig, broker: FakeBroker
) -> None:
    ends = {("logs", 0): 180, ("gone", 3): 9}
    start = resolve(replace(config, start="table"), broker, THERE, ends)
    assert begins(start) == {"logs": {"0": 180, "1": 0}}


def test_a_table_that_ends_behind_the_topics_end_is_of_another_topic(config: SinkConfig, broker: FakeBroker) -> None:
    with pytest.raises(Refused, match=r"beyond the end: topic logs, partition 1: wanted 900.*repair --from-kafka"):
        resolve(replace(config, start="table"), broker, THERE, {("logs", 1): 900})
