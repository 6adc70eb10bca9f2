import gzip
import os
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from log_shipper.registry.state import REMOVED, TRUNCATED, FileState
from log_shipper.shipper.source.discovery.scanner import ScannedFile
from log_shipper.shipper.source.discovery.spec import Candidate, FileKey, key_of
from log_shipper.shipper.source.identity.opened_file import OpenedFile
from log_shipper.shipper.source.identity.unclaimed import UnclaimedEntries
from log_shipper.shipper.source.lifecycle.copy_detector import (
    COMPARE_AGAIN,
    COMPARED_AT_ONCE,
    GRACE,
    LATE,
    MOST_SUSPECTS,
    CopyDetector,
)
from log_shipper.shipper.source.lifecycle.files import Files
from tests.descriptors import descriptors_before, open_descriptors
from tests.reading_room import Room, entry_of, proof_of

MakeRoom = Callable[..., Room]
ALMOST = GRACE * 0.9
LATER = 2**62  # nanoseconds: in the year 2116


class Store:
    """The copies of a room; what is under its paths, ending and known is what is in its folder and these."""

    def __init__(self, room: Room) -> None:
        self.room = room
        self.ending: dict[FileKey, FileState] = {}
        self.known: dict[FileKey, FileState] = {}
        self.rewritten: list[FileState] = []
        self.descriptors: dict[FileKey, int] = {}
        files: Any = SimpleNamespace(
            files=Files(),
            is_ending=self.ending.__contains__,
            state_of=self.known.get,
            descriptor_of=self.descriptors.get,
            ended_originals=self.ended_originals,
        )
        self.copies = CopyDetector(room.clock, files)

    def original(self, name: str, content: bytes, position: int = 0) -> FileKey:
        """A file that is there, and of which so much was read."""
        self.room.write(name, content)
        self.room.open(name)  # its inode must not be used again
        state = entry_of(self.room.path(name), position)
        self.known[key_of(state)] = state
        return key_of(state)

    def ended_originals(self, _: OpenedFile) -> list[FileState]:
        ending = [replace(state, ended=state.ended or REMOVED) for state in self.ending.values()]
        return [*ending, *(replace(state, ended=TRUNCATED) for state in self.rewritten)]

    def meets(self, name: str, content: bytes) -> OpenedFile:
        self.room.write(name, content)
        return self.room.open(name)

    def must_wait(self, opened: OpenedFile) -> bool:
        return self.copies.must_wait(opened, self.files_at)

    def must_still_wait(self) -> bool:
        """True if the only suspected copy must still wait when it is checked again."""
        (opened,) = self.copies.refreshed({})
        return self.must_wait(opened)

    def files_at(self, input_id: str, path: str) -> list[FileKey]:
        try:
            status = os.stat(path)
        except FileNotFoundError:
            return []
        return [(input_id, status.st_dev, status.st_ino)]


@pytest.fixture
def store(room: Room) -> Store:
    return Store(room)


def test_a_file_that_looks_like_another_is_a_suspected_copy(store: Store) -> None:
    key = store.original("app.log", b"one\ntwo\n")
    copy = store.meets("app.log.1", b"one\ntwo\n")
    assert store.must_wait(copy)
    assert list(store.copies.suspects) == [copy.key]
    assert store.copies.suspects[copy.key].original == key


def test_so_is_the_beginning_of_a_copy(store: Store) -> None:
    store.original("app.log", b"one\ntwo\n")
    assert store.must_wait(store.meets("app.log.1", b"one\n"))


def test_so_is_an_empty_file_that_may_become_a_copy(store: Store) -> None:
    store.original("app.log", b"one\ntwo\n")
    assert store.must_wait(store.meets("app.log.1", b""))


def test_so_is_a_compressed_copy(make_room: MakeRoom) -> None:
    store = Store(make_room(compression="auto"))
    store.original("app.log.1", b"one\ntwo\n")
    assert store.must_wait(store.meets("app.log.1.gz", gzip.compress(b"one\ntwo\n")))


def test_a_file_with_a_name_of_its_own_is_not_suspected_whatever_its_bytes(store: Store) -> None:
    store.original("app.log", b"one\ntwo\n")
    assert not store.must_wait(store.meets("web.log", b"one\ntwo\n"))
    assert not store.copies.suspects


HEADER = b"#" * 1024


@pytest.mark.parametrize(
    ("content", "position", "other"),
    [
        (b"one\ntwo\n", 8, b"ONE\ntwo\n"),
        (b"one\ntwo\n", 8, b"ONE\n"),
        (HEADER + b"lines\n" * 50, 1324, HEADER + b"other\n" * 50),
        (HEADER + b"lines\n" * 50, 0, HEADER + b"other\n" * 50),
        (b"one\ntwo\n", 8, b"one\ntwo\nthree\n"),
    ],
)
def test_a_file_with_bytes_of_its_own_is_not_suspected_whatever_its_name(
    store: Store, content: bytes, position: int, other: bytes
) -> None:
    store.original("app.log", content, position)
    assert not store.must_wait(store.meets("app.log.1", other))


def test_no_file_is_suspected_forever_beside_one_that_does_not_change(store: Store) -> None:
    """Two tables with the same first line, of which one has no more yet."""
    store.original("app.log", b"name,value\n", position=11)
    waits = store.must_wait(store.meets("app.log.1", b"name,value\none,1\n"))
    for _ in range(3):
        store.room.clock.advance(GRACE)
        waits = waits and store.must_still_wait()
    assert not waits


def test_a_file_of_which_nothing_was_read_yet_may_be_an_original(store: Store) -> None:
    store.room.write("app.log", b"one\n")
    assert store.must_wait(store.meets("app.log.1", b"one\n"))


def test_no_file_is_an_original_of_itself(store: Store) -> None:
    """It has two names."""
    copy = store.meets("app.log.1", b"one\n")
    store.room.path("app.log").hardlink_to(store.room.path("app.log.1"))
    assert not store.must_wait(copy)


def test_no_more_are_suspected_than_may_be_open(store: Store) -> None:
    store.original("app.log", b"one\n")
    waits = [store.must_wait(store.meets(f"app.log.{number}", b"one\n")) for number in range(MOST_SUSPECTS + 1)]
    assert waits == [*[True] * MOST_SUSPECTS, False]
    assert [store.must_wait(opened) for opened in store.copies.refreshed({})] == [True] * MOST_SUSPECTS


def test_what_stays_as_it_is_beside_its_original_is_a_file_like_any_other(store: Store) -> None:
    store.original("app.log", b"one\ntwo\n")
    store.must_wait(store.meets("app.log.1", b"one\n"))
    store.room.clock.advance(ALMOST)
    assert store.must_still_wait()
    store.room.clock.advance(GRACE - ALMOST)
    assert not store.must_still_wait()


def test_the_time_counts_from_its_last_growth(store: Store) -> None:
    store.original("app.log", b"one\ntwo\n")
    store.must_wait(store.meets("app.log.1", b"one\n"))
    store.room.clock.advance(ALMOST)
    store.room.append("app.log.1", b"two\n")
    assert store.must_still_wait()
    store.room.clock.advance(ALMOST)
    assert store.must_still_wait()
    store.room.clock.advance(GRACE - ALMOST)
    assert not store.must_still_wait()


def test_a_look_that_comes_late_is_followed_by_one_more(store: Store) -> None:
    """The machine stood still, and the program that copies with it: it may be about to empty the original."""
    store.original("app.log", b"one\ntwo\n")
    store.must_wait(store.meets("app.log.1", b"one\n"))
    store.room.clock.advance(60)
    assert store.must_still_wait()
    store.room.clock.advance(LATE)
    assert not store.must_still_wait()


def test_it_is_let_go_as_soon_as_it_has_bytes_of_its_own(store: Store) -> None:
    store.original("app.log", b"one\ntwo\n")
    store.must_wait(store.meets("app.log.1", b"one\n"))
    store.room.append("app.log.1", b"other\n")
    assert not store.must_still_wait()


def test_an_original_that_was_truncated_meanwhile_is_about_to_be_noticed(store: Store) -> None:
    """Until then nothing that was written behind it may let the copy go."""
    store.original("app.log", b"one\ntwo\n", position=4)
    store.must_wait(store.meets("app.log.1", b"one\ntwo\n"))
    store.room.write("app.log", b"new\n")
    for _ in range(3):
        store.room.clock.advance(GRACE)
        assert store.must_still_wait()
        assert store.copies.next_check == store.room.clock.monotonic() + GRACE


def test_an_original_that_was_renamed_meanwhile_is_still_the_original(store: Store) -> None:
    key = store.original("app.log", b"one\ntwo\n", position=8)
    store.must_wait(store.meets("app.log.1", b"one\n"))
    moved = store.room.path("app.log").rename(store.room.path("moved"))
    store.known[key] = replace(store.known[key], path=str(moved))
    assert store.must_still_wait()


def test_of_an_open_original_that_was_truncated_and_renamed_its_descriptor_shows_that(store: Store) -> None:
    """It keeps its path until it is read, which a blocked output delays, and another file may be there now."""
    key = store.original("app.log", b"one\ntwo\n", position=4)
    store.must_wait(store.meets("app.log.1", b"one\ntwo\n"))
    moved = store.room.path("app.log").rename(store.room.path("moved"))
    store.room.write("app.log", b"new\n")
    with moved.open("r+b") as original:
        original.truncate()
        store.descriptors[key] = original.fileno()
        for _ in range(3):
            store.room.clock.advance(GRACE)
            assert store.must_still_wait()


def test_the_original_is_the_life_that_its_file_had_then(store: Store) -> None:
    """What was shipped of an earlier life under another id, as before a touch, was not copied."""
    key = store.original("app.log", b"one\n")
    copy = store.meets("app.log.1", b"one\n")
    store.known[key] = replace(store.known[key], id="later")
    assert store.must_wait(copy)
    assert store.copies.original_id_of(copy.key) == "later"
    store.ending[key] = store.known.pop(key)
    assert store.must_still_wait()
    assert store.copies.original_id_of(copy.key) == "later"


def test_a_suspected_copy_of_one_file_may_turn_out_to_look_like_another(store: Store) -> None:
    first = store.original("app.log", b"one\n")
    copy = store.meets("app.log.2", b"")
    store.must_wait(copy)
    assert store.copies.suspects[copy.key].original == first
    second = store.original("app.log.1", b"two\n")
    store.room.append("app.log.2", b"two\n")
    assert store.must_still_wait()
    assert store.copies.suspects[copy.key].original == second


def test_nothing_is_suspected_of_a_path_without_a_file(store: Store) -> None:
    key = store.original("app.log", b"one\n")
    store.room.path("app.log").unlink()
    assert not store.copies.must_wait(store.meets("app.log.1", b"two\n"), lambda *_: [key])


def test_of_several_files_that_were_at_a_path_one_is_the_original(store: Store) -> None:
    """It was renamed when the survey was made, and another is there now; then it was truncated."""
    first, second = store.original("app.log", b"one\n"), store.original("app.log.9", b"two\n", position=4)
    store.room.write("app.log.9", b"new\n")
    copy = store.meets("app.log.1", b"two\n")
    assert store.copies.must_wait(copy, lambda _, path: [first, second] if path.endswith("app.log") else [])
    assert store.copies.suspects[copy.key].original == second


def test_who_took_over_the_entry_of_an_original_is_the_original_now(store: Store) -> None:
    first = store.original("app.log", b"one\n")
    copy, other = store.meets("app.log.1", b"one\n"), store.meets("app.log.2", b"one\n")
    store.must_wait(copy)
    assert store.copies.inherit({("app", 0, 0): other.key}) == set()
    assert store.copies.inherit({first: other.key}) == {copy.key}
    assert store.copies.suspects[copy.key].original == other.key


def test_to_compare_leaves_no_file_open(store: Store) -> None:
    store.original("app.log", b"one\n")
    opened = store.meets("app.log.1", b"one\n")
    before = descriptors_before()
    store.must_wait(opened)
    assert open_descriptors() <= before


def test_a_copy_of_a_deleted_file_waits_until_that_is_finished(store: Store) -> None:
    """The output is blocked: the last lines of the original are still in flight."""
    key = store.original("app.log", b"one\ntwo\n", position=4)
    store.must_wait(store.meets("app.log.1", b"one\ntwo\n"))
    store.room.path("app.log").unlink()
    store.ending[key] = store.known.pop(key)
    store.room.clock.advance(GRACE * 10)
    assert store.must_still_wait()
    del store.ending[key]
    assert not store.must_still_wait()


def ends(store: Store, name: str, content: bytes, **changes: Any) -> FileState:
    """It was deleted or truncated, and its last lines are still in flight."""
    key = store.original(name, content)
    store.room.path(name).unlink()
    store.ending[key] = replace(store.known.pop(key), **changes)
    return store.ending[key]


def test_a_copy_that_is_met_after_its_original_was_truncated_waits_too(store: Store) -> None:
    state = ends(store, "app.log", b"one\ntwo\n", ended=TRUNCATED, modified=LATER)
    copy = store.meets("app.log.1", b"one\ntwo\n")
    assert store.must_wait(copy)
    assert store.copies.suspects[copy.key].original == key_of(state)


def test_so_does_a_compressed_copy_of_a_deleted_file(make_room: MakeRoom) -> None:
    """gzip removes what it has compressed."""
    store = Store(make_room(compression="auto"))
    ends(store, "app.log.1", b"one\ntwo\n")
    assert store.must_wait(store.meets("app.log.1.gz", gzip.compress(b"one\ntwo\n")))


def test_so_is_a_copy_that_has_its_time(store: Store) -> None:
    """It was moved to another disk."""
    state = ends(store, "app.log", b"one\ntwo\n")
    store.room.write("web.log", b"one\ntwo\n")
    os.utime(store.room.path("web.log"), ns=(state.modified, state.modified))
    assert store.must_wait(store.room.open("web.log"))


def test_a_file_of_equal_bytes_that_was_made_after_the_other_was_deleted_does_not_wait(store: Store) -> None:
    """Equal bytes do not make it a copy: it is the next file."""
    ends(store, "app.log", b"one\ntwo\n", modified=1)
    assert not store.must_wait(store.meets("app.log.1", b"one\ntwo\n"))


def test_a_copy_of_a_file_that_was_rewritten_waits_before_that_was_noticed(store: Store) -> None:
    key = store.original("app.log", b"one\ntwo\n", position=8)
    store.rewritten.append(replace(store.known[key], modified=LATER))
    store.room.write("app.log", b"new\n")
    copy = store.meets("app-20261121.log", b"one\ntwo\n")
    assert store.copies.must_wait(copy, lambda *_: [])
    assert store.copies.suspects[copy.key].original == key


def test_a_file_with_bytes_of_its_own_does_not_wait_for_a_deleted_one(store: Store) -> None:
    key = store.original("app.log", b"one\ntwo\n", position=4)
    store.room.path("app.log").unlink()
    store.ending[key] = store.known.pop(key)
    assert not store.must_wait(store.meets("app.log.1", b"ONE\ntwo\n"))


def test_a_suspected_copy_has_the_remainder_of_its_original(store: Store) -> None:
    key = store.original("app.log", b"one\ntwo\n", position=4)
    store.must_wait(store.meets("app.log.1", b"one\ntwo\n"))
    state = store.known[key]
    assert store.copies.copied_to(state, key, 9) == 8
    assert store.copies.copied_to(state, key, 7) == 7
    assert store.copies.copied_to(state, ("app", 0, 0), 8) == 0


def test_the_size_of_a_compressed_one_does_not_show_what_it_has(make_room: MakeRoom) -> None:
    store = Store(make_room(compression="auto"))
    content = b"one\ntwo\n" * 1000
    key = store.original("app.log", content, position=4)
    store.must_wait(store.meets("app.log.1.gz", gzip.compress(content)))
    assert store.copies.copied_to(store.known[key], key, 8000) == 8000


def test_a_suspected_copy_of_another_file_has_no_remainder_of_this_one(store: Store) -> None:
    key = store.original("app.log", b"one\ntwo\n", position=4)
    store.must_wait(store.meets("app.log.1", b""))
    assert store.copies.copied_to(store.known[key], key, 8) == 0


def test_it_gives_the_time_of_the_next_check_of_a_suspected_copy(store: Store) -> None:
    assert store.copies.next_check == float("inf")
    store.original("app.log", b"one\n")
    store.must_wait(store.meets("app.log.1", b"one\n"))
    assert store.copies.next_check == store.room.clock.monotonic() + GRACE


def test_while_its_original_is_ending_there_is_no_need_to_look_all_the_time(store: Store) -> None:
    key = store.original("app.log", b"one\ntwo\n", position=4)
    store.must_wait(store.meets("app.log.1", b"one\ntwo\n"))
    store.ending[key] = store.known[key]
    store.room.clock.advance(GRACE)
    assert store.must_still_wait()
    assert store.copies.next_check > store.room.clock.monotonic()


def test_suspected_copies_are_given_as_they_are_now(store: Store) -> None:
    store.original("app.log", b"one\ntwo\n")
    store.must_wait(store.meets("app.log.1", b"one\n"))
    store.room.append("app.log.1", b"two\n")
    (opened,) = store.copies.refreshed({})
    assert (opened.size, opened.scanned.size) == (8, 8)
    status = store.room.path("app.log.1").stat()
    assert (opened.scanned.modified, opened.modified) == (status.st_mtime, status.st_mtime_ns)


def test_a_suspected_copy_that_was_renamed_is_given_with_the_path_that_the_survey_found(store: Store) -> None:
    """Its path shows which file is younger."""
    store.original("app.log", b"one\n")
    copy = store.meets("app.log.1", b"one\n")
    store.must_wait(copy)
    path = str(store.room.path("app.log.1").rename(store.room.path("app.log.2")))
    (opened,) = store.copies.refreshed({copy.key: Candidate.of(copy.spec, ScannedFile.of(path, os.stat(path)))})
    assert opened.scanned.path == path


def test_a_suspected_copy_that_was_deleted_is_released_at_once(store: Store) -> None:
    store.original("app.log", b"one\ntwo\n")
    store.must_wait(store.meets("app.log.1", b"one\n"))
    store.room.path("app.log.1").unlink()
    assert not store.must_still_wait()


def test_but_not_while_its_original_is_ending(store: Store) -> None:
    """It may be the only one that has what was not read."""
    key = store.original("app.log", b"one\ntwo\n", position=4)
    store.must_wait(store.meets("app.log.1", b"one\ntwo\n"))
    store.room.path("app.log.1").unlink()
    store.ending[key] = store.known[key]
    assert store.must_still_wait()


def test_a_file_that_was_identified_is_not_suspected(store: Store) -> None:
    store.original("app.log", b"one\n")
    opened = store.meets("app.log.1", b"one\n")
    store.must_wait(opened)
    store.copies.drop(opened.key)
    store.copies.drop(opened.key)
    assert (store.copies.suspects, store.copies.original_id_of(opened.key)) == ({}, "")
    os.fstat(opened.content.fd)


def test_suspected_copies_are_closed_at_the_end(store: Store) -> None:
    store.original("app.log", b"one\n")
    opened = store.meets("app.log.1", b"one\n")
    store.must_wait(opened)
    store.copies.close()
    assert store.copies.suspects == {}
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(opened.content.fd)


# Compared with the original, a part in each look.

LARGE = b"".join(b"%09d\n" % number for number in range(COMPARED_AT_ONCE // 10 + 1000))


def test_a_large_copy_is_compared_in_parts_and_the_next_comes_soon(store: Store) -> None:
    store.original("app.log", LARGE)
    store.must_wait(store.meets("app.log.1", LARGE))
    assert store.copies.next_check == store.room.clock.monotonic() + COMPARE_AGAIN
    store.room.clock.advance(COMPARE_AGAIN)
    assert store.copies.next_check <= store.room.clock.monotonic()
    assert store.must_still_wait()
    assert store.copies.next_check == store.room.clock.monotonic() + GRACE - COMPARE_AGAIN


def test_what_was_compared_is_not_compared_again_when_it_has_grown(store: Store) -> None:
    store.original("app.log", LARGE + b"more\n")
    store.must_wait(store.meets("app.log.1", LARGE))
    store.room.append("app.log.1", b"more\n")
    assert store.must_still_wait()
    assert store.copies.next_check == store.room.clock.monotonic() + GRACE


@pytest.mark.parametrize("offset", [len(LARGE) // 2, len(LARGE) - 500])
def test_it_is_let_go_when_a_part_differs_though_head_and_tail_are_equal(store: Store, offset: int) -> None:
    store.original("app.log", LARGE)
    waits = store.must_wait(store.meets("app.log.1", LARGE[:offset] + b"x" + LARGE[offset + 1 :]))
    assert not (waits and store.must_still_wait())


def truncate(store: Store, key: FileKey, position: int) -> UnclaimedEntries:
    """So much of the original was shipped when its life ended."""
    unclaimed = UnclaimedEntries()
    unclaimed.add(replace(store.known[key], ended=TRUNCATED, position=position))
    return unclaimed


def test_all_of_a_copy_was_shipped_that_was_made_before_the_last_lines_came(store: Store) -> None:
    key = store.original("app.log", b"one\ntwo\nthree\n")
    copy = store.meets("app.log.1", b"one\ntwo\n")
    store.must_wait(copy)
    shipped = store.copies.shipped_of(copy, truncate(store, key, position=14))
    assert shipped is not None
    assert (shipped.length, shipped.proof) == (8, proof_of(b"one\ntwo\n"))


def test_also_when_it_was_met_while_it_grew(store: Store) -> None:
    key = store.original("app.log", b"one\ntwo\nthree\n")
    store.must_wait(store.meets("app.log.1", b"one\n"))
    store.room.append("app.log.1", b"two\n")
    store.must_still_wait()
    shipped = store.copies.shipped_of(store.room.open("app.log.1"), truncate(store, key, position=8))
    assert shipped is not None
    assert shipped.proof == proof_of(b"one\ntwo\n")


def test_not_of_one_that_has_more_than_was_shipped(store: Store) -> None:
    key = store.original("app.log", b"one\ntwo\n")
    copy = store.meets("app.log.1", b"one\ntwo\n")
    store.must_wait(copy)
    assert store.copies.shipped_of(copy, truncate(store, key, position=4)) is None


def test_nor_of_one_that_grew_since_it_was_compared(store: Store) -> None:
    key = store.original("app.log", b"one\ntwo\n")
    store.must_wait(store.meets("app.log.1", b"one\n"))
    store.room.append("app.log.1", b"own\n")
    assert store.copies.shipped_of(store.room.open("app.log.1"), truncate(store, key, position=8)) is None


def test_nor_of_one_that_was_compared_with_a_later_life_of_its_original(store: Store) -> None:
    """What was shipped before the truncation proves nothing about what was written after it."""
    key = store.original("app.log", b"one\n")
    earlier = truncate(store, key, position=100)
    store.known[key] = replace(store.known[key], id="later")
    copy = store.meets("app.log.1", b"one\n")
    store.must_wait(copy)
    assert store.copies.shipped_of(copy, earlier) is None
    assert store.copies.shipped_of(copy, truncate(store, key, position=100)) is not None


def test_nor_of_one_of_which_only_a_part_was_compared(store: Store) -> None:
    key = store.original("app.log", LARGE)
    copy = store.meets("app.log.1", LARGE)
    store.must_wait(copy)
    unclaimed = truncate(store, key, position=len(LARGE))
    assert store.copies.shipped_of(copy, unclaimed) is None
    store.must_wait(copy)
    assert store.copies.shipped_of(copy, unclaimed) is not None


def test_nor_of_one_whose_original_was_never_truncated(store: Store) -> None:
    store.original("app.log", b"one\n")
    copy = store.meets("app.log.1", b"one\n")
    assert store.copies.shipped_of(copy, UnclaimedEntries()) is None
    store.must_wait(copy)
    assert store.copies.shipped_of(copy, UnclaimedEntries()) is None


def test_nor_of_a_compressed_one(make_room: MakeRoom) -> None:
    store = Store(make_room(compression="auto"))
    key = store.original("app.log", b"one\n")
    copy = store.meets("app.log.gz", gzip.compress(b"one\n"))
    store.must_wait(copy)
    assert store.copies.shipped_of(copy, truncate(store, key, position=4)) is None
