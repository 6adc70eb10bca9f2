"""Which files are taken for those that followed a rotated one, by their names and ages. No file is read."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from log_shipper.shipper.inputs.files.reading.succession import successors
from tests.reading_room import Room

MakeRoom = Callable[..., Room]
LOG = "app.log"

# By where the file is now: the new files, from the oldest to the youngest, and those that follow it.
KNOWN = {
    ("app.log.1", (LOG,)): (LOG,),
    ("app.log.2", ("app.log.1", LOG)): ("app.log.1", LOG),
    ("app.log.2.gz", ("app.log.1.gz", LOG)): ("app.log.1.gz", LOG),
    ("app.2.log", ("app.1.log", LOG)): ("app.1.log", LOG),
    ("app.log.1", ("app.log.0", LOG)): ("app.log.0", LOG),
    ("app.log.3", ("app.log.2", LOG, "app.log.1")): ("app.log.2", "app.log.1", LOG),  # its writer used it for a while
    ("app-20261121.log", (LOG,)): (LOG,),
    ("app-20261121.log", ("app-20261122.log", LOG)): ("app-20261122.log", LOG),
    ("app-20261121.log", (LOG, "app-20261122.log")): ("app-20261122.log", LOG),
    ("app.2026-11-21.8.log", ("app.2026-11-21.9.log", "app.2026-11-21.10.log.gz", LOG)): (
        "app.2026-11-21.9.log",
        "app.2026-11-21.10.log.gz",
        LOG,
    ),
    ("app.log.old", (LOG,)): (LOG,),
    (LOG, (LOG,)): (LOG,),  # out of the paths
    ("app.log.1", ("web.log.1", "web.log", LOG)): (LOG,),
    ("app.log.1", ("other/app.log", LOG)): (LOG,),
    ("app.log.2", ("web.log",)): (),
    ("app.log.2", ("app.log.1",)): ("app.log.1",),  # the next one has not appeared yet
    ("app-20261121.log", ("app-20261122.log",)): ("app-20261122.log",),
}
UNKNOWN = [
    ("app.log.2", (LOG,)),
    ("app.log.3", ("app.log.1", LOG)),
    ("app.log.1", ("app.log-20261121", LOG)),
    ("app.log.2", ("app.log.1", "app.log.1.gz", LOG)),
    ("app-20261121.log", ("app.log.1", LOG)),
    ("app-20261121.log", ("app-20261120.log", LOG)),
    ("app-20261121.log", ("app-20261123.log", "app-20261122.log", LOG)),
    ("app.log.old", ("app.log.1", LOG)),
    ("web.log.1", ("app.log.2", LOG)),
    ("app.log.1", ("other/app-20261121.log", LOG)),
    ("app.log.2", ("other/app.log.1", LOG)),
    ("app-20261121.log", ("other/app-20261122.log", LOG)),
    (LOG, ("app.log.1", LOG)),
]


def follow(room: Room, now: str, new: tuple[str, ...], modified: Callable[[int], int]) -> tuple[str, ...] | None:
    (room.path("other")).mkdir()
    old = room.read("was.log", b"one\n +\n")
    old.update(path=str(room.path(now)))
    os.utime(old.fd, (modified(0), modified(0)))
    files = [room.read(name, b"%d\n" % number) for number, name in enumerate(new)]
    for number, file in enumerate(files, 1):
        os.utime(file.fd, (modified(number), modified(number)))
    following = successors(old, str(room.path(LOG)), files)
    if following is None:
        return None
    return tuple(str(Path(file.state.path).relative_to(room.path(""))) for file in following)


@pytest.mark.parametrize(("now", "new"), KNOWN)
def test_a_file_is_followed_by_those_that_were_rotated_after_it(room: Room, now: str, new: tuple[str, ...]) -> None:
    assert follow(room, now, new, lambda number: number + 1) == KNOWN[now, new]


@pytest.mark.parametrize(("now", "new"), UNKNOWN)
def test_where_the_order_is_not_known_no_file_follows(room: Room, now: str, new: tuple[str, ...]) -> None:
    assert follow(room, now, new, lambda number: number + 1) is None


def test_older_generations_that_appear_do_not_matter(room: Room) -> None:
    assert follow(room, "app.log.1", ("app.log.2", LOG), lambda number: 10 - number) == (LOG,)


def test_older_dates_that_appear_do_not_matter(room: Room) -> None:
    assert follow(room, "app-20261121.log", ("app-20261120.log", LOG), lambda number: 10 - number) == (LOG,)


def test_dated_files_of_the_same_time_have_no_order(room: Room) -> None:
    assert follow(room, "app-20261121.log", ("app-20261122.log", LOG), lambda number: 1) is None


def test_after_a_touch_the_time_of_a_file_does_not_show_that_another_is_older(room: Room) -> None:
    assert follow(room, "app.log.1", ("other/app-20261121.log", LOG), lambda number: 10 - number) is None


def test_a_dated_file_that_was_touched_is_followed_by_the_next_date(room: Room) -> None:
    new = ("app-20261122.log", LOG)
    assert follow(room, "app-20261121.log", new, lambda number: 10 - number) == new
