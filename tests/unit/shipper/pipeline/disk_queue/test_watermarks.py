"""The marks of how full a file system is, with a disk of the test."""

from pathlib import Path

import pytest

from log_shipper.shipper.pipeline.disk_queue.watermarks import FLOOD, HIGH, LOW, OK, Space, WatermarkLevels, Watermarks
from tests.fakes import ManualClock

QUEUE, REGISTRY = Path("/queue"), Path("/registry")


class Disk:
    def __init__(self) -> None:
        self.used = {QUEUE: 0.0, REGISTRY: 0.0}
        self.looks = 0
        self.hangs = False

    def measure(self, path: Path) -> Space:
        self.looks += 1
        if self.hangs:
            raise OSError
        return Space(int((1 - self.used[path]) * 10_000), 10_000, device=len(str(path)))


@pytest.fixture
def disk() -> Disk:
    return Disk()


@pytest.fixture
def watermarks(disk: Disk, clock: ManualClock) -> Watermarks:
    return Watermarks((QUEUE, REGISTRY), WatermarkLevels(), clock.monotonic, disk.measure)


def level_at(used: float, watermarks: Watermarks, disk: Disk, clock: ManualClock) -> int:
    disk.used[QUEUE] = used
    clock.advance(1)
    assert watermarks.may_grow() == (watermarks.level < HIGH)
    return watermarks.level


def test_each_mark_is_reached_and_ends_a_little_below(watermarks: Watermarks, disk: Disk, clock: ManualClock) -> None:
    story = [(0.8, OK), (0.86, LOW), (0.849, LOW), (0.839, OK), (0.91, HIGH), (0.899, HIGH), (0.889, LOW)]
    story += [(0.96, FLOOD), (0.945, FLOOD), (0.939, HIGH), (0.96, FLOOD), (0.1, OK)]
    assert [level_at(used, watermarks, disk, clock) for used, _ in story] == [level for _, level in story]


def test_the_fuller_file_system_counts_and_a_flooded_one_is_named(
    watermarks: Watermarks, disk: Disk, clock: ManualClock
) -> None:
    disk.used[REGISTRY] = 0.97
    assert level_at(0.5, watermarks, disk, clock) == FLOOD
    assert watermarks.devices_over_flood_mark == {len(str(REGISTRY))}
    disk.used[REGISTRY] = 0.5
    assert level_at(0.5, watermarks, disk, clock) == OK
    assert watermarks.devices_over_flood_mark == frozenset()


def test_marks_may_be_bytes_that_stay_free() -> None:
    marks = WatermarkLevels(-5000.0, -3000.0, -1000.0)
    levels = [marks.level(Space(free, 10**9)) for free in (5000, 4999, 2999, 999)]
    assert levels == [OK, LOW, HIGH, FLOOD]


def test_it_looks_once_a_second_and_keeps_what_it_knows_while_nothing_answers(
    watermarks: Watermarks, disk: Disk, clock: ManualClock
) -> None:
    disk.used[QUEUE] = 0.92
    for _ in range(5):
        assert not watermarks.may_grow()
    assert disk.looks == 2
    disk.hangs = True
    assert level_at(0.1, watermarks, disk, clock) == HIGH


def test_the_log_says_what_follows_and_when_it_is_over(
    watermarks: Watermarks, disk: Disk, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    for used in (0.91, 0.91, 0.87, 0.1):
        level_at(used, watermarks, disk, clock)
    assert len(caplog.messages) == 3
    assert "/queue reached the high watermark: 91.0 % used, 0 MiB free; the queue stops growing" in caplog.text
    assert "/queue is back at the low watermark: 87.0 % used, 0 MiB free; free some space" in caplog.text
    assert "/queue has space again: 10.0 % used" in caplog.text
