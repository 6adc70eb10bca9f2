"""What stories of files (tests/model/test_copies.py) hardly show."""

import gzip
from collections.abc import Callable

import pytest

from log_shipper.shipper.inputs.files.identity.opened_file import OpenedFile
from log_shipper.shipper.inputs.files.lifecycle.copy_detector import CopyDetector, FilesAt
from log_shipper.shipper.inputs.files.reading.harvester import Harvester
from tests.reading_room import Room, finish

MakeRoom = Callable[..., Room]


class Copies:
    """A file that was read, and what looks like a copy of it."""

    def __init__(self, room: Room, content: bytes = b"one\ntwo\n") -> None:
        self.room = room
        self.reported: dict[str, str] = {}
        self.detector = CopyDetector(room.clock, room.open_files, self.reported.__setitem__)
        self.original: Harvester = finish(room.read("app.log", content))
        self.files_at = FilesAt({("app", str(room.path("app.log"))): self.original.key})

    def meet(self, name: str, content: bytes) -> OpenedFile:
        self.room.write(name, content)
        opened = self.room.open(name)
        assert self.detector.must_wait(opened, self.files_at)
        return opened

    def copied_to(self, size: int) -> int:
        return self.detector.copied_to(self.original.state, self.original.key, size)


@pytest.fixture
def copies(room: Room) -> Copies:
    return Copies(room)


def test_no_file_is_a_copy_of_one_that_was_deleted_since_the_survey(copies: Copies) -> None:
    assert copies.room.close_file(copies.original)
    copies.room.path("app.log").unlink()
    copies.room.write("app.log.1", b"other\n")
    assert not copies.detector.must_wait(copies.room.open("app.log.1"), copies.files_at)


def test_a_copy_has_the_remainder_of_its_original_and_of_no_other_file(copies: Copies) -> None:
    assert copies.copied_to(8) == 0
    copies.meet("app.log.1", b"one\ntwo\n")
    assert [copies.copied_to(size) for size in (7, 8, 9)] == [8, 8, 8]
    assert copies.detector.copied_to(copies.original.state, ("app", 0, 0), 8) == 0


def test_one_that_is_empty_yet_has_nothing_of_it(copies: Copies) -> None:
    copies.meet("app.log.1", b"")
    assert copies.copied_to(8) == 0


def test_a_compressed_one_is_taken_to_have_all(make_room: MakeRoom) -> None:
    copies = Copies(make_room(compression="auto"), content := b"one\ntwo\n" * 1000)
    copies.meet("app.log.1.gz", gzip.compress(content))
    assert copies.copied_to(len(content)) == len(content)


def test_a_file_that_took_over_the_entry_of_an_original_is_the_original(copies: Copies) -> None:
    copy, other = copies.meet("app.log.1", b"one\n"), copies.meet("app.log.2", b"one\n")
    assert copies.detector.inherit({("app", 0, 0): other.key}) == set()
    assert copies.detector.inherit({copies.original.key: other.key}) == {copy.key, other.key}
    assert copies.detector.suspects[copy.key].original == other.key
