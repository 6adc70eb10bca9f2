import os

import pytest

from shipper.source.lifecycle.unwatched import wake_unwatched
from shipper.source.reading.harvester import Harvester
from tests.reading_room import Room, finish


@pytest.fixture
def read(room: Room) -> Harvester:
    """A file that was read to its end, which nobody watches."""
    return finish(room.read("app.log", b"one\n"))


def woken(room: Room, *, all_of_them: bool = False) -> Harvester | None:
    wake_unwatched(room.open_files.running.values(), room.watcher, room.scheduler, all_of_them=all_of_them)
    return room.scheduler.next_ready()


def test_a_file_that_is_as_it_was_read_is_left_alone(room: Room, read: Harvester) -> None:
    assert read in room.open_files.running.values()
    assert woken(room) is None


def test_one_that_has_grown_is_read(room: Room, read: Harvester) -> None:
    room.append("app.log", b"two\n")
    os.utime(read.fd, ns=(0, read.state.modified))  # a file system may tell its time late
    assert woken(room) is read


def test_one_that_was_rewritten_to_its_size_is_looked_at(room: Room, read: Harvester) -> None:
    room.write("app.log", b"two\n")
    os.utime(read.fd, ns=(0, read.state.modified + 1))
    assert woken(room) is read


def test_of_a_watched_one_an_event_tells_unless_events_were_lost(room: Room, read: Harvester) -> None:
    room.watches.watch_file(read.key, read.fd)
    room.append("app.log", b"two\n")
    assert woken(room) is None
    assert woken(room, all_of_them=True) is read
