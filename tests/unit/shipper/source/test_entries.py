import gzip
import logging
import os
from collections.abc import Callable
from dataclasses import replace

import pytest

from config.model import FileIdentityConfig
from registry.state import FileState
from shipper.source.entries import KEPT_FOR, Opened
from shipper.source.harvester import REMOVED
from shipper.source.identity import HEAD_SIZE, digest
from shipper.source.orphans import MISSING, TRUNCATED
from tests.reading_room import Room, entry_of

MakeRoom = Callable[..., Room]
BY_PATH = FileIdentityConfig(name="path")
HOUR = 3600.0


def meet(room: Room, name: str, content: bytes) -> Opened:
    room.write(name, content)
    return room.open(name)


def know(room: Room, state: FileState) -> FileState:
    """The file is known and not open."""
    room.books.written[state.id] = state
    room.entries.keep(state)
    return state


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


# Claimed by name.


def test_a_known_file_goes_on_where_its_entry_says(room: Room) -> None:
    opened = meet(room, "app.log", b"one\ntwo\n")
    known = know(room, entry_of(room.path("app.log"), 4))
    claim = room.entries.claim(opened)
    assert claim is not None
    assert (claim.state, claim.former, claim.is_new) == (known, known.path, False)
    assert room.entries.claim(opened) is None


def test_a_file_that_was_renamed_has_its_new_path_and_tells_its_former_one(room: Room) -> None:
    opened = meet(room, "app.log.1", b"one\n")
    know(room, entry_of(room.path("app.log.1"), 4, path="/l/app.log"))
    claim = room.entries.claim(opened)
    assert claim is not None
    assert (claim.state.path, claim.former) == (str(room.path("app.log.1")), "/l/app.log")


def test_a_file_that_has_grown_is_seen_at_its_size_of_now(room: Room) -> None:
    room.write("app.log", b"one\n")
    know(room, entry_of(room.path("app.log"), 4))
    claim = room.entries.claim(meet(room, "app.log", b"one\ntwo\n"))
    assert claim is not None
    assert (claim.state.position, claim.state.size_seen) == (4, 8)


def test_entries_of_the_registry_are_claimed_after_a_start(make_room: MakeRoom) -> None:
    before = make_room()
    before.write("app.log", b"one\n")
    state = entry_of(before.path("app.log"), 4)
    ended = replace(state, id="ended", ended=REMOVED)
    room = make_room(state, ended)
    claim = room.entries.claim(room.open("app.log"))
    assert claim is not None
    assert claim.state.id == state.id
    assert set(room.entries.orphans.states) == {"ended"}


def test_a_file_that_was_rewritten_is_not_its_entrys_any_more(room: Room, caplog: pytest.LogCaptureFixture) -> None:
    room.write("app.log", b"one\ntwo\n")
    known = know(room, entry_of(room.path("app.log"), 4))
    opened = meet(room, "app.log", b"ONE\ntwo\n")
    assert room.entries.claim(opened) is None
    assert room.entries.adopt(opened) is None
    written = room.books.written[known.id]
    assert (written.ended, written.ttl, written.updated) == (TRUNCATED, KEPT_FOR, room.clock.time())
    room.entries.tell_of_lost()
    assert room.metrics.bytes_lost == 4
    (told,) = warnings(caplog)
    assert f"{known.path} (file id {known.id})" in told
    assert "4 bytes from offset 4 on" in told


def test_an_entry_stays_when_its_file_cannot_be_read_at_the_moment(room: Room) -> None:
    opened = meet(room, "app.log", b"one\n")
    know(room, entry_of(room.path("app.log"), 4))
    os.close(opened.content.fd)
    with pytest.raises(OSError, match="Bad file descriptor"):
        room.entries.claim(opened)
    assert room.entries.claim(room.open("app.log")) is not None


def test_by_path_another_file_at_the_path_is_the_same(make_room: MakeRoom) -> None:
    room = make_room(file_identity=BY_PATH)
    room.write("app.log", b"one\n")
    know(room, entry_of(room.path("app.log"), 4, inode=7, key=f"path:{room.path('app.log')}"))
    opened = meet(room, "app.log", b"ONE\nTWO\n")
    claim = room.entries.claim(opened)
    assert claim is not None
    assert (claim.state.position, claim.state.inode) == (4, opened.found.key[1])


def test_by_path_a_file_that_is_shorter_than_what_was_read_begins_anew(make_room: MakeRoom) -> None:
    room = make_room(file_identity=BY_PATH)
    opened = meet(room, "app.log", b"one\n")
    key = f"path:{room.path('app.log')}"
    know(room, replace(entry_of(room.path("app.log"), 4), position=5, key=key))
    assert room.entries.claim(opened) is None


def test_by_path_a_file_that_was_truncated_begins_anew_however_much_it_has_grown(make_room: MakeRoom) -> None:
    """It was held back while batches of its first life were under way; meanwhile the new one passed the position."""
    room = make_room(file_identity=BY_PATH)
    opened = meet(room, "app.log", b"new one\nnew two\n")
    state = replace(entry_of(room.path("app.log")), position=4, key=f"path:{room.path('app.log')}")
    room.entries.orphan(room.entries.ended(state, TRUNCATED))
    assert room.entries.claim(opened) is None


def test_of_two_lives_at_one_path_the_one_that_goes_on_is_known_after_a_start(make_room: MakeRoom) -> None:
    before = make_room(file_identity=BY_PATH)
    before.write("app.log", b"one\ntwo\n")
    state = entry_of(before.path("app.log"), 4, key=f"path:{before.path('app.log')}")
    room = make_room(state, replace(state, id="ended", position=8, ended=TRUNCATED), file_identity=BY_PATH)
    claim = room.entries.claim(room.open("app.log"))
    assert claim is not None
    assert claim.state.id == state.id


# Adopted by content.


def missing(room: Room, content: bytes, position: int, ended: str = MISSING) -> FileState:
    """An entry of `app.log`, which is nowhere any more."""
    room.write("app.log", content)
    state = entry_of(room.path("app.log"), position, device=7, inode=7)
    room.path("app.log").unlink()
    state = room.entries.ended(state, ended)
    room.entries.orphan(state)
    return state


def test_a_copy_takes_over_the_entry_of_what_is_gone(room: Room) -> None:
    orphan = missing(room, b"one\ntwo\n", 4)
    opened = meet(room, "app.log.1", b"one\ntwo\n")
    assert room.entries.claim(opened) is None
    claim = room.entries.adopt(opened)
    assert claim is not None
    assert (claim.state.id, claim.state.position, claim.former) == (orphan.id, 4, orphan.path)
    assert (claim.state.device, claim.state.inode) == opened.found.key
    assert (claim.state.ended, claim.state.ttl, claim.state.input) == (None, -1.0, "app")
    assert room.entries.adopt(room.open("app.log.1")) is None


def test_a_copy_that_was_made_before_the_last_lines_has_nothing_left_to_read(room: Room) -> None:
    content = b"#" * HEAD_SIZE + b"one\ntwo\n"
    orphan = missing(room, content + b"three\n", HEAD_SIZE + 14, TRUNCATED)
    opened = meet(room, "app.log.1", content)
    claim = room.entries.adopt(opened, (orphan.device, orphan.inode))
    assert claim is not None
    assert (claim.state.id, claim.state.position) == (orphan.id, len(content))
    assert claim.state.tail_hash == opened.content.tail_hash(len(content))


def test_where_file_identity_names_a_file_content_does_not(make_room: MakeRoom) -> None:
    room = make_room(file_identity=BY_PATH)
    missing(room, b"one\ntwo\n", 4)
    assert room.entries.adopt(meet(room, "app.log.1", b"one\ntwo\n")) is None


# Made.


def test_a_new_file_has_an_entry_of_its_own(room: Room) -> None:
    opened = meet(room, "app.log", b"one\n")
    first, second = room.entries.make(opened), room.entries.make(opened)
    assert first.is_new
    assert first.state.id != second.state.id
    expected = entry_of(room.path("app.log"), 0, first.state.id, tail_hash="", updated=room.clock.time())
    assert first.state == expected


def test_a_new_file_keeps_the_name_that_file_identity_gives(make_room: MakeRoom) -> None:
    room = make_room(file_identity=BY_PATH)
    assert room.entries.make(meet(room, "app.log", b"one\n")).state.key == f"path:{room.path('app.log')}"


def test_of_a_new_compressed_file_the_size_of_its_content_is_not_known(make_room: MakeRoom) -> None:
    room = make_room(compression="auto")
    state = room.entries.make(meet(room, "app.log.gz", gzip.compress(b"one\n"))).state
    assert (state.size_seen, state.fingerprint) == (0, (4, digest(b"one\n")))


# Missing, ended, forgotten.


def lose(room: Room, *, present: bool = False, excused: bool = False) -> None:
    keys = {key: () for key in room.entries.asleep if isinstance(key, tuple)} if present else {}
    room.entries.lose_missing(keys, (), lambda _: excused)


def test_a_file_that_is_nowhere_is_missing_and_told_when_something_of_it_was_not_read(
    room: Room, caplog: pytest.LogCaptureFixture
) -> None:
    room.write("app.log", b"one\ntwo\n")
    known = know(room, entry_of(room.path("app.log"), 4))
    lose(room)
    assert (room.entries.asleep, room.books.written[known.id].ended) == ({}, MISSING)
    assert room.entries.orphans.states[known.id].ttl == KEPT_FOR
    room.entries.tell_of_lost()
    assert room.metrics.bytes_lost == 4
    (told,) = warnings(caplog)
    assert f"{known.path} (file id {known.id})" in told
    assert "4 bytes from offset 4 on" in told
    room.entries.tell_of_lost()
    assert room.metrics.bytes_lost == 4
    assert room.books.written[known.id].size_seen == 4  # after a start it is not told again
    assert room.entries.orphans.states[known.id].size_seen == 4


def test_what_had_ended_before_all_of_it_was_acknowledged_is_told_after_a_start(
    make_room: MakeRoom, caplog: pytest.LogCaptureFixture
) -> None:
    before = make_room()
    before.write("app.log", b"one\ntwo\n")
    lost = entry_of(before.path("app.log"), 4, "lost", ended=REMOVED)
    room = make_room(lost, entry_of(before.path("app.log"), 8, "read", ended=REMOVED))
    room.entries.tell_of_lost()
    assert room.metrics.bytes_lost == 4
    (told,) = warnings(caplog)
    assert "(file id lost)" in told


def test_an_entry_that_goes_on_elsewhere_tells_which_file_had_it(room: Room) -> None:
    missing(room, b"one\ntwo\n", 4)
    claim = room.entries.adopt(meet(room, "app.log.1", b"one\ntwo\n"))
    assert claim is not None
    assert claim.was == (7, 7)


def test_nothing_is_lost_of_a_missing_file_that_was_read_to_its_end(
    room: Room, caplog: pytest.LogCaptureFixture
) -> None:
    room.write("app.log", b"one\n")
    know(room, entry_of(room.path("app.log"), 4))
    lose(room)
    room.entries.tell_of_lost()
    assert (room.metrics.bytes_lost, warnings(caplog)) == (0, [])


def test_what_was_told_is_not_told_of_another_entry_with_that_id(room: Room, caplog: pytest.LogCaptureFixture) -> None:
    """It came back in between, and was lost for another reason later."""
    room.write("app.log", b"one\ntwo\n")
    known = know(room, entry_of(room.path("app.log"), 4))
    lose(room)
    claim = room.entries.adopt(room.open("app.log"))
    assert claim is not None
    room.entries.tell_of_lost()
    room.entries.orphan(room.entries.ended(known, REMOVED))
    room.entries.tell_of_lost()
    assert warnings(caplog) == []


def test_nothing_is_lost_when_another_file_turns_out_to_be_it(room: Room, caplog: pytest.LogCaptureFixture) -> None:
    opened = meet(room, "app.log.1", b"one\ntwo\n")
    know(room, entry_of(room.path("app.log.1"), 4, device=7, inode=7, path=str(room.path("app.log"))))
    lose(room)
    assert room.entries.adopt(opened) is not None
    room.entries.tell_of_lost()
    assert (room.metrics.bytes_lost, warnings(caplog)) == (0, [])


def test_a_file_that_is_there_or_could_not_be_looked_at_is_not_missing(room: Room) -> None:
    room.write("app.log", b"one\n")
    know(room, entry_of(room.path("app.log"), 4))
    lose(room, present=True)
    lose(room, excused=True)
    assert len(room.entries.asleep) == 1


def test_by_path_a_file_is_there_while_its_path_is(make_room: MakeRoom) -> None:
    room = make_room(file_identity=BY_PATH)
    room.write("app.log", b"one\n")
    path = str(room.path("app.log"))
    know(room, entry_of(room.path("app.log"), 4, key=f"path:{path}"))
    room.entries.lose_missing({}, {path}, lambda _: False)
    assert room.entries.asleep[f"path:{path}"].ended is None
    room.entries.lose_missing({}, (), lambda _: False)
    assert room.entries.asleep[f"path:{path}"].ended == MISSING


def test_the_new_path_of_a_closed_file_is_noted(room: Room) -> None:
    opened = meet(room, "app.log.1", b"one\n")
    known = know(room, entry_of(room.path("app.log.1"), 4, path="/l/app.log"))
    found = {opened.found.key: (room.input, opened.found)}
    assert room.entries.renamed(found) == [known]
    room.entries.note_path(known, opened.found.path)
    assert room.books.written[known.id].path == opened.found.path
    assert room.entries.renamed(found) == []


def test_a_path_is_not_noted_of_a_file_that_was_opened_meanwhile(room: Room) -> None:
    opened = meet(room, "app.log.1", b"one\n")
    known = know(room, entry_of(room.path("app.log.1"), 4, path="/l/app.log"))
    room.entries.claim(opened)
    room.entries.note_path(known, opened.found.path)
    assert (room.entries.asleep, room.books.written[known.id]) == ({}, known)


@pytest.mark.parametrize(
    ("clean_removed", "ended", "ttl"),
    [(True, REMOVED, KEPT_FOR), (True, TRUNCATED, KEPT_FOR), (False, REMOVED, -1.0), (False, TRUNCATED, KEPT_FOR)],
)
def test_what_has_ended_is_kept_for_a_day_or_as_clean_removed_says(
    make_room: MakeRoom, clean_removed: bool, ended: str, ttl: float
) -> None:
    room = make_room(clean_removed=clean_removed)
    assert room.entries.ended(FileState("known", "/l/app.log", 1, 2, input="app"), ended).ttl == ttl


def test_an_orphan_is_forgotten_when_its_time_is_over(room: Room) -> None:
    orphan = missing(room, b"one\n", 4)
    room.clock.advance(KEPT_FOR)
    room.entries.clean()
    assert orphan.id in room.books.written
    room.clock.advance(1)
    room.entries.clean()
    assert (orphan.id in room.books.written, room.entries.orphans.states) == (False, {})


def test_an_orphan_of_clean_removed_false_is_never_forgotten(make_room: MakeRoom) -> None:
    room = make_room(clean_removed=False)
    orphan = missing(room, b"one\n", 4)
    room.clock.advance(KEPT_FOR * 1000)
    room.entries.clean()
    assert orphan.id in room.books.written


def test_by_path_what_has_ended_is_forgotten_as_well(make_room: MakeRoom) -> None:
    room = make_room(file_identity=BY_PATH)
    room.entries.orphan(room.entries.ended(FileState("known", "/x", 1, 2, key="path:/x", input="app"), REMOVED))
    room.clock.advance(KEPT_FOR + 1)
    room.entries.clean()
    assert (room.entries.asleep, room.books.written) == ({}, {})


def test_clean_inactive_forgets_a_file_on_disk_and_not_while_this_runs(make_room: MakeRoom) -> None:
    """It would be read again from its start, because it is still there."""
    room = make_room(clean_inactive=2 * HOUR, ignore_older=HOUR)
    opened = meet(room, "app.log", b"one\n")
    known = know(room, entry_of(room.path("app.log"), 4, updated=room.clock.time()))
    room.clock.advance(2 * HOUR)
    room.entries.clean()
    assert known.id in room.books.written
    room.clock.advance(1)
    room.entries.clean()
    assert known.id not in room.books.written
    assert room.entries.claim(opened) is not None


def test_by_default_a_file_that_is_there_is_never_forgotten(room: Room) -> None:
    room.write("app.log", b"one\n")
    known = know(room, entry_of(room.path("app.log"), 4, updated=room.clock.time()))
    room.clock.advance(1000 * 24 * HOUR)
    room.entries.clean()
    assert known.id in room.books.written
