import gzip
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from log_shipper.shipper.inputs.files.discovery.scanner import ScannedFile
from log_shipper.shipper.inputs.files.discovery.spec import Candidate, InputSpec
from log_shipper.shipper.inputs.files.identity.opened_file import EntryMatch, OpenedFile
from log_shipper.shipper.inputs.files.lifecycle.closing import Closer
from log_shipper.shipper.inputs.files.lifecycle.files import Files, Suspected
from log_shipper.shipper.inputs.files.lifecycle.starting import HarvesterStarter, IgnoreRules, OpenLimits
from log_shipper.shipper.inputs.files.reading.batch_reader import BatchReader, ReadHooks
from log_shipper.shipper.inputs.files.reading.harvester import Harvester
from log_shipper.shipper.inputs.files.reading.pending_bytes import PendingBytes
from log_shipper.shipper.options.model import InputConfig
from tests.builders import multiline
from tests.reading_room import Room, entry_of

MakeRoom = Callable[..., Room]
HOUR = 3600.0


class Hall:
    """Places over a fleet that counts what was let in."""

    def __init__(self, most: int = 100, **limits: int) -> None:
        self.files = Files()
        self.places = OpenLimits(self.files, most, lambda state: state)
        self.specs = {input_id: spec_of(input_id, limit) for input_id, limit in limits.items()}
        self.places.update_rules(self.specs.values())

    def admit(self, *wanted: str) -> list[str]:
        """Files named 'input name'; those that may be opened now are opened."""
        admitted = self.places.admit([self.wanted(*line.split()) for line in wanted])
        for _, _, key in admitted:
            self.files.change(key, Harvester.__new__(Harvester))
        return [f"{source.id} {scanned.path}" for source, scanned, _ in admitted]

    def close_one(self, input_id: str) -> None:
        self.files.change(next(key for key in self.files.running if key[0] == input_id), None)
        self.files.check()

    def wanted(self, input_id: str, name: str) -> Candidate:
        scanned = ScannedFile(name, (1, hash(name)), 1, 0.0)
        return Candidate.from_scan(self.specs[input_id], scanned)


def spec_of(input_id: str, limit: int) -> InputSpec:
    return InputSpec(InputConfig(id=input_id, paths=("/l",), harvester_limit=limit))


def test_without_a_limit_all_may_be_opened() -> None:
    hall = Hall(app=0)
    assert hall.admit("app a", "app b", "app c") == ["app a", "app b", "app c"]
    assert not hall.places.any_wanted


def test_the_others_wait_until_one_is_closed() -> None:
    hall = Hall(app=2)
    assert hall.admit("app a", "app b", "app c", "app d") == ["app a", "app b"]
    assert (hall.places.wanted, hall.places.waiting) == ({"app": 2}, (2, 2))
    assert hall.admit() == []
    hall.close_one("app")
    assert hall.admit() == ["app c"]
    hall.close_one("app")
    assert hall.admit() == ["app d"]
    assert (hall.places.wanted, hall.places.waiting, hall.places.any_wanted) == ({}, (0, 0), False)


def test_a_file_that_waits_is_opened_once_however_often_it_is_wanted() -> None:
    hall = Hall(app=1)
    hall.admit("app a", "app b")
    hall.admit("app b")
    hall.close_one("app")
    assert hall.admit("app b") == ["app b"]
    hall.close_one("app")
    assert hall.admit() == []


def test_a_limit_is_that_of_its_input() -> None:
    hall = Hall(app=1, web=0)
    assert hall.admit("app a", "app b", "web c", "web d") == ["app a", "web c", "web d"]
    assert hall.places.wanted == {"app": 1}


def test_all_inputs_share_what_the_system_gives() -> None:
    hall = Hall(most=3, app=2, web=0)
    assert hall.admit("app a", "app b", "app c", "web d", "web e") == ["app a", "app b", "web d"]
    hall.close_one("web")
    assert hall.admit() == ["web e"]


def test_files_that_are_open_and_wait_to_be_known_take_places_too() -> None:
    hall = Hall(most=3, app=0)
    copy = hall.wanted("app", "app.log.1").key
    hall.files.change(copy, Suspected(cast("OpenedFile", None), copy, 0, 0.0))
    assert hall.admit("app a", "app b", "app c") == ["app a", "app b"]
    hall.files.change(copy, None)
    assert hall.admit() == ["app c"]


def test_a_survey_keeps_the_waiting_files_that_it_found_as_they_are_now() -> None:
    hall = Hall(app=1)
    first, renamed, removed = (hall.wanted("app", name) for name in ("a", "b", "removed"))
    hall.places.admit([first, renamed, removed])
    found = renamed._replace(file=replace(renamed.file, path="c", size=7))
    assert hall.places.renew({found.key: found}) == [removed]
    assert (list(hall.files.waiting["app"]), hall.files.state(removed.key)) == ([found.key], None)
    assert hall.places.waiting == (1, 7)
    assert hall.places.admit([]) == [found]
    assert not hall.places.any_wanted


def test_a_survey_shows_which_files_that_could_not_be_found_were_only_renamed() -> None:
    hall = Hall(app=1, web=1)
    renamed, removed, removed_input = hall.wanted("app", "a"), hall.wanted("app", "b"), hall.wanted("web", "c")
    hall.places.keep(["app"])
    found = renamed._replace(file=replace(renamed.file, path="d"))
    assert hall.places.renew({found.key: found}, [renamed, removed, removed_input]) == [removed]


@pytest.mark.parametrize(
    ("path", "modified", "size"),
    [
        ("app.log.1", 1.0, 9),  # truncated
        ("app.log.2", 1.0, 9),
        ("app.log", 2.0, 20),  # its inode is that of the next log
    ],
)
def test_a_survey_returns_the_waiting_files_whose_content_is_gone(path: str, modified: float, size: int) -> None:
    hall = Hall(app=1)
    before = hall.wanted("app", "app.log.1")
    before = before._replace(file=replace(before.file, modified=1.0, size=10))
    hall.places.admit([hall.wanted("app", "other"), before])
    now = before._replace(file=replace(before.file, path=path, modified=modified, size=size))
    assert hall.places.renew({now.key: now}) == [before]
    assert hall.places.waiting == (1, size)
    assert hall.places.admit([]) == [now]


@pytest.mark.parametrize(
    ("path", "to", "modified"),
    [
        ("app.log.1", "app.log.1", 2.0),  # written to
        ("app.log", "app.log.1", 2.0),  # rotated, and written to
        ("app.log.1", "app.log", 1.0),  # moved back
        ("app.log.part", "app.log", 2.0),  # complete
    ],
)
def test_a_waiting_file_that_is_written_to_or_renamed_is_still_the_same(path: str, to: str, modified: float) -> None:
    hall = Hall(app=1)
    before = hall.wanted("app", path)
    before = before._replace(file=replace(before.file, modified=1.0, size=10))
    hall.places.admit([hall.wanted("app", "other"), before])
    now = before._replace(file=replace(before.file, path=to, modified=modified, size=20))
    assert hall.places.renew({now.key: now}) == []


def test_files_of_inputs_that_stay_wait_on_over_a_reload() -> None:
    hall = Hall(app=1, web=1)
    hall.admit("app a", "app b", "web c", "web d")
    hall.places.update_rules([hall.specs["app"], spec_of("web", 2)])
    assert hall.places.wanted == {"app": 1}


def test_files_of_inputs_that_are_read_to_their_end_wait_on() -> None:
    hall = Hall(app=1, web=1)
    hall.admit("app a", "app b", "web c", "web d")
    hall.places.forget_others({"web"})
    assert hall.places.wanted == {"web": 1}


class Start:
    """A launcher in a room."""

    def __init__(self, room: Room, *, once: bool = False) -> None:
        self.room = room
        context = room.context(once=once)
        pending = PendingBytes(sys.maxsize, room.metrics, room.clock)
        reading = BatchReader(
            room.scheduler,
            room.registrar,
            pending,
            room.open_files.running,
            context.pipeline.takes_more,
            ReadHooks(lambda harvester, error: None),
        )
        self.rotation_links = reading.rotation_links
        closer = Closer(room.open_files, room.watcher, context, dict, lambda *_: None)
        closer.update_rules([InputSpec(InputConfig(id="app", paths=("/l",)))])
        ignoring = IgnoreRules(room.clock, room.clock.time())
        self.starter = HarvesterStarter(room.inputs, room.open_files, closer, reading, ignoring, context)

    def new(self, *files: tuple[str, bytes], age: float = 0.0) -> list[Harvester]:
        claims = []
        for name, content in files:
            self.room.write(name, content)
            self.age(name, age)
            opened = self.room.open(name)
            claims.append((opened, self.room.entries.make(opened)))
        self.starter.start(claims)
        return list(self.room.open_files.running.values())

    def known(
        self, name: str, content: bytes, age: float = 0.0, previous_path: str = "", **state: Any
    ) -> list[Harvester]:
        return self._known(name, content, age, previous_path, prove=False, **state)

    def known_perhaps(self, name: str, content: bytes, age: float = 0.0, **state: Any) -> list[Harvester]:
        """Return a match of an entry, from which the file resumes if it is proven."""
        return self._known(name, content, age, "", prove=True, **state)

    def _known(
        self, name: str, content: bytes, age: float, previous_path: str, *, prove: bool, **state: Any
    ) -> list[Harvester]:
        self.room.write(name, content)
        self.age(name, age)
        opened = self.room.open(name)
        entry = entry_of(self.room.path(name), **state)
        self.starter.start([(opened, EntryMatch(entry, previous_path or entry.path, entry if prove else None))])
        return list(self.room.open_files.running.values())

    def age(self, name: str, age: float) -> None:
        modified = self.room.clock.time() - age
        os.utime(self.room.path(name), (modified, modified))

    def resting(self) -> list[str]:
        """Files that are not open, and to which a write would be noticed."""
        assert set(self.room.open_files.files.closed) == self.room.watches.files
        return [
            os.path.basename(self.room.entries.closed_entries[key].path) for key in self.room.open_files.files.closed
        ]


@pytest.fixture
def start(room: Room) -> Start:
    return Start(room)


def test_no_new_file_is_read_before_its_id_is_on_disk(start: Start) -> None:
    (harvester,) = start.new(("app.log", b"one\n"))
    start.room.scheduler.wake(harvester)
    assert start.room.scheduler.next_ready() is None
    start.room.books.confirm()
    assert list(start.room.scheduler.released()) == []
    assert start.room.scheduler.next_ready() is harvester


def test_one_save_serves_all_new_files(start: Start) -> None:
    opened = start.new(("a.log", b"one\n"), ("b.log", b"one\n"))
    assert start.room.books.saves == [[harvester.state.id for harvester in opened]]


def test_a_known_file_does_not_wait_for_the_disk(start: Start) -> None:
    (harvester,) = start.known("app.log", b"one\ntwo\n", position=4)
    assert start.room.scheduler.next_ready() is harvester
    assert (start.room.books.saves, harvester.offset) == ([], 4)
    assert start.room.books.written["known"] == harvester.state


def test_a_file_that_was_read_to_its_end_rests_without_being_opened(start: Start) -> None:
    assert start.known("app.log", b"one\n", position=4) == []
    assert start.resting() == ["app.log"]
    assert start.room.metrics.harvesters_started == 0
    assert start.room.books.written["known"].position == 4


def test_an_empty_file_is_opened(start: Start) -> None:
    assert len(start.known("app.log", b"")) == 1


def test_a_compressed_file_that_was_read_to_its_end_rests_too(make_room: MakeRoom) -> None:
    start, content = Start(make_room(compression="auto")), gzip.compress(b"one\n")
    assert start.known("app.log.gz", content, compressed=len(content)) == []
    assert start.resting() == ["app.log.gz"]
    assert len(start.known("more.log.gz", content, compressed=len(content) - 1)) == 1


def test_an_old_file_that_is_known_rests_where_it_is(make_room: MakeRoom) -> None:
    """What it holds and was not read is read when something is added."""
    start = Start(make_room(ignore_older=HOUR))
    assert start.known("app.log", b"one\ntwo\n", age=2 * HOUR, position=4) == []
    (state,) = start.room.entries.closed_entries.values()
    assert state.position == 4


def test_an_old_compressed_file_counts_as_read(make_room: MakeRoom) -> None:
    start, content = Start(make_room(ignore_older=HOUR, compression="auto")), gzip.compress(b"one\n")
    assert start.new(("app.log.gz", content), age=2 * HOUR) == []
    (state,) = start.room.entries.closed_entries.values()
    assert state.compressed == len(content)


def test_with_once_the_end_of_each_file_is_a_cut_that_is_saved_first(room: Room) -> None:
    start = Start(room, once=True)
    (known,) = start.known("app.log", b"one\ntw", position=4, cuts=(3,))
    assert known.state.cuts == (3, 6)
    assert room.books.saves == [["known"]]
    assert room.books.written["known"].cuts == (3, 6)
    assert room.scheduler.next_ready() is None


def test_with_once_a_file_that_was_read_is_opened_and_has_no_cut(room: Room) -> None:
    """It must be counted among those that were finished."""
    (harvester,) = Start(room, once=True).known("app.log", b"one\n", position=4)
    assert (harvester.state.cuts, harvester.finished) == ((), True)


def test_with_once_a_compressed_file_has_no_cut(make_room: MakeRoom) -> None:
    start = Start(make_room(compression="auto"), once=True)
    (harvester,) = start.new(("app.log.gz", gzip.compress(b"one\ntw")))
    assert harvester.state.cuts == ()


def test_a_new_file_is_not_the_successor_of_one_that_kept_its_path(make_room: MakeRoom) -> None:
    start = Start(make_room(parsers=(multiline(r"^\s"),)))
    (old,) = start.known("app.log", b"one\n +\n")
    start.room.path("app.log").unlink()
    start.new(("app.log", b" ++\n"))
    assert old.state.continues_in is None


def test_a_file_that_was_renamed_while_closed_is_followed_by_the_new_one_at_its_path(make_room: MakeRoom) -> None:
    """The pair is saved together with the new file's id, before anything of that is sent."""
    start = Start(make_room(parsers=(multiline(r"^\s"),)))
    (old,) = start.known("app.log.1", b"one\n +\n", previous_path=str(start.room.path("app.log")))
    _, new = start.new(("app.log", b" ++\n"))
    assert old.state.continues_in == new.state.id
    assert start.room.books.saves == [[new.state.id, old.state.id]]
    assert start.room.books.written["known"].continues_in == new.state.id
    assert start.rotation_links.waits_for(new) is old


# One that may have changed since its entry was made.


def test_a_file_without_more_is_opened_to_be_proven(start: Start) -> None:
    (harvester,) = start.known_perhaps("app.log", b"one\n", position=4)
    assert not harvester.is_proven
    assert start.room.scheduler.next_ready() is harvester


def test_nothing_of_it_is_noted_before(start: Start) -> None:
    start.known_perhaps("app.log", b"one\ntwo\n", position=4)
    assert start.room.books.written == {}


def test_one_that_was_not_touched_since_rests(start: Start) -> None:
    assert start.known_perhaps("app.log", b"one\n", position=4, seen=True) == []
    assert start.resting() == ["app.log"]


def test_one_that_was_not_touched_and_has_more_is_noted_and_read(start: Start) -> None:
    (harvester,) = start.known_perhaps("app.log", b"one\ntwo\n", position=4, seen=True)
    assert harvester.is_proven
    assert start.room.books.written == {"known": harvester.state}


def test_an_old_one_is_proven_when_it_is_read_and_not_taken_for_it_before(make_room: MakeRoom) -> None:
    start = Start(make_room(ignore_older=HOUR))
    room, lines = start.room, b"".join(b"%05d\n" % number for number in range(500))
    room.write("app.log", lines)
    state = entry_of(room.path("app.log"), len(lines))
    room.write("app.log", lines.replace(b"00250", b"other"))
    start.age("app.log", 2 * HOUR)
    start.starter.start([(room.open("app.log"), EntryMatch(state, state.path, state))])
    assert (room.open_files.running, room.books.written) == ({}, {})
    room.append("app.log", b"more\n")
    claim = room.entries.claim(room.open("app.log"))
    assert claim is not None
    assert claim.was == state


# One of which a read is refused.


def refused_read(start: Start, name: str) -> OpenedFile:
    """Its descriptor cannot be read from."""
    opened = start.room.open(name)
    fd = os.open(start.room.path(name), os.O_WRONLY)
    os.dup2(fd, opened.content.fd)
    os.close(fd)
    return opened


def test_a_read_that_is_refused_is_handed_back_and_the_others_are_read(start: Start) -> None:
    for name in ("a.log", "b.log", "c.log"):
        start.room.write(name, b"one\ntwo\n")
    bad, good = refused_read(start, "b.log"), [start.room.open("a.log"), start.room.open("c.log")]
    entries = {
        opened.scanned.path: entry_of(Path(opened.scanned.path), 4, opened.scanned.path) for opened in (bad, *good)
    }
    claims = {path: EntryMatch(state, path, state) for path, state in entries.items()}
    refused = start.starter.start([(opened, claims[opened.scanned.path]) for opened in (good[0], bad, good[1])])
    assert [(opened, claim) for opened, claim, _ in refused] == [(bad, claims[bad.scanned.path])]
    assert [harvester.state.path for harvester in start.room.open_files.running.values()] == [
        opened.scanned.path for opened in good
    ]


def test_what_is_written_before_a_closed_file_is_watched_is_looked_for(start: Start) -> None:
    room = start.room
    room.write("app.log", b"one\n")
    opened = room.open("app.log")
    room.append("app.log", b"two\n")
    room.open_files.register_idle(opened, entry_of(room.path("app.log"), 4))
    assert room.open_files.any_to_look_at
    assert room.open_files.step() == [opened.key]
