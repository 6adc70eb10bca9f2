from collections.abc import Callable

import pytest

from log_shipper.registry.pending import SaveTicket
from log_shipper.shipper.inputs.files.reading.harvester import Harvester
from log_shipper.shipper.inputs.files.reading.scheduler import BUSY_GAP, QUIET_AFTER, QUIET_GAP, Scheduler
from tests.builders import batch, multiline
from tests.fakes import ManualClock
from tests.watches import Watches

OpenHarvester = Callable[..., Harvester]
INTERVAL = 0.025


@pytest.fixture
def watches() -> Watches:
    return Watches()


@pytest.fixture
def scheduler(watches: Watches, clock: ManualClock) -> Scheduler:
    return Scheduler(watches, clock, INTERVAL)


def write_and_read(harvester: Harvester, clock: ManualClock, *gaps: float) -> None:
    for gap in gaps:
        clock.advance(gap)
        with open(harvester.state.path, "ab") as file:
            file.write(b"more\n")
        harvester.read()


def make_busy(harvester: Harvester, clock: ManualClock) -> None:
    write_and_read(harvester, clock, *[INTERVAL] * 50)


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
    make_busy(busy, clock)
    scheduler.park(busy)
    assert not watches.files
    assert scheduler.next_ready() is busy
    scheduler.park(busy)
    assert scheduler.next_ready() is None
    assert scheduler.idle_for == pytest.approx(INTERVAL)
    clock.advance(INTERVAL)
    assert scheduler.next_ready() is busy


@pytest.mark.parametrize(
    ("gaps", "is_watched", "stays_watched"),
    [
        ([INTERVAL], True, True),
        ([BUSY_GAP * 0.9 * INTERVAL] * 50, True, False),
        ([BUSY_GAP * 1.1 * INTERVAL] * 50, True, True),
        ([QUIET_GAP * 0.9 * INTERVAL] * 50, False, False),
        ([QUIET_GAP * 1.1 * INTERVAL] * 50, False, True),
        ([*[INTERVAL] * 50, 1.0], False, False),
    ],
    ids=["one read", "often", "too rarely", "a little slower", "much slower", "one long pause"],
)
def test_a_file_is_polled_while_data_comes_often_enough(
    scheduler: Scheduler,
    watches: Watches,
    open_harvester: OpenHarvester,
    clock: ManualClock,
    gaps: list[float],
    is_watched: bool,
    stays_watched: bool,
) -> None:
    file = open_harvester(b"one\n")
    if is_watched:
        watches.files.add(file.key)
    write_and_read(file, clock, *gaps)
    scheduler.park(file)
    assert (file.key in watches.files) is stays_watched


def test_a_polled_file_without_data_is_watched_again(
    scheduler: Scheduler, watches: Watches, open_harvester: OpenHarvester, clock: ManualClock
) -> None:
    file = open_harvester(b"one\n")
    make_busy(file, clock)
    clock.advance(QUIET_AFTER * INTERVAL * 0.9)
    scheduler.park(file)
    assert not watches.files
    clock.advance(QUIET_AFTER * INTERVAL * 0.2)
    assert scheduler.next_ready() is file
    scheduler.park(file)
    assert watches.files == {file.key}


def test_a_backlog_does_not_starve_a_busy_file(
    scheduler: Scheduler, open_harvester: OpenHarvester, clock: ManualClock
) -> None:
    big, busy = open_harvester(b"", name="big"), open_harvester(b"one\n", name="busy")
    make_busy(busy, clock)
    scheduler.park(busy)
    scheduler.wake(big)
    taken = []
    for _ in range(3):
        clock.advance(INTERVAL / 2)
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
    assert list(scheduler.released()) == [waiting]
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


def test_a_batch_that_awaits_a_save_is_queued_although_its_file_was_closed(
    scheduler: Scheduler, open_harvester: OpenHarvester
) -> None:
    """Its bytes are tracked: were it dropped, its file would never drain."""
    harvester, waiting, saved = open_harvester(b""), batch(["a"]), SaveTicket()
    scheduler.await_save(saved, harvester, waiting)
    scheduler.closed(harvester)
    harvester.is_open = False
    saved.resolve()
    assert list(scheduler.released()) == [waiting]
    assert scheduler.next_ready() is None
    scheduler.check({})
    harvester.is_open = True


def test_a_closed_file_is_nowhere(scheduler: Scheduler, open_harvester: OpenHarvester, clock: ManualClock) -> None:
    harvester = open_harvester(b"one\n", multiline(r"^\s"))
    harvester.read()
    scheduler.again(harvester)
    scheduler.closed(harvester)
    clock.advance(10)
    assert scheduler.next_ready() is None
    assert scheduler.overdue() == []
    assert not scheduler.busy
