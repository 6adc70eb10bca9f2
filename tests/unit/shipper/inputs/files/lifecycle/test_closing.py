import gzip
import logging
import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from log_shipper.registry.state import REMOVED
from log_shipper.shipper.errors import Truncated
from log_shipper.shipper.inputs.files.discovery.scanner import ScannedFile
from log_shipper.shipper.inputs.files.discovery.spec import InputSpec
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
from tests.reading_room import Room, acknowledge, finish, read_all

MakeRoom = Callable[..., Room]


def rules(*, on_eof: bool = False, after_interval: float = 0.0, max_bytes: int = 0, **change: Any) -> CloseConfig:
    return CloseConfig(
        on_state_change=StateChangeConfig(**{"inactive": 0.0, "check_interval": 5.0} | change),
        reader=ReaderCloseConfig(on_eof=on_eof, after_interval=after_interval),
        removed=RemovedCloseConfig(max_bytes=max_bytes),
    )


class Office:
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
        self.closer.learn(
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


MakeOffice = Callable[..., Office]


@pytest.fixture
def office(room: Room) -> MakeOffice:
    def make(**options: Any) -> Office:
        return Office(room, {"app": rules(**options)})

    return make


def is_running(harvester: Harvester, office: Office) -> bool:
    return office.room.open_files.running.get(harvester.key) is harvester


def test_a_quiet_file_is_closed_in_time_and_not_before(office: MakeOffice) -> None:
    desk = office(inactive=60.0)
    finish(desk.open("app.log"))
    assert desk.after(59.9) == []
    assert desk.after(0.1) == ["close.on_state_change.inactive"]


def test_the_time_counts_from_the_last_line(office: MakeOffice) -> None:
    desk = office(inactive=60.0)
    harvester = finish(desk.open("app.log"))
    desk.after(40)
    desk.room.append("app.log", b"two\n")
    finish(harvester)
    assert desk.after(40) == []
    assert desk.after(20) == ["close.on_state_change.inactive"]


def test_inactive_0_keeps_a_quiet_file_open(office: MakeOffice) -> None:
    desk = office(inactive=0.0)
    finish(desk.open("app.log"))
    assert desk.after(10**9) == []


def test_a_quiet_file_waits_for_its_acknowledgements(office: MakeOffice) -> None:
    desk = office(inactive=60.0, check_interval=5.0)
    batches = read_all(desk.open("app.log"))
    assert desk.after(60) == []
    acknowledge(batches)
    assert desk.after(4.9) == []
    assert desk.after(0.1) == ["close.on_state_change.inactive"]


def test_a_pending_message_keeps_its_file_open(make_room: MakeRoom) -> None:
    desk = Office(make_room(parsers=(multiline(r"^\s"),)), {"app": rules(inactive=3.0)})
    harvester = finish(desk.open("app.log"))
    assert desk.after(4) == []
    message = harvester.end_message()
    assert message is not None
    message.resolve()
    assert desk.after(5) == ["close.on_state_change.inactive"]


def test_a_write_that_meets_the_closing_is_read(office: MakeOffice) -> None:
    desk = office(inactive=60.0)
    harvester = finish(desk.open("app.log"))
    desk.room.append("app.log", b"two\n")
    assert desk.after(60) == []
    assert desk.room.scheduler.next_ready() is harvester
    finish(harvester)
    assert harvester.state.position == 8
    assert desk.after(59) == []
    assert desk.after(1) == ["close.on_state_change.inactive"]


def test_a_closed_file_that_is_open_again_is_closed_in_its_own_time(office: MakeOffice) -> None:
    desk = office(inactive=60.0, after_interval=600.0)
    first = finish(desk.open("app.log"))
    desk.after(60)
    opened = desk.room.open("app.log")
    claim = desk.room.entries.claim(opened)
    assert claim is not None
    again = finish(desk.room.start(opened, claim))
    desk.closer.opened(again)
    desk.after(59)
    assert [harvester for harvester, _ in desk.closed] == [first]
    desk.after(1)
    assert [harvester for harvester, _ in desk.closed] == [first, again]


def test_its_next_step_is_when_it_has_something_to_do(office: MakeOffice) -> None:
    desk = office(inactive=3.0, check_interval=5.0)
    start = desk.clock.monotonic()
    assert desk.closer.next_step == start + 5
    harvester = desk.open("app.log")
    assert desk.closer.next_step == start + 3
    desk.room.open_files.idle.expect(harvester)
    assert desk.closer.next_step <= start
    desk.closer.step()
    assert desk.closer.next_step == start + 3


def test_on_eof_closes_as_soon_as_the_end_is_acknowledged(office: MakeOffice) -> None:
    desk = office(on_eof=True)
    batches = read_all(desk.open("app.log"))
    assert desk.after(SOON) == []
    acknowledge(batches)
    assert desk.after(SOON) == ["close.reader.on_eof"]


def test_a_renamed_file_is_closed_once_all_of_it_is_acknowledged(office: MakeOffice) -> None:
    desk = office(renamed=True)
    harvester = desk.open("app.log")
    harvester.path_state = PathState.RENAMED
    desk.room.open_files.idle.expect(harvester)
    assert desk.after(SOON) == []
    finish(harvester)
    assert desk.after(SOON) == ["close.on_state_change.renamed"]


def test_a_file_is_closed_when_another_waits_for_its_place(office: MakeOffice) -> None:
    desk = office()
    first, second = finish(desk.open("a.log")), finish(desk.open("b.log"))
    assert desk.after(SOON) == []
    desk.wanted = {"web": 1}
    assert desk.after(SOON) == []
    desk.wanted = {"app": 1}
    assert desk.after(SOON) == ["harvester_limit"]
    assert (is_running(first, desk), is_running(second, desk)) == (False, True)


def test_with_once_a_file_is_closed_when_it_is_delivered(room: Room) -> None:
    desk = Office(room, {"app": rules()}, once=True)
    harvester = desk.open("app.log", once=True)
    batches = read_all(harvester)
    assert desk.after(SOON) == []
    acknowledge(batches)
    assert desk.after(SOON) == ["--once"]


def test_after_interval_closes_a_file_at_any_offset_and_loses_nothing(office: MakeOffice) -> None:
    desk = office(after_interval=60.0)
    harvester = desk.open("app.log")
    assert desk.after(59) == []
    assert desk.after(1) == ["close.reader.after_interval"]
    assert (desk.room.metrics.bytes_lost, desk.room.open_files.files.closed) == (0, {})
    assert desk.room.entries.closed_entries[harvester.key].position == 0


def test_after_interval_waits_for_the_acknowledgements_of_a_file_that_is_there(office: MakeOffice) -> None:
    desk = office(after_interval=60.0)
    batches = read_all(desk.open("app.log"))
    assert desk.after(600) == []
    acknowledge(batches)
    assert desk.after(SOON) == ["close.reader.after_interval"]


# Deleted files.


def test_a_deleted_file_is_closed_once_its_end_is_acknowledged(office: MakeOffice) -> None:
    desk = office()
    harvester = desk.open("app.log")
    desk.remove(harvester)
    desk.after(600)
    assert is_running(harvester, desk)
    batches = read_all(harvester)
    desk.after(600)
    assert is_running(harvester, desk)
    acknowledge(batches)
    desk.after(SOON)
    assert not is_running(harvester, desk)
    assert desk.room.books.written[harvester.state.id].ended == REMOVED
    assert desk.room.metrics.bytes_lost == 0


def test_a_deletion_without_an_event_is_noticed_in_the_next_round(office: MakeOffice) -> None:
    desk = office(check_interval=5.0)
    harvester = finish(desk.open("app.log"))
    desk.room.watches.files.clear()
    desk.room.path("app.log").unlink()
    desk.after(4.9)
    assert is_running(harvester, desk)
    desk.after(0.1)
    assert not is_running(harvester, desk)


def test_a_file_that_has_another_name_left_is_not_deleted(office: MakeOffice) -> None:
    desk = office()
    harvester = finish(desk.open("app.log"))
    desk.room.path("other.log").hardlink_to(desk.room.path("app.log"))
    desk.remove(harvester)
    assert not harvester.has_left_path
    desk.after(600)
    assert is_running(harvester, desk)


def test_a_renamed_file_may_still_be_deleted(office: MakeOffice) -> None:
    desk = office()
    harvester = finish(desk.open("app.log"))
    harvester.path_state = PathState.MOVED
    desk.remove(harvester)
    assert harvester.is_removed


def test_removed_false_keeps_a_deleted_file_open(office: MakeOffice) -> None:
    desk = office(removed=False)
    harvester = finish(desk.open("app.log"))
    desk.remove(harvester)
    desk.after(600)
    assert is_running(harvester, desk)


def test_a_file_that_was_truncated_before_it_was_deleted_is_read_once_more(office: MakeOffice) -> None:
    """So that its life ends as a truncated one: a copy of it may go on there."""
    desk = office()
    harvester = finish(desk.open("app.log"))
    desk.room.write("app.log", b"")
    desk.remove(harvester)
    desk.after(SOON)
    assert is_running(harvester, desk)
    assert desk.room.scheduler.next_ready() is harvester
    with pytest.raises(Truncated):
        harvester.read()


def test_who_deleted_the_file_may_write_on(office: MakeOffice) -> None:
    desk = office()
    harvester = finish(desk.open("app.log"))
    with desk.room.path("app.log").open("ab") as writer:
        desk.remove(harvester)
        writer.write(b"two\n")
    desk.after(SOON)
    assert desk.room.scheduler.next_ready() is harvester
    finish(harvester)
    desk.after(SOON)
    assert not is_running(harvester, desk)
    assert (harvester.state.position, desk.room.metrics.bytes_lost) == (8, 0)


def test_the_unterminated_end_of_a_deleted_file_is_counted_and_logged(
    office: MakeOffice, caplog: pytest.LogCaptureFixture
) -> None:
    desk = office()
    harvester = finish(desk.open("app.log", b"one\ntwo"))
    desk.remove(harvester)
    desk.after(SOON)
    assert desk.room.metrics.bytes_lost == 3
    (warning,) = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert f"{harvester.state.path} (file id {harvester.state.id})" in warning
    assert "last 3 bytes, from offset 4 on" in warning


def test_after_interval_gives_up_the_unread_bytes_of_a_deleted_file(
    office: MakeOffice, caplog: pytest.LogCaptureFixture
) -> None:
    desk = office(after_interval=60.0)
    harvester = desk.open("app.log", b"one\ntwo\n")
    desk.remove(harvester)
    desk.after(59)
    assert is_running(harvester, desk)
    desk.after(1)
    assert not is_running(harvester, desk)
    assert desk.room.metrics.bytes_lost == 8
    (warning,) = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert f"{harvester.state.path} (file id {harvester.state.id})" in warning
    assert "close.reader.after_interval" in warning
    assert "8 bytes, from offset 0 to 8" in warning


def test_it_does_so_while_the_output_is_blocked(office: MakeOffice) -> None:
    """What was read is still delivered, and counts as no loss."""
    desk = office(after_interval=60.0)
    harvester = desk.open("app.log")
    batches = read_all(harvester)
    with desk.room.path("app.log").open("ab") as writer:
        writer.write(b"two\n")
    desk.remove(harvester)
    desk.after(60)
    assert not is_running(harvester, desk)
    assert desk.room.metrics.bytes_lost == 4
    acknowledge(batches)
    desk.room.open_files.step()
    assert desk.room.books.written[harvester.state.id].position == 4


def kept(office: Office, *harvesters: Harvester) -> list[Harvester]:
    return [harvester for harvester in harvesters if is_running(harvester, office)]


def open_in_turn(office: Office, *names: str) -> list[Harvester]:
    """Opened a second apart, ten bytes each, none of them read."""
    opened = []
    for name in names:
        opened.append(office.open(name, b"123456789\n"))
        office.clock.advance(1)
    return opened


def test_deleted_files_are_kept_up_to_a_budget_and_the_oldest_is_given_up(
    office: MakeOffice, caplog: pytest.LogCaptureFixture
) -> None:
    desk = office(max_bytes=20)
    first, second, third = open_in_turn(desk, "a.log", "b.log", "c.log")
    desk.remove(first)
    desk.remove(second)
    desk.after(SOON)
    assert kept(desk, first, second, third) == [first, second, third]
    desk.remove(third)
    desk.after(SOON)
    assert kept(desk, first, second, third) == [second, third]
    assert desk.room.metrics.bytes_lost == 10
    assert "close.removed.max_bytes" in caplog.text
    desk.after(600)
    assert desk.room.metrics.bytes_lost == 10


def test_files_that_are_there_cost_nothing_of_the_budget(office: MakeOffice) -> None:
    desk = office(max_bytes=10)
    opened = open_in_turn(desk, "a.log", "b.log", "c.log")
    for harvester in opened:
        desk.room.open_files.idle.expect(harvester)
    desk.remove(opened[0])
    desk.after(SOON)
    assert kept(desk, *opened) == opened


def test_a_budget_of_0_is_without_limit(office: MakeOffice) -> None:
    desk = office(max_bytes=0)
    opened = open_in_turn(desk, "a.log", "b.log")
    for harvester in opened:
        desk.remove(harvester)
    desk.after(SOON)
    assert kept(desk, *opened) == opened


def test_each_input_has_a_budget_of_its_own(room: Room, clock: ManualClock) -> None:
    web = room.add_input(Input(InputConfig(id="web", paths=("/w",)), AGENT, {}, 1000, clock, room.books.note))
    desk = Office(room, {"app": rules(max_bytes=10), "web": rules(max_bytes=10)})
    opened = [desk.open("a.log", b"123456789\n"), desk.open("b.log", b"123456789\n", spec=web)]
    for harvester in opened:
        desk.remove(harvester)
    desk.after(SOON)
    assert kept(desk, *opened) == opened


def test_the_unread_bytes_of_a_deleted_compressed_file_are_logged_when_it_is_given_up(
    make_room: MakeRoom, caplog: pytest.LogCaptureFixture
) -> None:
    room = make_room(compression="auto")
    desk = Office(room, {"app": rules(after_interval=60.0)})
    harvester = desk.open("app.log.gz", gzip.compress(b"one\n"))
    desk.remove(harvester)
    desk.after(60)
    assert not is_running(harvester, desk)
    assert f"{harvester.state.path} (file id {harvester.state.id})" in caplog.text
    assert room.metrics.bytes_lost > 0


def test_a_compressed_file_that_was_read_is_closed_without_a_loss(make_room: MakeRoom) -> None:
    room = make_room(compression="auto")
    desk = Office(room, {"app": replace(rules(), removed=RemovedCloseConfig(max_bytes=1))})
    harvester = finish(desk.open("app.log.gz", gzip.compress(b"one\n")))
    desk.after(SOON)
    assert desk.closed == [(harvester, "compression")]


def test_what_is_written_after_the_last_look_at_a_closed_file_is_new_data(room: Room) -> None:
    harvester = finish(room.read("app.log", b"one\n"))
    looked_at = harvester.status()
    room.append("app.log", b"two\n")
    room.open_files.leave(harvester, Next(To.CLOSED, (Effect.KEEP,)), looked_at)
    closed = room.open_files.files.closed[harvester.key]
    assert closed.has_new_data(ScannedFile.of(harvester.state.path, room.path("app.log").stat()))
    assert room.entries.closed_entries[harvester.key].changed == looked_at.st_ctime_ns


def test_a_file_that_cannot_be_looked_at_does_not_keep_the_others_open_at_a_stop(room: Room) -> None:
    stale, other = room.read("a.log", b"one\n"), room.read("b.log", b"one\n")
    os.close(stale.fd)
    room.open_files.stop()
    stale.is_open = False
    assert not other.is_open
