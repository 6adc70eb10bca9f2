from collections.abc import Callable

import pytest

from registry.pending import SaveTicket
from shipper.source.reading.harvester import Harvester
from shipper.source.reading.scheduler import POLL_INTERVAL, Scheduler
from tests.builders import batch, multiline
from tests.fakes import ManualClock
from tests.watches import Watches

OpenHarvester = Callable[..., Harvester]


@pytest.fixture
def watches() -> Watches:
    return Watches()


@pytest.fixture
def scheduler(watches: Watches, clock: ManualClock) -> Scheduler:
    return Scheduler(watches, clock)


def activity(harvester: Harvester) -> None:
    """Let data come again and again, without a pause."""
    for _ in range(50):
        with open(harvester.state.path, "ab") as file:
            file.write(b"more\n")
        harvester.read()
    assert harvester.activity.is_busy


def test_ready_ones_are_taken_in_turn(scheduler: Scheduler, open_harvester: OpenHarvester) -> None:
    a, b = open_harvester(b"", name="a"), open_harvester(b"", name="b")
    scheduler.wake(a)
    scheduler.wake(b)
    scheduler.wake(a)
    turns = []
    for _ in range(4):
        turn = scheduler.next_ready()
        assert turn is not None
        scheduler.again(turn)
        turns.append(turn)
    assert turns == [a, b, a, b]


def test_a_quiet_file_is_watched_and_read_once_more(
    scheduler: Scheduler, watches: Watches, open_harvester: OpenHarvester, clock: ManualClock
) -> None:
    quiet = open_harvester(b"")
    clock.advance(60)
    scheduler.park(quiet)
    assert watches.files == {quiet.key}
    assert scheduler.next_ready() is quiet
    scheduler.park(quiet)
    assert scheduler.next_ready() is None
    assert scheduler.idle_for > 60


def test_a_busy_file_is_polled_without_a_watch(
    scheduler: Scheduler, watches: Watches, open_harvester: OpenHarvester, clock: ManualClock
) -> None:
    busy = open_harvester(b"one\n")
    watches.files.add(busy.key)
    activity(busy)
    scheduler.park(busy)
    assert not watches.files
    assert scheduler.next_ready() is busy
    scheduler.park(busy)
    assert scheduler.next_ready() is None
    assert scheduler.idle_for == pytest.approx(POLL_INTERVAL)
    clock.advance(POLL_INTERVAL)
    assert scheduler.next_ready() is busy


def test_a_backlog_does_not_starve_a_busy_file(
    scheduler: Scheduler, open_harvester: OpenHarvester, clock: ManualClock
) -> None:
    big, busy = open_harvester(b"", name="big"), open_harvester(b"one\n", name="busy")
    activity(busy)
    scheduler.park(busy)
    scheduler.wake(big)
    taken = []
    for _ in range(3):
        clock.advance(POLL_INTERVAL / 2)
        turn = scheduler.next_ready()
        assert turn is not None
        taken.append(turn)
        if turn is big:
            scheduler.again(big)
    assert busy in taken


def test_a_file_is_not_read_until_its_state_is_saved(scheduler: Scheduler, open_harvester: OpenHarvester) -> None:
    harvester, waiting, saved = open_harvester(b""), batch(["a"]), SaveTicket()
    scheduler.wake(harvester)
    scheduler.await_save(saved, harvester, waiting)
    scheduler.wake(harvester)
    assert scheduler.next_ready() is None
    assert list(scheduler.released()) == []
    saved.resolve()
    assert list(scheduler.released()) == [(harvester, waiting)]
    assert scheduler.next_ready() is harvester
    assert list(scheduler.released()) == []


def test_a_pending_message_is_overdue_after_its_timeout(
    scheduler: Scheduler, open_harvester: OpenHarvester, clock: ManualClock
) -> None:
    harvester = open_harvester(b"one\n", multiline(r"^\s"))
    harvester.read()
    clock.advance(1)
    scheduler.park(harvester)
    assert scheduler.next_ready() is harvester
    assert scheduler.idle_for == pytest.approx(4)
    assert scheduler.overdue() == []
    clock.advance(4)
    assert scheduler.overdue() == [harvester]


def test_a_forgotten_file_is_nowhere(scheduler: Scheduler, open_harvester: OpenHarvester, clock: ManualClock) -> None:
    harvester = open_harvester(b"one\n", multiline(r"^\s"))
    harvester.read()
    scheduler.again(harvester)
    scheduler.forget(harvester)
    clock.advance(10)
    assert scheduler.next_ready() is None
    assert scheduler.overdue() == []
    assert not scheduler.busy
