from collections.abc import Callable

import pytest

from log_shipper.shipper.inputs.files.reading.harvester import Harvester
from log_shipper.shipper.inputs.files.reading.waiting_sizes import INTERVAL, SHARE, WaitingSizes, look_at_size
from tests.fakes import ManualClock
from tests.reading_room import Room

OpenHarvester = Callable[..., Harvester]


class SlowShare:
    """A file system on which one look takes `seconds`."""

    def __init__(self, clock: ManualClock, seconds: float = 0.0) -> None:
        self.seconds = seconds
        self.seen: list[Harvester] = []
        self._clock = clock

    def look(self, harvester: Harvester) -> None:
        self.seen.append(harvester)
        self._clock.advance(self.seconds)


@pytest.fixture
def share(clock: ManualClock) -> SlowShare:
    return SlowShare(clock)


@pytest.fixture
def files(open_harvester: OpenHarvester) -> list[Harvester]:
    return [open_harvester(b"", name=f"{number}.log") for number in range(5)]


def test_files_are_looked_at_in_turn_some_a_second(
    share: SlowShare, files: list[Harvester], clock: ManualClock
) -> None:
    sizes = WaitingSizes(clock, share.look, most=2)
    counts = []
    for _ in range(4):
        sizes.check(files)
        sizes.check(files)
        counts.append(len(share.seen))
        clock.advance(INTERVAL)
    assert counts == [2, 4, 5, 7]
    assert share.seen == [*files, *files[:2]]


def test_on_a_slow_file_system_they_are_looked_at_for_a_small_share_of_the_time(
    share: SlowShare, files: list[Harvester], clock: ManualClock
) -> None:
    share.seconds = 0.5
    sizes, started = WaitingSizes(clock, share.look), clock.monotonic()
    while clock.monotonic() < started + 1000:
        sizes.check(files)
        clock.advance(0.02)
    spent = len(share.seen) * share.seconds
    assert 0 < spent <= 1000 * SHARE
    assert set(share.seen) == set(files)


def test_a_file_that_was_closed_meanwhile_is_not_looked_at(
    share: SlowShare, files: list[Harvester], clock: ManualClock
) -> None:
    sizes = WaitingSizes(clock, share.look, most=4)
    sizes.check(files)
    files[4].is_open = False
    clock.advance(INTERVAL)
    sizes.check(())
    assert share.seen == files[:4]


@pytest.mark.parametrize(
    ("content", "options", "size"),
    [
        (b"one\n", {}, 4),
        (b"one\n" + bytes(4096), {}, 0),
        ("one\n".encode("utf-16-le"), {"encoding": "utf-16le"}, 8),
        ("one\n".encode("utf-16-le") + bytes(4096), {"encoding": "utf-16le"}, 0),
        (b"one\0", {"line_terminator": "null_terminator"}, 4),
    ],
)
def test_space_that_is_not_written_yet_is_no_size(
    make_room: Callable[..., Room], content: bytes, options: dict[str, str], size: int
) -> None:
    room = make_room(**options)
    harvester = room.read("a.log", b"")
    room.append("a.log", content)
    look_at_size(harvester)
    assert harvester.size == size
