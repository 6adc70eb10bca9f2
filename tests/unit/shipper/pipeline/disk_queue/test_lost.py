"""Events that are lost are counted once, and each place is named."""

from pathlib import Path

import pytest

from log_shipper.shipper.pipeline.disk_queue.frames import Damage, Frame
from log_shipper.shipper.pipeline.disk_queue.lost import Gaps, Lost
from log_shipper.shipper.pipeline.disk_queue.segment import Segment


def frame(number: int, events: int) -> Frame:
    return Frame(0, 10, 0, 0, number, 0, events, 0, number)


def segment(number: int) -> Segment:
    return Segment(number, Path(f"/q/{number:04}.seg"))


@pytest.mark.parametrize(
    ("ranges", "counted"),
    [
        (((0, 10), (0, 10)), 10),
        (((0, 10), (5, 20), (30, 40), (0, 50)), 50),
        (((10, 20), (0, 10), (20, 21)), 21),
        (((30, 40), (10, 20), (0, 5), (15, 31)), 35),
        (((5, 5), (7, 3)), 0),
    ],
)
def test_events_are_counted_once_whatever_ranges_they_are_found_in(
    ranges: tuple[tuple[int, int], ...], counted: int
) -> None:
    lost = Lost()
    assert sum(lost.add(start, end, ["/q/0001.seg"]) for start, end in ranges) == counted
    assert lost.events == counted


def test_each_missing_file_is_named(caplog: pytest.LogCaptureFixture) -> None:
    lost = Lost()
    gaps = Gaps(lost)
    gaps.enter(segment(1))
    gaps.passed(frame(0, 2), 0, 100)
    gaps.enter(segment(4))
    assert gaps.passed(frame(9, 1), 0, 100) == 7
    gaps.enter(segment(6))
    gaps.damaged(segment(6), Damage(36, 90))
    assert gaps.passed(frame(15, 1), 0, 100) == 5
    assert "/q/0002.seg to 0003.seg missing. Lost: 7 undelivered events; all others are delivered" in caplog.text
    assert "/q/0006.seg from byte 36 to 90; /q/0005.seg missing. Lost: 5 undelivered events" in caplog.text


def test_what_is_missing_at_the_end_is_counted_as_at_least_so_many(caplog: pytest.LogCaptureFixture) -> None:
    lost = Lost()
    gaps = Gaps(lost)
    gaps.enter(segment(3))
    gaps.passed(frame(0, 2), 0, 100)
    assert gaps.close(0, 12) == 10
    assert "data after the end of /q/0003.seg. Lost: at least 10 undelivered events" in caplog.text


def test_damage_to_what_is_delivered_is_no_loss(caplog: pytest.LogCaptureFixture) -> None:
    gaps = Gaps(Lost())
    gaps.damaged(segment(1), Damage(36, 90))
    assert gaps.passed(frame(7, 1), 7, 100) == 0
    assert gaps.harmless == "/q/0001.seg from byte 36 to 90"
    assert caplog.text == ""
