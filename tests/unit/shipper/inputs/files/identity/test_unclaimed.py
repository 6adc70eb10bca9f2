import os
from typing import Any

import pytest

from log_shipper.registry.state import MISSING, REMOVED, TRUNCATED, FileState
from log_shipper.shipper.inputs.files.identity.fingerprint import HEAD_SIZE
from log_shipper.shipper.inputs.files.identity.opened_file import OpenedFile
from log_shipper.shipper.inputs.files.identity.unclaimed import MAX_COMPARED, UnclaimedEntries
from tests.reading_room import Room, entry_of

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


# Which missing file is recognised; relation.py has the rules.


@pytest.mark.parametrize(
    "changes",
    [{"ended": MISSING}, {"ended": REMOVED}, {"ended": MISSING, "device": 7}],
    ids=lambda changes: f"{changes}",
)
def test_a_file_that_was_out_of_the_paths_for_a_while_is_itself_even_if_its_device_has_another_number(
    room: Room, changes: dict[str, Any]
) -> None:
    opened = meet(room, "web.log", b"one\ntwo\n")
    orphan = entry_of(room.path("web.log"), 4, path="/l/app.log", modified=1, **changes)
    assert match(orphan, opened) is orphan


def test_where_a_file_was_truncated_its_suspected_copy_resumes(room: Room) -> None:
    orphan = remember(room, b"one\ntwo\n", 4, ended=TRUNCATED, modified=1)
    opened = meet(room, "web.log", b"one\ntwo\n")
    assert orphans_of(orphan).match(opened, orphan.id) is orphan
    assert orphans_of(orphan).match(opened, "earlier") is None


# What is seen at once to hold other bytes.


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
