import logging
from pathlib import Path

import pytest

from log_shipper.shipper.monitor.free_space import EVERY, FreeSpace

GIB = 1024**3


@pytest.fixture
def space(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> FreeSpace:
    caplog.set_level(logging.INFO)
    return FreeSpace(tmp_path)


def test_a_disk_that_is_nearly_full_is_a_warning_and_that_it_is_over_a_line(
    space: FreeSpace, caplog: pytest.LogCaptureFixture
) -> None:
    for free in (20, 6, 4, 3, 5, 6, 20):
        space.update(free * GIB, 100 * GIB)
    assert [(record.levelname, record.message.partition(")")[2]) for record in caplog.records] == [
        (
            "WARNING",
            " is nearly full: 4.0 GiB of 100.0 GiB free. When it is full, positions and rejected events cannot be "
            "saved, and new files are not read. Free some space",
        ),
        ("INFO", " has enough space again: 6.0 GiB free"),
    ]


@pytest.mark.parametrize(("free", "size", "low"), [(99 << 20, GIB, True), (101 << 20, GIB, False), (4, 100, True)])
def test_it_is_low_below_a_share_and_below_a_number_of_bytes(space: FreeSpace, free: int, size: int, low: bool) -> None:
    space.update(free, size)
    assert space.space is not None
    assert space.space.is_low == low


def test_it_is_measured_from_time_to_time(space: FreeSpace) -> None:
    space.step(100.0)
    first = space.space
    assert first is not None
    assert 0 < first.free <= first.size
    space.step(100.0 + EVERY - 0.1)
    assert space.space is first
    space.step(100.0 + EVERY)
    assert space.space is not first


def test_a_directory_that_is_missing_has_no_space(tmp_path: Path) -> None:
    space = FreeSpace(tmp_path / "missing")
    space.step(0.0)
    assert space.space is None
