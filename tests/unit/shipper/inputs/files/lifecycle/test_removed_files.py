"""Deleted files that are still open."""

import pytest

from log_shipper.shipper.inputs.files.lifecycle.removed_files import RemovedFiles
from log_shipper.shipper.inputs.files.reading.harvester import Harvester
from tests.reading_room import Room


@pytest.fixture
def removed(room: Room) -> RemovedFiles:
    return RemovedFiles(room.clock)


def remove(room: Room, removed: RemovedFiles, name: str, content: bytes = b"123456789\n") -> Harvester:
    harvester = room.read(name, content)
    room.clock.advance(0.001)
    room.path(name).unlink()
    assert removed.add(harvester)
    return harvester


def test_those_beyond_the_budget_are_the_first_that_were_opened(room: Room, removed: RemovedFiles) -> None:
    files = [remove(room, removed, f"{number}.log") for number in range(4)]
    given_up = []
    for harvester in removed.beyond("app", 20):
        given_up.append(harvester)
        removed.forget(harvester)
    assert given_up == files[:2]
    assert list(removed) == files[2:]


def test_whoever_has_one_open_may_write_to_it(room: Room, removed: RemovedFiles) -> None:
    room.write("a.log", b"")
    with room.path("a.log").open("ab", buffering=0) as writer:
        harvester = room.start(opened := room.open("a.log"), room.entries.make(opened))
        room.path("a.log").unlink()
        assert removed.add(harvester)
        assert removed.check_sizes() == set()
        writer.write(b"123456789\n")
        assert removed.check_sizes() == set(), "its turn comes later"
        room.clock.advance(1)
        assert removed.next_look <= room.clock.monotonic()
        assert removed.check_sizes() == {"app"}
    assert list(removed.beyond("app", 10)) == []
    assert next(removed.beyond("app", 9)) is harvester


def test_what_was_read_of_a_file_costs_nothing(room: Room, removed: RemovedFiles) -> None:
    first, second, third = [remove(room, removed, f"{number}.log") for number in range(3)]
    assert removed.check_sizes() == {"app"}
    first.read()
    second.read()
    assert next(removed.beyond("app", 10), None) is None
    assert next(removed.beyond("app", 9)) is third


def test_nothing_is_kept_of_those_that_come_and_go_beside_one_that_stays(room: Room, removed: RemovedFiles) -> None:
    stays = remove(room, removed, "stays.log")
    for number in range(10):
        removed.forget(remove(room, removed, f"{number}.log"))
    assert list(removed) == [stays]
    assert list(removed._unread["app"]) == [stays]
    removed.forget(stays)
    assert (dict(removed._unread), removed.next_look) == ({}, float("inf"))
