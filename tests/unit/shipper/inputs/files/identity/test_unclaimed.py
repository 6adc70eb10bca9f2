import gzip
import os
from collections.abc import Callable
from typing import Any

import pytest

from log_shipper.registry.state import MISSING, REMOVED, TRUNCATED, FileState
from log_shipper.shipper.inputs.files.identity.fingerprint import HEAD_SIZE
from log_shipper.shipper.inputs.files.identity.opened_file import OpenedFile
from log_shipper.shipper.inputs.files.identity.unclaimed import MAX_COMPARED, UnclaimedEntries
from tests.reading_room import Room, entry_of

MakeRoom = Callable[..., Room]

HEADER = b"#" * (HEAD_SIZE - 1) + b"\n"
LINES = b"".join(b"%05d\n" % number for number in range(100))  # 600 bytes, no two parts of it alike
AWAY: dict[str, Any] = {"device": 7, "inode": 7}  # of another disk
TIME = 1_763_000_000_123_456_789
LATER = 2**62  # nanoseconds: in the year 2116


def orphans_of(*states: FileState) -> UnclaimedEntries:
    unclaimed = UnclaimedEntries()
    for state in states:
        unclaimed.add(state)
    return unclaimed


def match(orphan: FileState, opened: OpenedFile) -> FileState | None:
    return orphans_of(orphan).match(opened)


def remember(room: Room, content: bytes, position: int, **changes: Any) -> FileState:
    """Return an entry of `app.log`, which had `content` and was deleted; it was modified at `TIME`."""
    room.write("app.log", content)
    state = entry_of(room.path("app.log"), position, **{**AWAY, "ended": MISSING, "modified": TIME} | changes)
    room.path("app.log").unlink()
    return state


def meet(room: Room, name: str, content: bytes, modified: int = TIME) -> OpenedFile:
    room.write(name, content)
    os.utime(room.path(name), ns=(modified, modified))
    return room.open(name)


@pytest.mark.parametrize(
    ("birth", "path", "followed"), [(2, "/l/app.log", True), (1, "/l/app.log", False), (2, "/m/app.log", False)]
)
def test_a_missing_file_that_was_created_later_at_a_path_followed_the_one_that_was_there(
    room: Room, birth: int, path: str, *, followed: bool
) -> None:
    first = remember(room, b"one\n", 4, path="/l/app.log", birth=1)
    second = remember(room, b"two\n", 4, path=path, birth=birth, id="second")
    assert orphans_of(first, second).has_successor(first) is followed
    assert not orphans_of(first, second).has_successor(second)


# A missing file is recognised in each way that the table in relation.py has.


@pytest.mark.parametrize("ended", [MISSING, REMOVED])
def test_a_file_that_was_out_of_the_paths_for_a_while_is_itself(room: Room, ended: str) -> None:
    opened = meet(room, "web.log", b"one\ntwo\n")
    orphan = entry_of(room.path("web.log"), 4, path="/l/app.log", ended=ended, modified=1)
    assert match(orphan, opened) is orphan


def test_a_device_may_have_another_number_after_a_reboot(room: Room) -> None:
    opened = meet(room, "web.log", b"one\ntwo\n")
    orphan = entry_of(room.path("web.log"), 4, device=7, path="/l/app.log", ended=MISSING, modified=1)
    assert match(orphan, opened) is orphan


@pytest.mark.parametrize("name", ["app.log", "web.log"])
def test_a_restored_disk_has_other_numbers_and_the_same_times(room: Room, name: str) -> None:
    orphan = remember(room, b"one\ntwo\n", 4)
    assert match(orphan, meet(room, name, b"one\ntwo\nthree\n")) is orphan


def test_a_backup_may_keep_times_to_the_second(room: Room) -> None:
    orphan = remember(room, b"one\ntwo\n", 4)
    assert match(orphan, meet(room, "web.log", b"one\ntwo\n", TIME // 10**9 * 10**9)) is None
    assert match(orphan, meet(room, "app.log", b"one\ntwo\n", TIME // 10**9 * 10**9)) is orphan


@pytest.mark.parametrize(
    ("name", "modified"), [("app.log.1.gz", TIME + 1), ("app-20261121.log.gz", TIME + 1), ("all.gz", TIME)]
)
def test_a_compressed_copy_is_recognised_by_its_name_or_its_time(make_room: MakeRoom, name: str, modified: int) -> None:
    room = make_room(compression="auto")
    orphan = remember(room, HEADER + LINES, HEAD_SIZE + 300, ended=REMOVED)
    assert match(orphan, meet(room, name, gzip.compress(HEADER + LINES), modified)) is orphan


@pytest.mark.parametrize("name", ["app.log.1", "app.1.log", "app-20261121.log"])
def test_of_a_truncated_file_a_copy_resumes_that_is_named_after_it_and_existed_before(room: Room, name: str) -> None:
    orphan = remember(room, b"one\ntwo\n", 4, ended=TRUNCATED, modified=LATER)
    assert match(orphan, meet(room, name, b"one\ntwo\n")) is orphan


def test_or_one_that_was_its_suspected_copy(room: Room) -> None:
    orphan = remember(room, b"one\ntwo\n", 4, ended=TRUNCATED, modified=1)
    opened = meet(room, "web.log", b"one\ntwo\n")
    assert orphans_of(orphan).match(opened, orphan.id) is orphan
    assert orphans_of(orphan).match(opened, "earlier") is None


# What is seen at once to hold other bytes.


@pytest.mark.parametrize("ended", [TRUNCATED, REMOVED])
@pytest.mark.parametrize("position", [0, 4])
def test_what_ended_at_an_inode_is_not_what_was_made_there_since(room: Room, ended: str, position: int) -> None:
    opened = meet(room, "app.log", b"one\ntwo\n")
    orphan = entry_of(room.path("app.log"), position, ended=ended, birth=1, modified=1)
    assert match(orphan, opened) is None


@pytest.mark.parametrize("name", ["app.log.1", "app.log", "web.log"])
def test_an_equal_header_and_time_with_other_lines_behind_it_is_another_file(room: Room, name: str) -> None:
    orphan = remember(room, HEADER + LINES, HEAD_SIZE + 600)
    assert match(orphan, meet(room, name, HEADER + LINES[::-1])) is None


def test_a_file_that_is_shorter_than_what_was_shipped_is_another(room: Room) -> None:
    orphan = remember(room, HEADER + LINES, HEAD_SIZE + 600, ended=TRUNCATED, modified=LATER)
    assert match(orphan, meet(room, "app.log.1", HEADER + LINES[:594])) is None
    assert match(orphan, meet(room, "app.log.1", HEADER + LINES)) is orphan


def test_without_a_birth_an_inode_that_was_used_again_has_other_bytes(room: Room) -> None:
    opened = meet(room, "web.log", b"other\n")
    orphan = remember(room, b"one\ntwo\n", 4, inode=opened.key[1], birth=0)
    assert match(orphan, opened) is None


# What is not known, though its bytes are equal.


def test_under_any_name_equal_bytes_alone_are_another_file(room: Room) -> None:
    """Two backups may log the same lines, however many."""
    orphan = remember(room, HEADER + LINES, HEAD_SIZE + 600)
    assert match(orphan, meet(room, "web.log", HEADER + LINES, TIME + 1)) is None


@pytest.mark.parametrize("ended", [MISSING, REMOVED])
def test_a_copy_of_a_deleted_file_needs_more_than_a_rotated_name(room: Room, ended: str) -> None:
    orphan = remember(room, b"one\ntwo\n", 4, ended=ended)
    assert match(orphan, meet(room, "app.log.1", b"one\ntwo\n", TIME + 1)) is None


def test_a_file_of_which_nothing_was_acknowledged_is_known_by_its_inode_alone(room: Room) -> None:
    assert match(remember(room, b"one\ntwo\n", 0), meet(room, "app.log", b"one\ntwo\n")) is None
    orphan = entry_of(room.path("app.log"), 0, ended=MISSING)
    assert match(orphan, room.open("app.log")) is orphan


def test_an_entry_that_knows_no_byte_fits_no_file(room: Room) -> None:
    orphan = remember(room, b"", 0)
    assert match(orphan, meet(room, "app.log", b"one\n")) is None


def test_an_empty_file_is_none_that_is_known(room: Room) -> None:
    orphan = remember(room, b"one\n", 4)
    assert match(orphan, meet(room, "app.log", b"")) is None


def test_a_file_that_file_identity_names_is_known_by_that_alone(room: Room) -> None:
    orphan = remember(room, b"one\ntwo\n", 4, key="path:/l/app.log")
    assert match(orphan, meet(room, "app.log", b"one\ntwo\n")) is None


# Of several.


def test_of_several_entries_the_one_that_was_read_furthest_is_it(room: Room) -> None:
    less, more, least = (remember(room, b"one\ntwo\n", position, file_id=f"at {position}") for position in (4, 8, 2))
    assert orphans_of(less, more, least).match(meet(room, "app.log.1", b"one\ntwo\n")) is more


def test_of_those_the_one_that_was_read_last(room: Room) -> None:
    times = [float(number * 7 % 20) for number in range(MAX_COMPARED)]
    unclaimed = orphans_of(*(remember(room, b"one\n", 4, file_id=f"at {time}", updated=time) for time in times))
    state = unclaimed.match(meet(room, "app.log.1", b"one\n"))
    assert state is not None
    assert state.updated == max(times)


def test_but_first_of_all_the_one_that_it_was_a_suspected_copy_of(room: Room) -> None:
    more = remember(room, b"one\ntwo\n", 8, file_id="more", ended=TRUNCATED, modified=LATER)
    original = remember(room, b"one\ntwo\n", 4, file_id="original", inode=8, ended=TRUNCATED)
    opened = meet(room, "app.log.1", b"one\ntwo\n")
    unclaimed = orphans_of(more, original)
    assert unclaimed.match(opened, original.id) is original
    assert unclaimed.match(opened) is more


def test_an_entry_that_was_taken_over_fits_no_second_file(room: Room) -> None:
    orphan = remember(room, b"one\ntwo\n", 4)
    unclaimed = orphans_of(orphan, remember(room, b"ONE\ntwo\n", 4, file_id="elsewhere"))
    opened = meet(room, "app.log.1", b"one\ntwo\n")
    assert unclaimed.remove(orphan.id) is orphan
    assert unclaimed.match(opened) is None
    unclaimed.add(orphan)
    assert unclaimed.match(opened) is orphan


@pytest.mark.parametrize("ended", [MISSING, TRUNCATED])
def test_of_two_entries_of_one_name_and_time_the_other_stays_when_one_is_taken_over(room: Room, ended: str) -> None:
    changes = {"ended": ended, "modified": TIME if ended == MISSING else LATER}
    first = remember(room, b"one\ntwo\n", 8, file_id="first", **changes)
    second = remember(room, b"one\ntwo\n", 4, file_id="second", **changes)
    unclaimed = orphans_of(first, second)
    opened = meet(room, "app.log.1", b"one\ntwo\n")
    unclaimed.remove("first")
    assert unclaimed.match(opened) is second
    unclaimed.remove("second")
    assert unclaimed.states == {}
    assert unclaimed.match(opened) is None


@pytest.mark.parametrize(("others", "is_found"), [(MAX_COMPARED - 1, True), (MAX_COMPARED, False)])
def test_of_very_many_not_all_are_compared(room: Room, others: int, is_found: bool) -> None:
    """Who truncates a file every second leaves many, and each costs a read."""
    orphan = remember(room, b"one\ntwo\n", 4)
    unclaimed = orphans_of(orphan, *(remember(room, b"ONE\ntwo\n", 8, file_id=f"{number}") for number in range(others)))
    assert unclaimed.match(meet(room, "app.log.1", b"one\ntwo\n")) is (orphan if is_found else None)


# Refused.


def test_what_was_disproved_of_a_file_is_not_tried_again_and_by_others_it_is(room: Room) -> None:
    first, second = (
        remember(room, b"one\ntwo\n", 8, file_id="first"),
        remember(room, b"one\ntwo\n", 4, file_id="second"),
    )
    unclaimed = orphans_of(first, second)
    refused, other = meet(room, "app.log.1", b"one\ntwo\n"), meet(room, "app.log.2", b"one\ntwo\n")
    unclaimed.refuse("first", refused.key)
    assert unclaimed.match(refused) is second
    assert unclaimed.match(other) is first


def test_an_entry_that_changed_since_is_tried_again(room: Room) -> None:
    orphan = remember(room, b"one\ntwo\n", 8)
    unclaimed, opened = orphans_of(orphan), meet(room, "app.log.1", b"one\ntwo\n")
    unclaimed.refuse(orphan.id, opened.key)
    unclaimed.add(unclaimed.remove(orphan.id))
    assert unclaimed.match(opened) is orphan


def test_what_was_refused_to_a_file_is_not_refused_to_the_next_one_that_has_its_inode(room: Room) -> None:
    orphan = remember(room, b"one\ntwo\n", 8)
    unclaimed, opened = orphans_of(orphan), meet(room, "app.log.1", b"one\ntwo\n")
    unclaimed.refuse(orphan.id, opened.key)
    unclaimed.forget_refused({opened.key})
    assert unclaimed.match(opened) is None
    unclaimed.forget_refused(())
    assert unclaimed.match(opened) is orphan
