import gzip
import logging
import os
from collections.abc import Callable
from dataclasses import replace

import pytest

from log_shipper.registry.state import MISSING, REMOVED, TRUNCATED, FileState
from log_shipper.shipper.inputs.files.discovery.spec import key_of
from log_shipper.shipper.inputs.files.identity.entries import KEPT_FOR
from log_shipper.shipper.inputs.files.identity.fingerprint import HEAD_SIZE, digest
from log_shipper.shipper.inputs.files.identity.opened_file import EntryMatch, OpenedFile
from log_shipper.shipper.inputs.files.identity.prefix import Prefix
from log_shipper.shipper.options.model import FileIdentityConfig
from tests.reading_room import Room, entry_of, proof_of

MakeRoom = Callable[..., Room]
BY_PATH = FileIdentityConfig(name="path")
HOUR = 3600.0
TIME = 1_763_000_000_123_456_789


def meet(room: Room, name: str, content: bytes) -> OpenedFile:
    room.write(name, content)
    return room.open(name)


def know(room: Room, state: FileState) -> FileState:
    """Make the file known, but not open."""
    room.books.written[state.id] = state
    room.entries.keep(state)
    return state


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


# Claimed by name.


def test_a_known_file_resumes_at_the_position_of_its_entry(room: Room) -> None:
    opened = meet(room, "app.log", b"one\ntwo\n")
    known = know(room, entry_of(room.path("app.log"), 4))
    claim = room.entries.claim(opened)
    assert claim is not None
    assert (claim.state, claim.previous_path, claim.is_new) == (known, known.path, False)
    assert room.entries.claim(opened) is None


def test_a_file_that_was_renamed_has_its_new_path_and_gives_the_previous_one(room: Room) -> None:
    opened = meet(room, "app.log.1", b"one\n")
    know(room, entry_of(room.path("app.log.1"), 4, path="/l/app.log"))
    claim = room.entries.claim(opened)
    assert claim is not None
    assert (claim.state.path, claim.previous_path) == (str(room.path("app.log.1")), "/l/app.log")


def test_a_file_that_has_grown_is_seen_at_its_size_of_now(room: Room) -> None:
    room.write("app.log", b"one\n")
    know(room, entry_of(room.path("app.log"), 4))
    claim = room.entries.claim(meet(room, "app.log", b"one\ntwo\n"))
    assert claim is not None
    assert (claim.state.position, claim.state.size_seen) == (4, 8)


def test_a_file_that_was_rewritten_is_not_its_entrys_any_more(room: Room, caplog: pytest.LogCaptureFixture) -> None:
    room.write("app.log", b"one\ntwo\n")
    known = know(room, entry_of(room.path("app.log"), 4))
    opened = meet(room, "app.log", b"ONE\ntwo\n")
    assert room.entries.claim(opened) is None
    assert room.entries.adopt(opened) is None
    written = room.books.written[known.id]
    assert (written.ended, written.ttl, written.updated) == (TRUNCATED, KEPT_FOR, room.clock.time())
    assert written.modified == opened.modified  # a copy that was made later is not one of its earlier content
    room.entries.possibly_lost.report()
    assert room.metrics.bytes_lost == 4
    (warning,) = warnings(caplog)
    assert f"{known.path} (file id {known.id})" in warning
    assert "4 bytes from offset 4 were not shipped" in warning


def test_a_copy_resumes_though_it_is_younger_than_its_original_is_said_to_be(room: Room) -> None:
    """In the middle of a truncation a file has its new size and its old time."""
    room.write("app.log", b"one\ntwo\n")
    known = know(room, entry_of(room.path("app.log"), 4))
    copy = meet(room, "app.log.1", b"one\ntwo\n")
    os.truncate(room.path("app.log"), 0)
    os.utime(room.path("app.log"), ns=(TIME, TIME))
    room.clock.advance((copy.birth or copy.modified) / 10**9 - room.clock.time() + 0.001)
    assert room.entries.claim(room.open("app.log")) is None
    adopted = room.entries.adopt(copy)
    assert adopted is not None
    assert (adopted.state.id, adopted.state.position) == (known.id, 4)


def test_a_file_that_was_closed_here_is_not_proven_again_and_after_a_start_it_is(make_room: MakeRoom) -> None:
    """As long as nothing has changed since then."""
    before = make_room()
    before.write("app.log", b"one\ntwo\n")
    state = entry_of(before.path("app.log"), 4, seen=True)
    room = make_room(state)
    claim = room.entries.claim(room.open("app.log"))
    assert claim is not None
    assert claim.was is state
    room.entries.keep(claim.state)
    claim = room.entries.claim(room.open("app.log"))
    assert claim is not None
    assert claim.was is None


def test_a_compressed_file_is_not_proven_again_as_long_as_it_is_as_it_was_closed(make_room: MakeRoom) -> None:
    """A rename would have all of it decompressed."""
    room = make_room(compression="auto")
    opened = meet(room, "app.log.1.gz", gzip.compress(b"one\ntwo\n"))
    state = replace(room.entries.make(opened).state, position=8, compressed=opened.size, changed=1)
    renamed = replace(opened, scanned=replace(opened.scanned, path=f"{opened.scanned.path}-1"))
    room.entries.keep(state)
    claim = room.entries.claim(renamed)
    assert claim is not None
    assert claim.was is None
    room.entries.keep(state)
    claim = room.entries.claim(replace(renamed, modified=opened.modified + 1))
    assert claim is not None
    assert claim.was is state


def test_a_compressed_file_is_proven_after_each_start(make_room: MakeRoom) -> None:
    """Of its bytes before the position none are compared otherwise."""
    room = make_room(compression="auto")
    room.write("app.log", b"one\ntwo\n")
    state = entry_of(room.path("app.log"), 4)
    opened = meet(room, "app.log", gzip.compress(b"one\ntwo\n"))
    know(room, state)
    claim = room.entries.claim(opened)
    assert claim is not None
    assert claim.was is state


def test_an_entry_taken_over_from_filebeat_is_read_through_once(make_room: MakeRoom) -> None:
    before = make_room()
    before.write("app.log", b"one\n")
    room = make_room(entry_of(before.path("app.log"), 4, proof="", birth=0, modified=0))
    claim = room.entries.claim(room.open("app.log"))
    assert claim is not None
    assert (claim.was is not None, claim.state.position) == (True, 4)
    assert claim.state.birth == entry_of(room.path("app.log")).birth  # from now on it is known


def test_an_inode_that_was_used_again_is_another_file_whatever_its_bytes(
    room: Room, caplog: pytest.LogCaptureFixture
) -> None:
    opened = meet(room, "app.log", b"one\ntwo\n")
    known = know(room, entry_of(room.path("app.log"), 4, birth=1))
    assert room.entries.claim(opened) is None
    assert (room.entries.closed_entries, room.books.written[known.id].ended) == ({}, REMOVED)
    room.entries.possibly_lost.report()
    (warning,) = warnings(caplog)
    assert f"{known.path} (file id {known.id}) no longer exists, and its inode is reused by another file" in warning
    assert "4 bytes from offset 4 were not shipped" in warning


def test_so_it_is_where_a_file_is_only_checked(room: Room) -> None:
    """A truncated file is one of which a copy may resume."""
    room.write("app.log", b"one\n")
    know(room, entry_of(room.path("app.log"), 4, birth=1))
    room.write("app.log", b"ONE\n")
    room.entries.check(room.open("app.log"))
    (ended,) = room.entries.unclaimed.states.values()
    assert ended.ended == REMOVED


@pytest.mark.parametrize("side", ["entry", "file"])
def test_without_a_birth_the_bytes_decide(room: Room, side: str) -> None:
    opened = meet(room, "app.log", b"one\ntwo\n")
    know(room, entry_of(room.path("app.log"), 4, birth=0 if side == "entry" else 1))
    assert room.entries.claim(opened if side == "entry" else replace(opened, birth=0)) is not None


def test_an_entry_stays_when_its_file_cannot_be_read_at_the_moment(room: Room) -> None:
    opened = meet(room, "app.log", b"one\n")
    know(room, entry_of(room.path("app.log"), 4))
    os.close(opened.content.fd)
    with pytest.raises(OSError, match="Bad file descriptor"):
        room.entries.claim(opened)
    assert room.entries.claim(room.open("app.log")) is not None


def test_by_path_a_file_that_is_shorter_than_what_was_read_is_new(make_room: MakeRoom) -> None:
    room = make_room(file_identity=BY_PATH)
    opened = meet(room, "app.log", b"one\n")
    key = f"path:{room.path('app.log')}"
    know(room, replace(entry_of(room.path("app.log"), 4), position=5, key=key))
    assert room.entries.claim(opened) is None


def test_of_two_files_of_one_path_the_one_that_exists_is_known_after_a_start(make_room: MakeRoom) -> None:
    before = make_room(file_identity=BY_PATH)
    before.write("app.log", b"one\ntwo\n")
    state = entry_of(before.path("app.log"), 4, key=f"path:{before.path('app.log')}")
    room = make_room(state, replace(state, id="ended", position=8, ended=TRUNCATED), file_identity=BY_PATH)
    claim = room.entries.claim(room.open("app.log"))
    assert claim is not None
    assert claim.state.id == state.id


@pytest.mark.parametrize(("born_later", "ended"), [(0, TRUNCATED), (1, REMOVED)])
@pytest.mark.parametrize("newest_first", [True, False])
def test_of_two_entries_of_one_inode_the_one_that_was_updated_last_is_the_file_and_the_other_has_ended(
    make_room: MakeRoom, born_later: int, ended: str, newest_first: bool
) -> None:
    before = make_room()
    before.write("app.log", b"one\n")
    newer = entry_of(before.path("app.log"), 4, "newer", updated=2.0, birth=1 + born_later, modified=20)
    older = replace(newer, id="older", updated=1.0, birth=1, modified=10)
    room = make_room(*([newer, older] if newest_first else [older, newer]))
    assert list(room.entries.closed_entries.values()) == [newer]
    (orphan,) = room.entries.unclaimed.states.values()
    assert (orphan.id, orphan.ended, orphan.ttl) == ("older", ended, KEPT_FOR)
    assert orphan.modified == (int(room.clock.time() * 10**9) if ended == TRUNCATED else older.modified)
    assert room.books.written["older"] == orphan


# Adopted by content.


def missing(room: Room, content: bytes, position: int, ended: str = MISSING) -> FileState:
    """Return an entry of `app.log`, which is missing."""
    room.write("app.log", content)
    state = entry_of(room.path("app.log"), position, device=7, inode=7, modified=TIME)
    room.path("app.log").unlink()
    state = room.entries.ended(state, ended)
    room.entries.orphan(state)
    return state


def restored(room: Room, name: str, content: bytes) -> OpenedFile:
    """With its time, on another disk."""
    room.write(name, content)
    os.utime(room.path(name), ns=(TIME, TIME))
    return room.open(name)


def test_a_restored_file_takes_over_the_entry_of_the_deleted_one(room: Room) -> None:
    orphan = missing(room, b"one\ntwo\n", 4)
    opened = restored(room, "app.log.1", b"one\ntwo\n")
    assert room.entries.claim(opened) is None
    claim = room.entries.adopt(opened)
    assert claim is not None
    assert (claim.state.id, claim.state.position, claim.previous_path) == (orphan.id, 4, orphan.path)
    assert key_of(claim.state) == opened.key
    assert (claim.state.birth, claim.state.modified) == (opened.birth, opened.modified)
    assert (claim.state.ended, claim.state.ttl, claim.state.input) == (None, -1.0, "app")
    assert claim.was is orphan  # that is to be proven
    assert room.entries.adopt(room.open("app.log.1")) is None


def test_no_file_resumes_that_is_shorter_than_what_was_shipped(room: Room) -> None:
    """All of it was shipped, but its next lines would have the offsets of others."""
    content = b"#" * HEAD_SIZE + b"one\ntwo\n"
    orphan = missing(room, content + b"three\n", HEAD_SIZE + 14, TRUNCATED)
    assert room.entries.adopt(meet(room, "app.log.1", content), orphan.id) is None


# Put back, because nothing was proven or something else was.


def test_the_life_of_a_known_file_that_was_disproved_has_ended(room: Room, caplog: pytest.LogCaptureFixture) -> None:
    opened = meet(room, "app.log", b"one\ntwo\n")
    known = know(room, entry_of(room.path("app.log"), 4))
    assert room.entries.claim(opened) is not None
    room.entries.undo_match(known)
    room.entries.note_disproved(known, opened)
    assert (room.entries.closed_entries, room.books.written[known.id].ended) == ({}, TRUNCATED)
    assert room.entries.claim(opened) is None
    room.entries.possibly_lost.report()
    (warning,) = warnings(caplog)
    assert "was truncated or rewritten: its new content" in warning


def test_where_file_identity_names_a_file_content_does_not(make_room: MakeRoom) -> None:
    room = make_room(file_identity=BY_PATH)
    missing(room, b"one\ntwo\n", 4)
    assert room.entries.adopt(restored(room, "app.log.1", b"one\ntwo\n")) is None


# Made.


def test_a_new_file_has_an_entry_of_its_own(room: Room) -> None:
    opened = meet(room, "app.log", b"one\n")
    first, second = room.entries.make(opened), room.entries.make(opened)
    assert first.is_new
    assert first.state.id != second.state.id
    expected = entry_of(room.path("app.log"), 0, first.state.id, tail_hash="", updated=room.clock.time())
    assert first.state == expected


def test_a_copy_of_which_all_was_shipped_under_another_id_begins_at_its_end(room: Room) -> None:
    opened, shipped = meet(room, "app.log.1", b"one\ntwo\n"), Prefix()
    shipped.feed(b"one\ntwo\n")
    claim = room.entries.make(opened, shipped)
    assert claim.is_new
    assert (claim.state.position, claim.state.proof) == (8, proof_of(b"one\ntwo\n"))
    assert claim.state.tail_hash == digest(b"one\ntwo\n")


def test_of_a_new_compressed_file_the_size_of_its_content_is_not_known(make_room: MakeRoom) -> None:
    room = make_room(compression="auto")
    state = room.entries.make(meet(room, "app.log.gz", gzip.compress(b"one\n"))).state
    assert (state.size_seen, state.fingerprint) == (0, (4, digest(b"one\n")))


# Missing, ended, forgotten.


def lose(room: Room, *, present: bool = False, excused: bool = False) -> None:
    keys = {key_of(state) for state in room.entries.closed_entries.values()} if present else set()
    room.entries.expire_missing(keys, {}, lambda _: excused, lambda _: None)


def test_a_file_that_is_nowhere_is_missing_and_logged_when_something_of_it_was_not_read(
    room: Room, caplog: pytest.LogCaptureFixture
) -> None:
    room.write("app.log", b"one\ntwo\n")
    known = know(room, entry_of(room.path("app.log"), 4))
    lose(room)
    assert (room.entries.closed_entries, room.books.written[known.id].ended) == ({}, MISSING)
    assert room.entries.unclaimed.states[known.id].ttl == KEPT_FOR
    room.entries.possibly_lost.report()
    assert room.metrics.bytes_lost == 4
    (warning,) = warnings(caplog)
    assert f"{known.path} (file id {known.id})" in warning
    assert "4 bytes from offset 4 were not shipped" in warning
    room.entries.possibly_lost.report()
    assert room.metrics.bytes_lost == 4
    assert room.books.written[known.id].size_seen == 4  # after a start it is not logged again
    assert room.entries.unclaimed.states[known.id].size_seen == 4


@pytest.mark.parametrize("key", ["", "fingerprint:0:4:one", "fingerprint:0:4:two"])
def test_a_file_that_ended_before_all_of_it_was_acknowledged_is_logged_after_a_start(
    make_room: MakeRoom, caplog: pytest.LogCaptureFixture, key: str
) -> None:
    before = make_room()
    before.write("app.log", b"one\ntwo\n")
    lost = entry_of(before.path("app.log"), 4, "lost", ended=REMOVED, key=key)
    room = make_room(lost, entry_of(before.path("app.log"), 8, "read", ended=REMOVED, key="fingerprint:0:4:two"))
    room.entries.possibly_lost.report()
    assert room.metrics.bytes_lost == 4
    (warning,) = warnings(caplog)
    assert "(file id lost)" in warning


def test_what_was_logged_is_not_logged_for_another_entry_with_that_id(
    room: Room, caplog: pytest.LogCaptureFixture
) -> None:
    """It came back in between, and was lost for another reason later."""
    room.write("app.log", b"one\ntwo\n")
    known = know(room, entry_of(room.path("app.log"), 4))
    lose(room)
    claim = room.entries.adopt(room.open("app.log"))
    assert claim is not None
    room.entries.possibly_lost.report()
    room.entries.orphan(room.entries.ended(known, REMOVED))
    room.entries.possibly_lost.report()
    assert warnings(caplog) == []


def lost_and_tried(room: Room) -> tuple[FileState, EntryMatch]:
    """Return an entry whose file is missing, and may turn out to be another one."""
    room.write("app.log", b"one\ntwo\n")
    known = know(room, entry_of(room.path("app.log"), 4, device=7, inode=7, modified=TIME))
    room.path("app.log").unlink()
    lose(room)
    claim = room.entries.adopt(restored(room, "app.log.1", b"one\ntwo\n"))
    assert claim is not None
    return known, claim


def test_nothing_is_lost_when_another_file_turns_out_to_be_it(room: Room, caplog: pytest.LogCaptureFixture) -> None:
    _, claim = lost_and_tried(room)
    room.entries.possibly_lost.report()  # not decided yet
    room.entries.keep(claim.state)
    room.entries.possibly_lost.report()
    assert (room.metrics.bytes_lost, warnings(caplog)) == (0, [])


def test_a_file_that_was_proven_and_is_lost_later_is_logged(room: Room, caplog: pytest.LogCaptureFixture) -> None:
    _, claim = lost_and_tried(room)
    room.entries.keep(claim.state)
    lose(room)
    room.entries.possibly_lost.report()
    assert (room.metrics.bytes_lost, len(warnings(caplog))) == (4, 1)


def test_a_missing_file_is_logged_when_no_file_was_proven_to_be_it(
    room: Room, caplog: pytest.LogCaptureFixture
) -> None:
    known, claim = lost_and_tried(room)
    room.entries.possibly_lost.report()
    assert warnings(caplog) == []
    assert claim.was is not None
    room.entries.undo_match(claim.was)
    room.entries.possibly_lost.report()
    assert (room.metrics.bytes_lost, len(warnings(caplog))) == (4, 1)
    assert f"(file id {known.id})" in warnings(caplog)[0]


def test_a_file_that_exists_or_could_not_be_inspected_is_not_missing(room: Room) -> None:
    room.write("app.log", b"one\n")
    know(room, entry_of(room.path("app.log"), 4))
    lose(room, present=True)
    lose(room, excused=True)
    assert len(room.entries.closed_entries) == 1


def test_by_path_a_file_is_there_while_its_path_is(make_room: MakeRoom) -> None:
    room = make_room(file_identity=BY_PATH)
    room.write("app.log", b"one\n")
    path = str(room.path("app.log"))
    know(room, entry_of(room.path("app.log"), 4, key=f"path:{path}"))
    room.entries.expire_missing({}, {("app", path): ("app", 7, 7)}, lambda _: False, lambda _: None)
    assert room.entries.closed_entries["app", f"path:{path}"].ended is None
    room.entries.expire_missing({}, {}, lambda _: False, lambda _: None)
    assert room.entries.closed_entries["app", f"path:{path}"].ended == MISSING


def test_a_file_of_a_previous_run_that_was_renamed_must_still_be_proven(make_room: MakeRoom) -> None:
    before = make_room()
    before.write("app.log.1", b"one\n")
    known = entry_of(before.path("app.log.1"), 4, path="/l/app.log")
    room = make_room(known)
    opened = room.open("app.log.1")
    room.entries.note_path(known, opened.scanned.path)
    claim = room.entries.claim(opened)
    assert claim is not None
    assert claim.was is not None


def test_a_path_is_not_noted_of_a_file_that_was_opened_meanwhile(room: Room) -> None:
    opened = meet(room, "app.log.1", b"one\n")
    known = know(room, entry_of(room.path("app.log.1"), 4, path="/l/app.log"))
    room.entries.claim(opened)
    room.entries.note_path(known, opened.scanned.path)
    assert (room.entries.closed_entries, room.books.written[known.id]) == ({}, known)


@pytest.mark.parametrize(
    ("clean_removed", "ended", "ttl"),
    [(True, REMOVED, KEPT_FOR), (True, TRUNCATED, KEPT_FOR), (False, REMOVED, -1.0), (False, TRUNCATED, KEPT_FOR)],
)
def test_an_ended_entry_is_kept_for_a_day_or_by_clean_removed(
    make_room: MakeRoom, clean_removed: bool, ended: str, ttl: float
) -> None:
    room = make_room(clean_removed=clean_removed)
    assert room.entries.ended(FileState("known", "/l/app.log", 1, 2, input="app"), ended).ttl == ttl
