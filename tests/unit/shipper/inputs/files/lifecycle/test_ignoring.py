from collections.abc import Callable

import pytest

from log_shipper.shipper.inputs.files.discovery.scanner import ScannedFile
from log_shipper.shipper.inputs.files.lifecycle.starting import IgnoreRules
from tests.fakes import ManualClock
from tests.reading_room import Room

MakeRoom = Callable[..., Room]


def written(clock: ManualClock, ago: float) -> ScannedFile:
    return ScannedFile("/l/a.log", (1, 2), 10, clock.time() - ago)


@pytest.mark.parametrize(("ago", "skipped"), [(0.0, False), (59.0, False), (60.0, False), (61.0, True)])
def test_ignore_older_leaves_out_what_was_not_written_to_for_longer(
    make_room: MakeRoom, clock: ManualClock, ago: float, skipped: bool
) -> None:
    ignoring = IgnoreRules(clock, first_start=0.0)
    assert ignoring.skips(make_room(ignore_older=60.0).spec, written(clock, ago)) is skipped


def test_the_age_is_that_of_now_not_of_the_start(make_room: MakeRoom, clock: ManualClock) -> None:
    source, ignoring, scanned = make_room(ignore_older=60.0).spec, IgnoreRules(clock, 0.0), written(clock, 0)
    clock.advance(61)
    assert ignoring.skips(source, scanned)


def test_by_default_no_file_is_too_old(room: Room, clock: ManualClock) -> None:
    assert not IgnoreRules(clock, clock.time()).skips(room.spec, written(clock, 10**9))


@pytest.mark.parametrize(
    ("since", "ago", "skipped"),
    [
        ("since_first_start", 101.0, True),
        ("since_first_start", 99.0, False),
        ("since_last_start", 99.0, True),
        ("since_last_start", 0.0, False),
    ],
)
def test_ignore_inactive_leaves_out_what_was_not_written_to_since_a_start(
    make_room: MakeRoom, clock: ManualClock, since: str, ago: float, skipped: bool
) -> None:
    ignoring = IgnoreRules(clock, first_start=clock.time() - 100)
    assert ignoring.skips(make_room(ignore_inactive=since).spec, written(clock, ago)) is skipped


def test_the_last_start_stays_the_same_while_time_passes(make_room: MakeRoom, clock: ManualClock) -> None:
    source, ignoring = make_room(ignore_inactive="since_last_start").spec, IgnoreRules(clock, 0.0)
    scanned = written(clock, -1)
    clock.advance(1000)
    assert not ignoring.skips(source, scanned)
