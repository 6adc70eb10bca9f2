import gzip
import os
from collections.abc import Callable
from typing import Any

import pytest

from log_shipper.shipper.inputs.files.discovery.scanner import ScannedFile
from log_shipper.shipper.inputs.files.discovery.spec import InputSpec
from log_shipper.shipper.inputs.files.identity.opened_file import EntryMatch
from log_shipper.shipper.inputs.files.lifecycle.closing import SOON, Closer
from log_shipper.shipper.inputs.files.lifecycle.transitions import Effect, Next, To
from log_shipper.shipper.inputs.files.reading.factory import Input
from log_shipper.shipper.inputs.files.reading.harvester import Harvester
from log_shipper.shipper.inputs.files.reading.sighting import PathState
from log_shipper.shipper.options.model import (
    CloseConfig,
    InputConfig,
    ReaderCloseConfig,
    RemovedCloseConfig,
    StateChangeConfig,
)
from tests.builders import AGENT, multiline
from tests.fakes import ManualClock
from tests.reading_room import Room, acknowledge, entry_of, finish, read_all

MakeRoom = Callable[..., Room]


def rules(*, after_interval: float = 0.0, max_bytes: int = 0, **change: Any) -> CloseConfig:
    return CloseConfig(
        on_state_change=StateChangeConfig(**{"inactive": 0.0, "check_interval": 5.0} | change),
        reader=ReaderCloseConfig(after_interval=after_interval),
        removed=RemovedCloseConfig(max_bytes=max_bytes),
    )


class ClosingLab:
    """A closer in a room, and what it closed."""

    def __init__(self, room: Room, by_input: dict[str, CloseConfig], *, once: bool = False) -> None:
        self.room = room
        self.clock = room.clock
        self.closed: list[tuple[Harvester, str]] = []
        self.wanted: dict[str, int] = {}  # files that wait, by input
        self.closer = Closer(
            room.open_files,
            room.watcher,
            room.context(once=once),
            lambda: self.wanted,
            lambda harvester, why: self.closed.append((harvester, why)),
        )
        self.closer.update_rules(
            InputSpec(InputConfig(id=input_id, paths=("/l",), close=close)) for input_id, close in by_input.items()
        )

    def open(self, name: str, content: bytes = b"one\n", **options: Any) -> Harvester:
        harvester = self.room.read(name, content, **options)
        self.room.watches.files.add(harvester.key)
        self.closer.opened(harvester)
        return harvester

    def after(self, seconds: float) -> list[str]:
        """Return the files that were closed by then, and why."""
        self.clock.advance(seconds)
        self.closer.step()
        return [why for _, why in self.closed]

    def remove(self, harvester: Harvester) -> None:
        self.room.path(harvester.state.path).unlink()
        self.room.open_files.look_for_removal(harvester)


MakeLab = Callable[..., ClosingLab]


@pytest.fixture
def make_lab(room: Room) -> MakeLab:
    def make(**options: Any) -> ClosingLab:
        return ClosingLab(room, {"app": rules(**options)})

    return make


def is_running(harvester: Harvester, lab: ClosingLab) -> bool:
    return lab.room.open_files.running.get(harvester.key) is harvester


def test_a_quiet_file_waits_for_its_acknowledgements(make_lab: MakeLab) -> None:
    lab = make_lab(inactive=60.0, check_interval=5.0)
    batches = read_all(lab.open("app.log"))
    assert lab.after(60) == []
    acknowledge(batches)
    assert lab.after(4.9) == []
    assert lab.after(0.1) == ["close.on_state_change.inactive"]


def test_a_pending_message_keeps_its_file_open(make_room: MakeRoom) -> None:
    lab = ClosingLab(make_room(parsers=(multiline(r"^\s"),)), {"app": rules(inactive=3.0)})
    harvester = finish(lab.open("app.log"))
    assert lab.after(4) == []
    message = harvester.end_message()
    assert message is not None
    message.resolve()
    assert lab.after(5) == ["close.on_state_change.inactive"]


def test_a_message_that_is_continued_in_the_next_file_keeps_its_file_open(make_room: MakeRoom) -> None:
    lab = ClosingLab(make_room(parsers=(multiline(r"^\s"),)), {"app": rules(after_interval=3.0)})
    harvester = finish(lab.open("app.log.1"))
    assert harvester.continue_in(lab.room.read("app.log", b" two\nthree\n"))
    assert lab.after(4) == []
    acknowledge(read_all(harvester))
    assert lab.after(5) == ["close.reader.after_interval"]


def test_a_file_outside_the_paths_is_read_to_its_end_beyond_the_interval(make_lab: MakeLab) -> None:
    lab = make_lab(after_interval=3.0, check_interval=5.0)
    harvester = lab.open("app.log")
    lab.room.open_files.left_paths(harvester)
    assert lab.after(4) == []
    acknowledge(read_all(harvester))
    assert lab.after(5) == ["close.reader.after_interval"]


def test_a_write_between_the_last_look_and_the_watch_is_noticed(make_lab: MakeLab) -> None:
    """The watch is set first: such a write would give neither an event nor another size."""
    lab = make_lab(inactive=60.0)
    harvester = finish(lab.open("app.log"))
    lab.room.watches.files.clear()
    lab.room.watches.on_watch = lambda: lab.room.append("app.log", b"two\n")
    assert lab.after(60) == []
    assert lab.room.scheduler.next_ready() is harvester


def test_a_closed_file_that_is_open_again_is_closed_in_its_own_time(make_lab: MakeLab) -> None:
    lab = make_lab(inactive=60.0, after_interval=600.0)
    first = finish(lab.open("app.log"))
    lab.after(60)
    opened = lab.room.open("app.log")
    claim = lab.room.entries.claim(opened)
    assert claim is not None
    again = finish(lab.room.start(opened, claim))
    lab.closer.opened(again)
    lab.after(59)
    assert [harvester for harvester, _ in lab.closed] == [first]
    lab.after(1)
    assert [harvester for harvester, _ in lab.closed] == [first, again]


def test_its_next_step_is_when_it_has_something_to_do(make_lab: MakeLab) -> None:
    lab = make_lab(inactive=3.0, check_interval=5.0)
    start = lab.clock.monotonic()
    assert lab.closer.next_step == start + 5
    harvester = lab.open("app.log")
    assert lab.closer.next_step == start + 3
    lab.room.open_files.idle.expect(harvester)
    assert lab.closer.next_step <= start
    lab.closer.step()
    assert lab.closer.next_step == start + 3


def test_a_file_is_closed_when_another_waits_for_its_place(make_lab: MakeLab) -> None:
    lab = make_lab()
    first, second = finish(lab.open("a.log")), finish(lab.open("b.log"))
    assert lab.after(SOON) == []
    lab.wanted = {"web": 1}
    assert lab.after(SOON) == []
    lab.wanted = {"app": 1}
    assert lab.after(SOON) == ["harvester_limit"]
    assert (is_running(first, lab), is_running(second, lab)) == (False, True)


def test_with_once_a_file_is_closed_when_it_is_delivered(room: Room) -> None:
    lab = ClosingLab(room, {"app": rules()}, once=True)
    harvester = lab.open("app.log", once=True)
    batches = read_all(harvester)
    assert lab.after(SOON) == []
    acknowledge(batches)
    assert lab.after(SOON) == ["--once"]


def test_with_once_a_file_that_was_delivered_before_is_closed_before_it_is_read(room: Room) -> None:
    lab = ClosingLab(room, {"app": rules()}, once=True)
    lab.open("app.log", b"", once=True)
    assert lab.after(SOON) == ["--once"]


# Deleted files.


def test_a_deletion_without_an_event_is_noticed_in_the_next_round(make_lab: MakeLab) -> None:
    lab = make_lab(check_interval=5.0)
    harvester = finish(lab.open("app.log"))
    lab.room.watches.files.clear()
    lab.room.path("app.log").unlink()
    lab.after(4.9)
    assert is_running(harvester, lab)
    lab.after(0.1)
    assert not is_running(harvester, lab)


def test_a_file_that_has_another_name_left_is_not_deleted(make_lab: MakeLab) -> None:
    lab = make_lab()
    harvester = finish(lab.open("app.log"))
    lab.room.path("other.log").hardlink_to(lab.room.path("app.log"))
    lab.remove(harvester)
    assert not harvester.has_left_its_path
    lab.after(600)
    assert is_running(harvester, lab)


def test_a_renamed_file_may_still_be_deleted(make_lab: MakeLab) -> None:
    lab = make_lab()
    harvester = finish(lab.open("app.log"))
    harvester.path_state = PathState.MOVED
    lab.remove(harvester)
    assert harvester.is_removed


def test_a_deleted_file_that_is_given_up_before_it_is_proven_is_counted_once(room: Room) -> None:
    lab = ClosingLab(room, {"app": rules(max_bytes=3)})
    room.write("app.log", b"one\ntwo\n")
    state = entry_of(room.path("app.log"), 4)
    harvester = room.start(room.open("app.log"), EntryMatch(state, state.path, state))
    assert not harvester.is_proven
    lab.remove(harvester)
    lab.after(SOON)
    assert (is_running(harvester, lab), room.metrics.bytes_lost) == (False, 4)
    room.entries.expire_missing({}, {}, lambda path: False, room.open_files.files.identified)
    room.entries.possibly_lost.report()
    assert room.metrics.bytes_lost == 4
    assert room.entries.unclaimed.states.keys() == {state.id}


def test_a_budget_of_0_is_without_limit(make_lab: MakeLab) -> None:
    lab = make_lab(max_bytes=0)
    opened = [lab.open("a.log"), lab.open("b.log")]
    for harvester in opened:
        lab.remove(harvester)
    lab.after(SOON)
    assert all(is_running(harvester, lab) for harvester in opened)


def test_each_input_has_a_budget_of_its_own(room: Room, clock: ManualClock) -> None:
    web = room.add_input(Input(InputConfig(id="web", paths=("/w",)), AGENT, {}, 1000, clock, room.books.note))
    lab = ClosingLab(room, {"app": rules(max_bytes=10), "web": rules(max_bytes=10)})
    opened = [lab.open("a.log", b"123456789\n"), lab.open("b.log", b"123456789\n", spec=web)]
    for harvester in opened:
        lab.remove(harvester)
    lab.after(SOON)
    assert all(is_running(harvester, lab) for harvester in opened)


def test_the_unread_bytes_of_a_deleted_compressed_file_are_logged_when_it_is_given_up(
    make_room: MakeRoom, caplog: pytest.LogCaptureFixture
) -> None:
    room = make_room(compression="auto")
    lab = ClosingLab(room, {"app": rules(after_interval=60.0)})
    harvester = lab.open("app.log.gz", gzip.compress(b"one\n"))
    lab.remove(harvester)
    lab.after(60)
    assert not is_running(harvester, lab)
    assert f"{harvester.state.path} (file id {harvester.state.id})" in caplog.text
    size = len(gzip.compress(b"one\n"))
    assert (room.metrics.bytes_lost, f": about {size} of its {size} compressed bytes" in caplog.text) == (size, True)


def test_they_are_counted_as_compressed_ones_however_much_content_was_read(make_room: MakeRoom) -> None:
    room = make_room(compression="auto")
    lab = ClosingLab(room, {"app": rules(after_interval=60.0)})
    content = b"".join(b"line %06d\n" % number for number in range(200_000))
    compressed = gzip.compress(content)
    harvester = lab.open("app.log.gz", compressed)
    while harvester.offset <= len(compressed):
        harvester.read()
    lab.remove(harvester)
    lab.after(60)
    assert not is_running(harvester, lab)
    unread = 1 - harvester.offset / len(content)
    assert room.metrics.bytes_lost == pytest.approx(unread * len(compressed), rel=0.1)


def test_so_they_are_at_a_stop(make_room: MakeRoom) -> None:
    room = make_room(compression="auto")
    lab = ClosingLab(room, {"app": rules()})
    compressed = gzip.compress(b"one\n")
    acknowledged, in_flight = finish(lab.open("a.log.gz", compressed)), lab.open("b.log.gz", compressed)
    read_all(in_flight)
    for harvester in (acknowledged, in_flight):
        lab.remove(harvester)
    lab.closer.stop()
    assert room.metrics.bytes_lost == len(compressed)


def test_what_is_written_after_the_last_look_at_a_closed_file_is_new_data(room: Room) -> None:
    harvester = finish(room.read("app.log", b"one\n"))
    looked_at = harvester.status()
    room.append("app.log", b"two\n")
    room.open_files.leave(harvester, Next(To.CLOSED, (Effect.KEEP,)), looked_at)
    closed = room.open_files.files.closed[harvester.key]
    assert closed.has_new_data(ScannedFile.from_status(harvester.state.path, room.path("app.log").stat()))
    assert room.entries.closed_entries[harvester.key].changed == looked_at.st_ctime_ns


def test_a_file_that_cannot_be_looked_at_does_not_keep_the_others_open_at_a_stop(room: Room) -> None:
    stale, other = room.read("a.log", b"one\n"), room.read("b.log", b"one\n")
    os.close(stale.fd)
    room.open_files.stop()
    stale.is_open = False
    assert not other.is_open
