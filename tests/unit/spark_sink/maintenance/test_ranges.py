"""What is read again from Kafka, and in which pieces."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from log_shipper.spark_sink.maintenance.ranges import pieces, range_to_read
from log_shipper.spark_sink.options.model import SinkConfig
from tests.unit.spark_sink.kafka.fake_broker import FakeBroker

A, B = ("logs", 0), ("logs", 1)


@pytest.fixture
def broker() -> FakeBroker:
    return FakeBroker(first={A: 100, B: 0}, end={A: 1000, B: 50})


def test_it_reaches_from_kafkas_first_record_to_what_has_landed(config: SinkConfig, broker: FakeBroker) -> None:
    repairable = range_to_read(config, broker, {A, B}, {A: 900, B: 60})
    assert (repairable.starts, repairable.ends, repairable.offsets) == ({A: 100, B: 0}, {A: 900, B: 50}, 850)
    assert repairable.shorter == {B: 50}
    assert repairable.notes == ("Kafka has deleted logs/0 before 100: rows missing from there are lost",)


def test_what_kafka_has_no_more_or_that_never_landed_is_not_read(config: SinkConfig, broker: FakeBroker) -> None:
    repairable = range_to_read(config, broker, {A, B}, {A: 80, ("gone", 3): 7})
    assert (repairable.starts, repairable.offsets) == ({}, 0)
    assert repairable.notes[0].startswith("gone/3 is not read again")
    assert "logs/0 before 80" in repairable.notes[1]


@pytest.mark.parametrize(
    ("start", "starts"),
    [
        ({"start": "offsets", "start_offsets": {"logs": {0: 300, 1: -2}}}, {A: 300, B: 0}),
        ({"start": "offsets", "start_offsets": {"logs": {0: 30}}}, {A: 100, B: 0}),
        ({"start": "timestamp", "start_timestamp": datetime(2026, 11, 21, tzinfo=UTC)}, {A: 400}),
        ({"start": "offsets", "start_offsets": {"logs": {0: -1, 1: -1}}}, {A: 100, B: 0}),
        ({"start": "latest"}, {A: 100, B: 0}),
    ],
)
def test_what_lies_before_the_configured_beginning_is_not_missing(
    config: SinkConfig, broker: FakeBroker, start: dict[str, Any], starts: dict[Any, int]
) -> None:
    broker.times = {A: [0] * 300 + [2**60]}  # the one with offset 400 is the first of that time or later
    repairable = range_to_read(replace(config, **start), broker, {A, B}, {A: 900, B: 50})
    assert repairable.starts == starts
    warned = start["start"] == "latest" or -1 in start.get("start_offsets", {}).get("logs", {}).values()
    assert any("count as missing" in note for note in repairable.notes) is warned
    assert not any("logs/1 before" in note for note in repairable.notes), "Kafka has all records of it"


@pytest.mark.parametrize(
    "start",
    [
        {"start": "offsets", "start_offsets": {"logs": {0: 300}}},
        {"start": "timestamp", "start_timestamp": datetime(2026, 11, 21, tzinfo=UTC)},
    ],
)
def test_where_the_sink_began_in_the_old_topic_means_nothing_for_the_new_one(
    config: SinkConfig, broker: FakeBroker, start: dict[str, Any]
) -> None:
    broker.times = {A: [0] * 300 + [2**60]}
    repairable = range_to_read(replace(config, **start), broker, {A, B}, {A: 900, B: 50}, recreated={"logs"})
    assert repairable.starts == {A: 100, B: 0}


@pytest.mark.parametrize(
    ("starts", "ends", "most", "expected"),
    [
        ({}, {}, 10, []),
        ({"a": 0}, {"a": 10}, 10, [({"a": 0}, {"a": 10})]),
        ({"a": 3}, {"a": 10}, 4, [({"a": 3}, {"a": 7}), ({"a": 7}, {"a": 10})]),
        ({"a": 0, "b": 5}, {"a": 1, "b": 9}, 4, [({"a": 0, "b": 5}, {"a": 1, "b": 7}), ({"b": 7}, {"b": 9})]),
        ({"a": 0, "b": 0}, {"a": 1, "b": 1}, 1, [({"a": 0, "b": 0}, {"a": 1, "b": 1})]),
    ],
)
def test_pieces_cover_every_offset_once(
    starts: dict[str, int], ends: dict[str, int], most: int, expected: list[Any]
) -> None:
    assert list(pieces(partition(starts), partition(ends), most)) == [
        (partition(start), partition(end)) for start, end in expected
    ]


def partition(topics: dict[str, int]) -> dict[tuple[str, int], int]:
    return {(topic, 0): offset for topic, offset in topics.items()}
