from log_shipper.spark_sink.kafka.offset_ranges import OffsetRange
from log_shipper.spark_sink.landing.range_tasks import MAX_OFFSETS, MIN_OFFSETS, parts_of


def sizes(offsets: int, cores: int) -> list[int]:
    parts = parts_of(
        [OffsetRange("logs", 0, 0, offsets // 2), OffsetRange("logs", 1, 0, offsets - offsets // 2)], cores
    )
    return [sum(map(len, part)) for part in parts]


def test_a_batch_has_a_task_for_each_core_and_a_small_one_fewer() -> None:
    assert sizes(4 * MIN_OFFSETS, 4) == [MIN_OFFSETS] * 4
    assert sizes(2 * MIN_OFFSETS, 4) == [MIN_OFFSETS] * 2
    assert parts_of([], 4) == []


def test_a_very_large_batch_has_more_tasks_so_that_their_ends_show_its_progress() -> None:
    assert sizes(10 * MAX_OFFSETS, 4) == [MAX_OFFSETS] * 10
