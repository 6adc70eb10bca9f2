import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from log_shipper.registry.state import MISSING, REMOVED, FileState
from log_shipper.shipper.inputs.files.identity.entries import KEPT_FOR
from log_shipper.shipper.inputs.files.lifecycle.cleaning import BOOT_TIME, CLEAN_EVERY, MAX_KEPT, Cleaning
from log_shipper.shipper.options.model import FileIdentityConfig
from tests.fakes import ManualClock
from tests.reading_room import Room, entry_of

MakeRoom = Callable[..., Room]
BY_PATH = FileIdentityConfig(name="path")
HOUR = 3600.0
DAY = 24 * HOUR
YEAR = 365 * DAY


def missing(room: Room, file_id: str = "known", key: str = "") -> FileState:
    """Return an entry whose file is missing."""
    state = FileState(file_id, f"/l/{file_id}", 1, 2, input="app", key=key)
    state = room.entries.ended(state, MISSING)
    room.entries.orphan(state)
    return state


def closed_entry(room: Room) -> FileState:
    """Return an entry whose file exists and is not open."""
    room.write("app.log", b"one\n")
    state = entry_of(room.path("app.log"), 4, updated=room.clock.time())
    room.books.written[state.id] = state
    room.entries.keep(state)
    return state


def kept(room: Room) -> set[str]:
    """Clean, and return the ids in the registry; the agent still has all of them."""
    room.cleaning.clean()
    known = {*room.entries.unclaimed.states, *(state.id for state in room.entries.closed_entries.values())}
    assert room.books.written.keys() <= known
    return set(room.books.written)


def pass_time(room: Room, seconds: float) -> None:
    """Advance the clock as it passes for a running agent."""
    while seconds > 0:
        room.clock.advance(min(seconds, HOUR))
        room.cleaning.step()
        seconds -= HOUR


def test_by_path_what_has_ended_is_forgotten_as_well(make_room: MakeRoom) -> None:
    room = make_room(file_identity=BY_PATH)
    room.entries.orphan(room.entries.ended(FileState("known", "/x", 1, 2, key="path:/x", input="app"), REMOVED))
    room.clock.advance(KEPT_FOR + 1)
    room.cleaning.clean()
    assert (room.entries.closed_entries, room.books.written) == ({}, {})


def test_clean_inactive_forgets_a_file_on_disk_and_not_while_this_runs(make_room: MakeRoom) -> None:
    """It would be read again from its start, because it is still there."""
    room = make_room(clean_inactive=2 * HOUR, ignore_older=HOUR)
    known = closed_entry(room)
    room.clock.advance(2 * HOUR)
    room.cleaning.clean()
    assert known.id in room.books.written
    room.clock.advance(1)
    room.cleaning.clean()
    assert known.id not in room.books.written
    assert room.entries.claim(room.open("app.log")) is not None


def test_by_default_a_file_that_is_there_is_never_forgotten(room: Room) -> None:
    known = closed_entry(room)
    room.clock.advance(1000 * DAY)
    room.cleaning.clean()
    assert known.id in room.books.written


# The wall clock.


@pytest.mark.parametrize("step", [DAY, 100 * YEAR])
def test_a_clock_that_jumps_forward_makes_no_entry_older(room: Room, step: float) -> None:
    missing(room)
    pass_time(room, KEPT_FOR - HOUR)
    room.clock.set_by(step)
    assert kept(room) == {"known"}
    pass_time(room, HOUR)
    assert kept(room) == {"known"}
    pass_time(room, 1)
    assert kept(room) == set()


def test_nor_does_it_forget_a_file_that_is_inactive(make_room: MakeRoom) -> None:
    room = make_room(clean_inactive=2 * HOUR, ignore_older=HOUR)
    known = closed_entry(room)
    pass_time(room, HOUR)
    room.clock.set_by(DAY)
    assert kept(room) == {known.id}
    pass_time(room, HOUR + 1)
    assert kept(room) == set()


def test_the_registry_has_the_new_times_so_that_a_restart_does_not_forget_either(room: Room) -> None:
    missing(room)
    missing(room, "by path", key="path:/x")
    pass_time(room, HOUR)
    room.clock.set_by(DAY)
    room.cleaning.clean()
    assert {room.clock.time() - state.updated for state in room.books.written.values()} == {HOUR}


@pytest.mark.parametrize("step", [-DAY, -100 * YEAR])
def test_a_clock_that_is_set_back_keeps_an_entry_for_a_day_from_then_on_and_not_for_years(
    room: Room, step: float
) -> None:
    missing(room)
    room.clock.set_by(step)
    pass_time(room, KEPT_FOR)
    assert kept(room) == {"known"}
    pass_time(room, HOUR + 1)
    assert kept(room) == set()


@pytest.mark.parametrize("wrong", [YEAR, -YEAR])
def test_entries_are_not_forgotten_while_the_clock_of_a_host_that_boots_may_still_be_wrong(
    tmp_path: Path, wrong: float
) -> None:
    """A host without a battery boots years ahead or behind, and asks for the time soon."""
    room = Room(tmp_path, ManualClock(monotonic=10.0), (), {})
    state = missing(room)
    room.clock.set_by(wrong)
    room.cleaning = Cleaning(room.entries, room.registrar, room.clock, {})
    pass_time(room, BOOT_TIME - 2 * CLEAN_EVERY)
    room.clock.set_by(-wrong)
    assert kept(room) == {state.id}
    pass_time(room, HOUR)
    assert kept(room) == {state.id}


def test_on_a_host_that_runs_for_long_they_are_forgotten_soon_after_the_start(room: Room) -> None:
    assert room.clock.monotonic() >= BOOT_TIME
    missing(room)
    room.clock.advance(KEPT_FOR + 1)
    room.cleaning = Cleaning(room.entries, room.registrar, room.clock, {})
    pass_time(room, CLEAN_EVERY)
    assert kept(room) == set()


def test_a_step_of_seconds_is_not_worth_a_write(room: Room) -> None:
    state = missing(room)
    room.clock.set_by(CLEAN_EVERY - 1)
    room.cleaning.clean()
    assert room.books.written[state.id] is state


# However many.


def test_of_very_many_the_newest_are_kept_and_that_is_logged_once(room: Room, caplog: pytest.LogCaptureFixture) -> None:
    room.cleaning = Cleaning(room.entries, room.registrar, room.clock, {}, most=100)
    for number in range(10_000):
        missing(room, f"{number}", key=f"path:{number}" if number % 2 else "")
        room.clock.advance(0.1)
        room.cleaning.step()
        assert len(room.books.written) <= 100 + CLEAN_EVERY / 0.1
    assert kept(room) == {f"{number}" for number in range(9_900, 10_000)}
    assert not set(room.entries.unclaimed.states) & {f"{number}" for number in range(9_900)}
    (warning,) = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert "more than 100 files ended within a day" in warning


def test_those_that_are_to_be_kept_forever_are_not_among_them(make_room: MakeRoom) -> None:
    room = make_room(clean_removed=False)
    room.cleaning = Cleaning(room.entries, room.registrar, room.clock, {}, most=1)
    for number in range(3):
        missing(room, f"{number}")
    assert kept(room) == {"0", "1", "2"}
    assert MAX_KEPT > 1


def test_a_file_that_is_forgotten_on_disk_is_removed_there_once(make_room: MakeRoom) -> None:
    room = make_room(clean_inactive=2 * HOUR, ignore_older=HOUR)
    known = closed_entry(room)
    room.clock.advance(3 * HOUR)
    assert kept(room) == set()
    room.books.written[known.id] = known  # what a second removal would take
    room.cleaning.clean()
    assert known.id in room.books.written
    room.entries.keep(replace(known, updated=room.clock.time()))  # it was written to
    room.cleaning.clean()
    room.clock.advance(3 * HOUR)
    assert kept(room) == set()


def test_clean_inactive_forgets_again_what_was_noted_since(make_room: MakeRoom) -> None:
    room = make_room(clean_inactive=2 * HOUR, ignore_older=HOUR)
    known = closed_entry(room)
    room.clock.advance(2 * HOUR + 1)
    room.cleaning.clean()
    room.entries.note_path(known, "/l/other.log")
    assert known.id in room.books.written
    room.clock.advance(2 * HOUR + 1)
    room.cleaning.clean()
    assert known.id not in room.books.written


def test_clean_inactive_forgets_a_deleted_file_that_clean_removed_keeps(make_room: MakeRoom) -> None:
    room = make_room(clean_removed=False, clean_inactive=100 * HOUR, ignore_older=HOUR)
    orphan = missing(room)
    room.clock.advance(100 * HOUR)
    room.cleaning.clean()
    assert orphan.id in room.books.written
    room.clock.advance(1)
    room.cleaning.clean()
    assert (orphan.id in room.books.written, room.entries.unclaimed.states) == (False, {})
