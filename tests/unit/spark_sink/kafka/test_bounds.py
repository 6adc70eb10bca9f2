from dataclasses import replace
from datetime import UTC, datetime

import pytest

from log_shipper.spark_sink.errors import Refused
from log_shipper.spark_sink.kafka.bounds import Bounds, not_landed, resolve
from log_shipper.spark_sink.options.model import SinkConfig
from tests.unit.spark_sink.kafka.fake_broker import FakeBroker

A, B, NEW = ("logs", 0), ("logs", 1), ("logs", 2)
THERE = {A, B}
TEN = datetime(2026, 11, 21, 10, tzinfo=UTC)
TEN_MS = round(TEN.timestamp() * 1000)
BROKER = FakeBroker(end={A: 100, B: 50}, times={A: [TEN_MS - 1, TEN_MS, TEN_MS - 1, TEN_MS], B: [TEN_MS - 1]})
BOUNDS = Bounds({A: 10, B: 20})


def test_the_bounds_are_reached_when_every_partition_was_read_up_to_its_own() -> None:
    assert not BOUNDS.reached({})
    assert not BOUNDS.reached({A: 10, B: 19})
    assert not BOUNDS.reached({A: 999})
    assert BOUNDS.reached({A: 10, B: 20})
    assert BOUNDS.reached({A: 11, B: 999, NEW: 1})
    assert Bounds({A: 0}).reached({})
    assert Bounds({A: 0}).reached()


def test_what_the_run_will_never_read_is_not_waited_for() -> None:
    begins, first = {A: 10}, {A: 0, B: 20}
    assert BOUNDS.reached({B: 3}, begins, first)
    assert not BOUNDS.reached({B: 3}, begins)


def test_what_lands_of_a_batch_ends_at_the_bounds_and_nothing_lands_of_a_new_partition() -> None:
    assert BOUNDS.cut({A: 15, B: 5, NEW: 7}) == {A: 10, B: 5, NEW: 0}


def test_where_a_run_begins_behind_a_bound_what_lies_before_was_not_left_out() -> None:
    assert BOUNDS.cut({A: 60, B: 70}, {A: 50, B: 3}) == {A: 50, B: 20}


def test_what_was_read_and_not_landed_is_the_next_runs() -> None:
    assert not_landed({A: 10, B: 20, NEW: 0}, {A: 15, B: 20, NEW: 7}) == {A: 15, NEW: 7}
    assert not_landed({A: 15}, {A: 15, B: 20}) == {}
    assert not_landed({A: 16}, {A: 15}) == {}


def test_a_run_without_an_end_has_no_bounds(config: SinkConfig) -> None:
    assert resolve(replace(config, stop="never"), BROKER, THERE) is None


def test_what_is_available_ends_where_kafka_ends_now(config: SinkConfig) -> None:
    assert resolve(replace(config, stop="available-now"), BROKER, THERE) == Bounds({A: 100, B: 50})


def test_offsets_are_the_bounds(config: SinkConfig) -> None:
    config = replace(config, stop="offsets", stop_offsets={"logs": {0: 5, 1: 900}})
    assert resolve(config, BROKER, THERE) == Bounds({A: 5, B: 900})


@pytest.mark.parametrize(
    ("offsets", "message"),
    [
        ({0: 5}, "stop_offsets has no end for logs/1"),
        (
            {0: 5, 1: 5, 9: 1},
            "stop_offsets has offsets for logs/9: not found in Kafka, or not selected under kafka. Correct "
            "stop_offsets",
        ),
    ],
)
def test_every_partition_needs_an_end_and_every_end_a_partition(
    config: SinkConfig, offsets: dict[int, int], message: str
) -> None:
    with pytest.raises(Refused, match=message):
        resolve(replace(config, stop="offsets", stop_offsets={"logs": offsets}), BROKER, THERE)


def test_a_time_ends_at_its_first_record_or_where_the_partition_ends_now(config: SinkConfig) -> None:
    bounds = resolve(replace(config, stop="timestamp", stop_timestamp=TEN), BROKER, THERE)
    note = "logs/1 has no record at or after stop_timestamp; stopping at its current end"
    assert bounds == Bounds({A: 1, B: 50}, (note,))
