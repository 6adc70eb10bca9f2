import gzip
import os
from collections.abc import Callable, Iterator

import pytest

from log_shipper.registry.state import MISSING, REMOVED, TRUNCATED
from log_shipper.shipper.inputs.files.discovery.scanner import ScannedFile
from log_shipper.shipper.inputs.files.discovery.spec import Candidate
from log_shipper.shipper.inputs.files.identity.opened_file import EntryMatch
from log_shipper.shipper.inputs.files.identity.rewrite_detector import SETTLED
from log_shipper.shipper.inputs.files.lifecycle.transitions import Next, To
from log_shipper.shipper.inputs.files.reading.harvester import Harvester
from log_shipper.shipper.inputs.files.reading.sighting import PathState
from tests.failing_disk import failing_disk
from tests.reading_room import Room, acknowledge, entry_of, finish, read_all

MakeRoom = Callable[..., Room]


@pytest.fixture
def read(room: Room) -> Harvester:
    """Return a file that was read to its end, all of it acknowledged."""
    return finish(room.read("app.log", b"one\n"))


def test_a_closed_file_keeps_its_watch_and_resumes_at_its_position(room: Room, read: Harvester) -> None:
    assert room.close_file(read)
    assert (read.is_open, room.open_files.running, room.open_files.files.running_of["app"]) == (False, {}, 0)
    assert room.watches.files == {read.key}
    assert room.entries.closed_entries[read.key].position == 4
    assert (room.shut, room.metrics.harvesters_closed) == ([read], 1)


def test_what_a_survey_had_of_a_file_before_it_was_closed_is_not_new_data(room: Room, read: Harvester) -> None:
    stale = ScannedFile(read.state.path, read.key[1:], 0, 0.0)
    room.candidates[read.key] = Candidate.from_scan(room.spec, stale)
    room.close_file(read)
    assert not room.open_files.files.closed[read.key].has_new_data(stale)
    assert room.open_files.files.closed[read.key].has_new_data(ScannedFile(read.state.path, read.key[1:], 0, 0.0))


def test_the_size_of_a_compressed_file_is_noted_once_it_was_read_to_its_end(make_room: MakeRoom) -> None:
    room = make_room(compression="auto")
    harvester = finish(room.read("app.log.gz", gzip.compress(b"one\n")))
    assert room.close_file(harvester)
    noted = room.books.written[harvester.state.id]
    assert (noted.compressed, noted.position) == (room.path("app.log.gz").stat().st_size, 4)


def test_it_is_not_noted_at_a_stop_before_all_of_it_is_acknowledged(make_room: MakeRoom) -> None:
    """A start opens no file of that size again."""
    room = make_room(compression="auto")
    harvester = room.read("app.log.gz", gzip.compress(b"one\n"))
    read_all(harvester)
    room.open_files.stop()
    assert (harvester.state.compressed, harvester.state.position) == (0, 0)


def test_the_size_on_disk_of_a_compressed_file_does_not_count_for_its_content(make_room: MakeRoom) -> None:
    room = make_room(compression="auto")
    for name in ("closed.log.gz", "stopped.log.gz"):
        room.read(name, gzip.compress(b"one\n"))
    closed, stopped = room.open_files.running.values()
    room.close_file(closed)
    room.open_files.stop()
    assert (closed.state.size_seen, stopped.state.size_seen) == (0, 0)


def test_the_entry_of_a_file_that_has_ended_is_unclaimed(room: Room, read: Harvester) -> None:
    room.watches.files.add(read.key)
    room.end(read, "truncated")
    assert (room.open_files.running, room.open_files.files.closed, room.entries.closed_entries, room.watches.files) == (
        {},
        {},
        {},
        set(),
    )
    assert room.entries.unclaimed.states[read.state.id].ended == "truncated"
    assert room.books.written[read.state.id].ended == "truncated"
    assert not read.is_open


def test_batches_in_flight_move_the_position_of_a_file_that_has_ended(room: Room) -> None:
    harvester = room.read("app.log", b"one\n")
    batches = read_all(harvester)
    room.end(harvester, REMOVED)
    assert not room.entries.unclaimed.states
    acknowledge(batches)
    room.open_files.step()
    orphan = room.entries.unclaimed.states[harvester.state.id]
    assert (orphan.position, orphan.ended) == (4, REMOVED)
    assert room.books.written[harvester.state.id] == orphan


def test_what_of_an_ended_file_was_not_read_is_not_missed_once_more(room: Room) -> None:
    """It was counted when the life ended: a restart must not count it again."""
    harvester = room.read("app.log", b"one\ntw")
    batches = read_all(harvester)
    room.end(harvester, REMOVED)
    assert room.books.written[harvester.state.id].size_seen == 4
    acknowledge(batches)
    assert room.books.written[harvester.state.id].size_seen == 4


# What an entry remembers of the last look at a file.


def test_a_file_that_is_closed_as_it_was_read_need_not_be_proven_while_its_times_stay(room: Room) -> None:
    harvester = finish(room.read("app.log", b"one\n"))
    os.utime(room.path("app.log"), ns=(1, 12345))
    assert not room.close_file(harvester)
    finish(harvester)
    room.clock.advance(2 * SETTLED)
    finish(harvester)
    assert room.close_file(harvester)
    noted = room.books.written[harvester.state.id]
    assert (noted.changed, noted.modified) == (room.path("app.log").stat().st_ctime_ns, 12345)


def test_one_that_is_open_when_the_agent_stops_neither(room: Room) -> None:
    harvester = finish(room.read("app.log", b"one\n"))
    room.open_files.stop()
    assert room.books.written[harvester.state.id].changed == room.path("app.log").stat().st_ctime_ns


def test_one_that_was_written_to_after_the_last_look_must_be_proven(room: Room) -> None:
    """What is longer now was perhaps emptied before."""
    harvester = finish(room.read("app.log", b"one\n"))
    room.append("app.log", b"two\n")  # that is not read any more
    room.open_files.stop()
    assert room.books.written[harvester.state.id].changed == 0


def test_one_that_was_rewritten_behind_the_agents_back_must_be_proven(room: Room) -> None:
    harvester = finish(room.read("app.log", b"one\n"))
    room.write("app.log", b"ONE\n")
    room.close_file(harvester)
    assert room.books.written[harvester.state.id].changed == 0


def test_of_a_file_that_ended_it_is_known_when_it_was_modified_last(room: Room, read: Harvester) -> None:
    os.utime(room.path("app.log"), ns=(1, 12345))
    room.end(read, REMOVED)
    assert room.entries.unclaimed.states[read.state.id].modified == 12345


# A file that is not proven yet to be the one that its entry remembers.


@pytest.fixture
def unproven(room: Room) -> Harvester:
    room.write("app.log", b"one\n")
    state = entry_of(room.path("app.log"), 4)
    return room.start(room.open("app.log"), EntryMatch(state, state.path, state))


def test_it_was_truncated_if_it_does_not_have_the_remembered_bytes(room: Room, unproven: Harvester) -> None:
    assert not room.open_files.was_truncated(unproven)
    os.truncate(room.path("app.log"), 0)
    assert room.open_files.was_truncated(unproven)


def close(room: Room, harvester: Harvester) -> None:
    assert room.close_file(harvester)


def release(room: Room, harvester: Harvester) -> None:
    room.release(harvester)


def end(room: Room, harvester: Harvester) -> None:
    room.end(harvester, REMOVED)


def stop(room: Room, harvester: Harvester) -> None:
    room.open_files.stop()


@pytest.mark.parametrize("how", [close, release, end, stop])
def test_its_entry_stays_as_it_was_however_it_is_closed(
    room: Room, unproven: Harvester, how: Callable[[Room, Harvester], None]
) -> None:
    state = unproven.unproven
    how(room, unproven)
    assert (room.entries.closed_entries, room.entries.unclaimed.states) == ({unproven.key: state}, {})
    assert (room.books.written, unproven.is_open) == ({}, False)


def test_the_entry_of_a_deleted_file_waits_for_another_again(room: Room) -> None:
    room.write("app.log", b"one\n")
    state = entry_of(room.path("app.log"), 4, device=7, ended=MISSING)
    room.entries.orphan(state)
    opened = room.open("app.log")
    claim = room.entries.adopt(opened)
    assert claim is not None
    room.release(room.start(opened, claim))
    assert (room.entries.closed_entries, room.entries.unclaimed.states) == ({}, {"known": state})


# What no event reports.


def woken(room: Room, *, all_of_them: bool = False) -> Harvester | None:
    room.open_files.wake_unwatched(all_of_them=all_of_them)
    return room.scheduler.next_ready()


@pytest.fixture
def unwatched(room: Room, read: Harvester) -> Harvester:
    room.watches.refuses = True
    room.scheduler.park(read)
    return read


def test_a_file_without_a_watch_that_is_as_it_was_read_is_left_alone(room: Room, unwatched: Harvester) -> None:
    assert unwatched in room.open_files.running.values()
    assert woken(room) is None


def test_a_file_without_a_watch_that_has_grown_is_read(room: Room, unwatched: Harvester) -> None:
    room.append("app.log", b"two\n")
    os.utime(unwatched.fd, ns=(0, unwatched.state.modified))  # a file system may update its time late
    assert woken(room) is unwatched


def test_a_file_without_a_watch_that_was_rewritten_to_its_size_is_woken(room: Room, unwatched: Harvester) -> None:
    room.write("app.log", b"two\n")
    os.utime(unwatched.fd, ns=(0, unwatched.state.modified + 1))
    assert woken(room) is unwatched


def test_a_file_of_which_a_watch_does_not_show_all_writes_is_looked_at(room: Room, read: Harvester) -> None:
    room.watches.is_partial = True
    room.watches.watch_file(read.key, read.fd)
    assert woken(room) is None
    room.append("app.log", b"two\n")
    assert woken(room) is read


def test_a_watched_file_is_woken_by_its_events_unless_events_were_lost(room: Room, read: Harvester) -> None:
    room.watches.watch_file(read.key, read.fd)
    room.append("app.log", b"two\n")
    assert woken(room) is None
    assert woken(room, all_of_them=True) is read


# What cannot be looked at.


@pytest.fixture
def deleted(room: Room) -> Iterator[Harvester]:
    """Return a file that was deleted, whose status can be read only once."""
    harvester = room.read("app.log", b"one\n")
    room.path("app.log").unlink()
    with failing_disk() as disk:
        disk.refuse(harvester.fd, calls=1)
        yield harvester


def test_a_deletion_is_noted_though_the_size_cannot_be_read(room: Room, deleted: Harvester) -> None:
    """An error would make the caller close the descriptor of a file that is registered already."""
    room.open_files.look_for_removal(deleted)
    assert (list(room.open_files.removed), deleted.is_open) == ([deleted], True)


def test_it_ends_with_the_times_that_were_known(room: Room, deleted: Harvester) -> None:
    room.open_files.look_for_removal(deleted)
    room.end(deleted, REMOVED)
    assert (room.open_files.running, deleted.is_open) == ({}, False)
    assert room.books.written[deleted.state.id].modified == deleted.state.modified > 0


def test_a_file_that_is_to_be_closed_is_opened_again_if_it_cannot_be_looked_at(room: Room, deleted: Harvester) -> None:
    room.open_files.look_for_removal(deleted)
    room.open_files.leave(deleted, Next(To.CLOSED))
    assert (room.open_files.running, room.open_files.files.closed) == ({}, {})


def test_a_deleted_file_to_which_its_path_still_leads_is_not_removed(room: Room, read: Harvester) -> None:
    """As one that is mounted at the path. Here the path leads to the descriptor."""
    room.path("app.log").unlink()
    read.update(path=f"/proc/self/fd/{read.fd}")
    room.open_files.look_for_removal(read)
    assert (read.is_removed, list(room.open_files.removed)) == (False, [])
    room.write("app.log", b"other\n")
    read.update(path=str(room.path("app.log")))
    room.open_files.look_for_removal(read)
    assert read.is_removed, "another file is at its path"


# What others may be copies of.


def originals(room: Room, name: str = "x.log") -> dict[str, tuple[str | None, int]]:
    """Return what the originals of a new file may have ended as, by file id, with their times."""
    room.write(name, b"one\n")
    os.utime(room.path(name), ns=(1, 54321))
    states = room.open_files.ended_originals(room.open(name))
    return {state.id: (state.ended, state.modified) for state in states}


def test_a_deleted_file_that_is_not_finished_is_ending(room: Room) -> None:
    deleted, moved, closed, other = (room.read(f"{name}.log", b"one\n") for name in "abcd")
    read_all(closed)
    room.path("a.log").unlink()
    room.open_files.look_for_removal(deleted)
    room.open_files.renamed(moved, str(room.path("b.log.1")))
    room.close_file(closed)
    files = (deleted, moved, closed, other)
    assert [room.open_files.is_ending(harvester.key) for harvester in files] == [True, False, True, False]
    assert originals(room, "a.log.1") == {deleted.state.id: (REMOVED, deleted.state.modified)}
    assert originals(room, "c.log.1") == {closed.state.id: (REMOVED, closed.state.modified)}
    assert originals(room, "b.log.1.gz") == originals(room, "d.log.1") == originals(room) == {}


def test_an_ending_file_is_found_by_its_time_of_modification(room: Room, read: Harvester) -> None:
    os.utime(room.path("app.log"), ns=(1, 54321))
    room.path("app.log").unlink()
    room.open_files.look_for_removal(read)
    assert originals(room) == {read.state.id: (REMOVED, 54321)}


def test_a_file_that_is_closed_and_settled_is_no_original_any_more(room: Room) -> None:
    harvester = room.read("app.log", b"one\n")
    batches = read_all(harvester)
    room.close_file(harvester)
    assert originals(room, "app.log.1")
    acknowledge(batches)
    assert room.open_files.step()
    assert not originals(room, "app.log.2")
    assert not room.open_files.is_ending(harvester.key)


def test_a_deleted_file_that_a_survey_does_not_find_stays_deleted(room: Room, read: Harvester) -> None:
    room.path("app.log").unlink()
    read.look_for_removal(read.state.path)
    room.open_files.left_paths(read)
    assert read.is_removed


def test_an_open_file_that_was_rewritten_is_noticed_when_it_would_be_read_anyway(room: Room) -> None:
    idle, awake, moved, as_read, saving = (finish(room.read(f"{name}.log", b"one\n")) for name in "abcde")
    for harvester in (idle, awake, moved, saving):
        room.write(os.path.basename(harvester.state.path), b"new\n")
        os.utime(harvester.state.path, ns=(1, 12345))
    room.scheduler.wake(awake)
    room.scheduler.wake(as_read)
    moved.path_state = PathState.MOVED
    room.scheduler.await_save(room.books.save([saving.state]), saving)  # until that is on disk
    for harvester in (awake, moved, saving):
        name = os.path.basename(harvester.state.path)
        assert originals(room, f"{name}.1") == {harvester.state.id: (TRUNCATED, int(room.clock.time() * 10**9))}
    assert originals(room, "a.log.1") == originals(room, "d.log.1") == {}


def test_the_state_of_a_file_is_known_whether_it_is_open_or_not(room: Room, read: Harvester) -> None:
    assert room.open_files.state_of(read.key) == read.state
    room.close_file(read)
    assert room.open_files.state_of(read.key) == read.state
    assert room.open_files.state_of(("app", 0, 0)) is None


def test_also_while_it_is_about_to_be_read(room: Room, read: Harvester) -> None:
    room.close_file(read)
    claim = room.entries.claim(room.open("app.log"))
    assert claim is not None
    assert room.open_files.state_of(read.key) == claim.state


def test_a_closed_file_that_is_not_under_the_paths_any_more_is_forgotten_with_its_watch(
    room: Room, read: Harvester
) -> None:
    """Or short-lived files would add up, and an archive would keep a watch for each file that was moved there."""
    room.close_file(read)
    room.open_files.forget_missing({read.key})
    assert (set(room.open_files.files.closed), room.watches.files) == ({read.key}, {read.key})
    room.open_files.forget_missing(set())
    assert (room.open_files.files.closed, room.watches.files) == ({}, set())
