import gzip
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from registry.state import FileState
from shipper.source.entries import Opened
from shipper.source.harvester import REMOVED
from shipper.source.identity import HEAD_SIZE
from shipper.source.orphans import MISSING, TRUNCATED, Orphans
from tests.reading_room import Room, entry_of

MakeRoom = Callable[..., Room]

HEADER = b"#" * (HEAD_SIZE - 1) + b"\n"
LINES = b"".join(b"%05d\n" % number for number in range(100))  # 600 bytes, no two parts of it alike
AWAY: dict[str, Any] = {"device": 7, "inode": 7}  # of another disk


def match(orphan: FileState, opened: Opened) -> FileState | None:
    orphans = Orphans()
    orphans.add(orphan)
    return orphans.match(opened.found, opened.content, None)


def remember(room: Room, content: bytes, position: int, **changes: Any) -> FileState:
    """An entry of `app.log`, which held `content` and is nowhere any more."""
    room.write("app.log", content)
    state = entry_of(room.path("app.log"), position, **{**AWAY, "ended": MISSING} | changes)
    room.path("app.log").unlink()
    return state


def meet(room: Room, name: str, content: bytes) -> Opened:
    room.write(name, content)
    return room.open(name)


# What suffices.


@pytest.mark.parametrize("ended", [MISSING, TRUNCATED, REMOVED])
def test_a_copy_under_a_rotated_name_goes_on_where_the_original_was(room: Room, ended: str) -> None:
    orphan = remember(room, b"one\ntwo\n", 4, ended=ended)
    assert match(orphan, meet(room, "app.log.1", b"one\ntwo\n")) is orphan


def test_a_restored_disk_has_other_numbers_and_the_same_paths(room: Room) -> None:
    orphan = remember(room, b"one\ntwo\n", 4)
    assert match(orphan, meet(room, "app.log", b"one\ntwo\nthree\n")) is orphan


def test_a_device_may_have_another_number_after_a_reboot(room: Room) -> None:
    opened = meet(room, "web.log", b"one\ntwo\n")
    orphan = entry_of(room.path("web.log"), 4, device=7, path="/l/app.log", ended=MISSING)
    assert match(orphan, opened) is orphan


def test_a_file_that_was_out_of_the_paths_for_a_while_is_itself(room: Room) -> None:
    opened = meet(room, "web.log", b"one\ntwo\n")
    orphan = entry_of(room.path("web.log"), 4, path="/l/app.log", ended=MISSING)
    assert match(orphan, opened) is orphan


def test_under_any_name_a_whole_tail_behind_the_header_is_enough(room: Room) -> None:
    orphan = remember(room, HEADER + LINES, HEAD_SIZE + 600)
    assert match(orphan, meet(room, "web.txt", HEADER + LINES + b"more\n")) is orphan


def test_a_compressed_copy_holds_the_same_bytes(make_room: MakeRoom) -> None:
    room = make_room(compression="auto")
    orphan = remember(room, HEADER + LINES, HEAD_SIZE + 300, ended=REMOVED)
    assert match(orphan, meet(room, "app.log.1.gz", gzip.compress(HEADER + LINES))) is orphan


def test_a_file_of_which_nothing_was_acknowledged_is_told_by_its_name_and_its_bytes(room: Room) -> None:
    orphan = remember(room, b"one\ntwo\n", 0)
    assert match(orphan, meet(room, "app.log.1", b"one\ntwo\n")) is orphan


# What does not.


@pytest.mark.parametrize("ended", [TRUNCATED, REMOVED])
@pytest.mark.parametrize("position", [0, 4])
def test_what_ended_at_an_inode_is_never_what_is_there_now(room: Room, ended: str, position: int) -> None:
    opened = meet(room, "app.log", b"one\ntwo\n")
    orphan = entry_of(room.path("app.log"), position, ended=ended)
    assert match(orphan, opened) is None


@pytest.mark.parametrize("name", ["app.log.1", "app.log", "web.log"])
def test_an_equal_header_with_other_lines_behind_it_is_another_file(room: Room, name: str) -> None:
    orphan = remember(room, HEADER + LINES, HEAD_SIZE + 600)
    assert match(orphan, meet(room, name, HEADER + LINES[::-1])) is None


@pytest.mark.parametrize("ended", [MISSING, TRUNCATED])
def test_an_equal_header_alone_is_another_file(room: Room, ended: str) -> None:
    orphan = remember(room, HEADER + LINES, 0, ended=ended)
    assert match(orphan, meet(room, "web.log", HEADER + LINES[::-1])) is None


@pytest.mark.parametrize("position", [300, HEAD_SIZE])
def test_a_tail_within_the_header_is_no_more_than_the_header(room: Room, position: int) -> None:
    """Two files with the same header, of the first of which nothing else was read."""
    orphan = remember(room, HEADER + LINES, position)
    assert match(orphan, meet(room, "web.log", HEADER + LINES[::-1])) is None


def test_a_shorter_file_with_an_equal_header_is_another_file(room: Room) -> None:
    """Another rotation came between: nothing says that the lines behind the header were ever shipped."""
    orphan = remember(room, HEADER + LINES, HEAD_SIZE + 600, ended=TRUNCATED)
    assert match(orphan, meet(room, "app.log.1", HEADER + LINES[::-1][:300])) is None


def test_a_few_equal_bytes_under_another_name_are_another_file(room: Room) -> None:
    orphan = remember(room, b"one\ntwo\n", 8)
    assert match(orphan, meet(room, "web.log", b"one\ntwo\n")) is None


def test_an_inode_that_was_used_again_holds_other_bytes(room: Room) -> None:
    opened = meet(room, "web.log", b"other\n")
    orphan = remember(room, b"one\ntwo\n", 4)
    assert match(replace(orphan, inode=opened.found.key[1]), opened) is None


def test_an_entry_that_knows_no_byte_fits_no_file(room: Room) -> None:
    orphan = remember(room, b"", 0)
    assert match(orphan, meet(room, "app.log", b"one\n")) is None


def test_an_empty_file_is_none_that_is_known(room: Room) -> None:
    orphan = remember(room, b"one\n", 4)
    assert match(orphan, meet(room, "app.log", b"")) is None


def test_a_compressed_file_that_ended_knows_no_bytes_before_its_position(make_room: MakeRoom) -> None:
    room = make_room(compression="auto")
    orphan = remember(room, HEADER + LINES, 1624, compressed=900, path=str(room.path("app.log.1.gz")))
    assert match(orphan, meet(room, "app.log.2.gz", gzip.compress(HEADER + LINES))) is None


def test_a_shorter_compressed_file_is_no_copy(make_room: MakeRoom) -> None:
    room = make_room(compression="auto")
    orphan = remember(room, HEADER + LINES, HEAD_SIZE + 600, ended=TRUNCATED)
    assert match(orphan, meet(room, "app.log.1.gz", gzip.compress(HEADER + LINES[:300]))) is None


# Of several.


def orphans_of(*states: FileState) -> Orphans:
    orphans = Orphans()
    for state in states:
        orphans.add(state)
    return orphans


def test_of_several_entries_the_one_that_was_read_furthest_is_it(room: Room) -> None:
    less, more, least = (remember(room, b"one\ntwo\n", at, file_id=f"at {at}") for at in (4, 8, 0))
    opened = meet(room, "app.log.1", b"one\ntwo\n")
    assert orphans_of(less, more, least).match(opened.found, opened.content, None) is more


def test_but_first_of_all_the_one_that_it_was_taken_for_a_copy_of(room: Room) -> None:
    more = remember(room, b"one\ntwo\n", 8, file_id="more")
    original = remember(room, b"one\ntwo\n", 4, file_id="original", inode=8)
    opened = meet(room, "app.log.1", b"one\ntwo\n")
    assert orphans_of(more, original).match(opened.found, opened.content, (7, 8)) is original


def test_an_entry_that_was_taken_over_fits_no_second_file(room: Room) -> None:
    orphan = remember(room, b"one\ntwo\n", 4)
    orphans = orphans_of(orphan, replace(orphan, id="elsewhere", fingerprint=(3, "x")))
    opened = meet(room, "app.log.1", b"one\ntwo\n")
    assert orphans.remove(orphan.id) is orphan
    assert orphans.match(opened.found, opened.content, None) is None
    orphans.add(orphan)
    assert orphans.match(opened.found, opened.content, None) is orphan


def test_of_two_entries_with_one_head_the_other_stays_when_one_is_taken_over(room: Room) -> None:
    first = remember(room, b"one\ntwo\n", 8, file_id="first")
    second = remember(room, b"one\ntwo\n", 4, file_id="second")
    orphans = orphans_of(first, second)
    opened = meet(room, "app.log.1", b"one\ntwo\n")
    orphans.remove("first")
    assert orphans.match(opened.found, opened.content, None) is second
    orphans.remove("second")
    assert orphans.states == {}
    assert orphans.match(opened.found, opened.content, None) is None
