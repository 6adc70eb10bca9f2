from __future__ import annotations

import errno
import logging
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from log_shipper.registry.errors import RegistryReplaced
from log_shipper.registry.load import LOG
from log_shipper.registry.pending import SHORTEST_PAUSE
from log_shipper.registry.registrar import Registrar
from log_shipper.registry.state import FileState
from log_shipper.registry.store import Store, read
from tests.crashing_files import CrashingFiles

HERE = Path("/registry")
A = FileState("a", "/logs/a", 1, 2)
B = FileState("b", "/logs/b", 1, 3)
FOREVER = 60.0  # seconds; a test that waits so long has failed


class Desk:
    """A registrar without its thread, on a disk in memory, at a time that the test sets."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.saved = 0
        self.disk = CrashingFiles()
        self.store = Store.open(HERE, self.disk)
        self.registrar = Registrar(self.store, 1.0, self._on_saved, clock=lambda: self.now)
        self.disk.trace.clear()

    def _on_saved(self) -> None:
        self.saved += 1

    def pass_time(self, seconds: float) -> bool:
        self.now += seconds
        return self.registrar.step()

    def entries(self) -> int:
        """How many were written, removals not counted."""
        return (self.disk.read(HERE / LOG) or b"").count(b'{"id"')

    def on_disk(self) -> dict[str, int]:
        """After a power failure that takes all that was not fsynced."""
        return _positions(next(iter(self.disk.survivors())))

    def after_kill(self) -> dict[str, int]:
        return _positions(self.disk)


def _positions(disk: CrashingFiles) -> dict[str, int]:
    return {file_id: state.position for file_id, state in read(HERE, disk).items()}


@pytest.fixture
def desk() -> Desk:
    return Desk()


def at(state: FileState, position: int) -> FileState:
    return replace(state, position=position)


def test_nothing_is_written_when_nothing_changed(desk: Desk) -> None:
    before = len(desk.disk.trace)
    assert not desk.pass_time(3600)
    assert len(desk.disk.trace) == before


def test_notes_are_on_disk_together_one_interval_after_the_first(desk: Desk) -> None:
    desk.registrar.note(at(A, 1))
    desk.pass_time(0.9)
    desk.registrar.note(at(A, 2))
    desk.registrar.note(at(B, 3))
    assert desk.on_disk() == {}
    assert desk.pass_time(0.1)
    assert desk.on_disk() == {"a": 2, "b": 3}
    assert (desk.disk.trace.count("fsync"), desk.entries()) == (1, 2)
    assert desk.saved == 0


def test_a_note_is_written_at_once_for_a_kill_not_to_take_it(desk: Desk) -> None:
    desk.registrar.note(at(A, 1))
    desk.registrar.note(at(A, 2))
    assert desk.registrar.step()
    assert (desk.on_disk(), desk.after_kill()) == ({}, {"a": 2})
    assert desk.disk.trace == ["open", "write", "write"]
    assert not desk.registrar.step()
    desk.registrar.remove("a")
    desk.registrar.note(at(B, 3))
    assert not desk.pass_time(SHORTEST_PAUSE / 2)
    assert desk.pass_time(SHORTEST_PAUSE / 2)
    assert (desk.on_disk(), desk.after_kill()) == ({}, {"b": 3})


def test_a_disk_that_refuses_such_a_write_is_not_asked_for_another_before_the_flush(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    desk.disk.room = 200  # the header and a part of the entry
    desk.registrar.note(at(A, 1))
    assert desk.registrar.step()
    desk.registrar.note(at(A, 2))
    desk.disk.room = None
    assert not desk.pass_time(0.9)
    assert (desk.after_kill(), caplog.records) == ({}, [])
    assert desk.pass_time(0.1)
    desk.registrar.note(at(A, 3))
    assert desk.pass_time(SHORTEST_PAUSE)
    assert (desk.on_disk(), desk.after_kill()) == ({"a": 2}, {"a": 3})


def test_what_one_call_notes_is_in_one_group(desk: Desk) -> None:
    desk.registrar.note(at(A, 1), at(B, 2))
    before = len(desk.disk.trace)
    desk.pass_time(1)
    assert desk.disk.trace[before:] == ["write", "fsync"]
    assert desk.on_disk() == {"a": 1, "b": 2}


def test_a_note_after_a_flush_waits_for_an_interval_of_its_own(desk: Desk) -> None:
    desk.registrar.note(at(A, 1))
    desk.pass_time(1)
    desk.registrar.note(at(A, 2))
    desk.pass_time(0.9)
    assert desk.on_disk() == {"a": 1}
    assert desk.pass_time(0.1)
    assert desk.on_disk() == {"a": 2}


def test_the_last_call_for_an_id_wins_whatever_it_was(desk: Desk) -> None:
    desk.registrar.note(at(A, 1))
    desk.registrar.remove("a")
    desk.registrar.remove("b")
    desk.registrar.note(at(B, 2))
    desk.pass_time(1)
    assert desk.on_disk() == {"b": 2}
    desk.registrar.remove("b")
    desk.pass_time(1)
    assert desk.on_disk() == {}


def test_an_urgent_save_is_written_at_once_with_all_that_waits_by_one_fsync(desk: Desk) -> None:
    desk.registrar.note(at(A, 1))
    first = desk.registrar.save([at(B, 2)])
    second = desk.registrar.save([])
    assert not first.done
    before = len(desk.disk.trace)
    assert desk.registrar.step()
    assert desk.disk.trace[before:] == ["write", "fsync"]
    assert first.done
    assert second.wait(0)
    assert desk.on_disk() == {"a": 1, "b": 2}
    assert desk.saved == 1


def test_a_save_of_nothing_new_is_done_as_well(desk: Desk) -> None:
    ticket = desk.registrar.save([])
    desk.registrar.step()
    assert ticket.done


def test_a_disk_that_refuses_is_asked_again_each_second_and_then_gets_the_newest(desk: Desk) -> None:
    desk.disk.room = 0
    ticket = desk.registrar.save([at(A, 1), at(B, 1)])
    assert desk.registrar.step()
    assert not desk.registrar.step()
    desk.registrar.note(at(A, 2))
    second = desk.registrar.save([])
    assert not desk.pass_time(0.9)
    assert desk.pass_time(0.1)
    assert desk.disk.trace.count("write") == 2
    assert not ticket.done
    desk.disk.room = None
    assert desk.pass_time(1)
    assert ticket.done
    assert second.done
    assert desk.on_disk() == {"a": 2, "b": 1}
    assert desk.saved == 1


def test_a_removal_that_failed_is_repeated_but_not_over_a_newer_note(desk: Desk) -> None:
    desk.registrar.save([at(A, 1), at(B, 1)])
    desk.registrar.step()
    desk.registrar.remove("a")
    desk.registrar.remove("b")
    desk.disk.room = 0
    desk.pass_time(1)
    desk.registrar.note(at(B, 2))
    desk.disk.room = None
    desk.pass_time(1)
    assert desk.on_disk() == {"b": 2}


def test_a_disk_that_refuses_is_reported_at_most_once_a_minute(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    desk.disk.room = 0
    desk.registrar.note(A)
    for _ in range(61):
        desk.pass_time(1)
    assert desk.disk.trace.count("write") == 61
    first, second = caplog.messages
    assert first == second
    assert "/registry" in first
    assert "No space left on device (ENOSPC); free some space there" in first
    assert "files newly met wait" in first
    assert (desk.registrar.saves.ok, desk.registrar.saves.failed, desk.registrar.saves.is_failing) == (0, 61, True)
    desk.disk.room = None
    desk.pass_time(1)
    assert caplog.messages[2:] == ["registry /registry: saved again"]
    assert (desk.registrar.saves.ok, desk.registrar.saves.is_failing) == (1, False)
    desk.disk.room = 0
    desk.registrar.note(A)
    desk.pass_time(1)
    assert len(caplog.messages) == 4  # a new trouble is told at once


def test_what_waits_is_bounded_by_the_number_of_files(desk: Desk) -> None:
    desk.disk.room = 0
    for position in range(1000):
        desk.registrar.note(at(A, position))
        desk.pass_time(1)
    desk.disk.room = None
    desk.pass_time(1)
    assert desk.entries() == 1


def test_the_states_are_those_that_were_loaded(desk: Desk) -> None:
    desk.registrar.save([at(A, 1)])
    desk.registrar.step()
    assert desk.registrar.states == {}
    assert Registrar(desk.store).states == {"a": at(A, 1)}


class Gate(CrashingFiles):
    """A disk that tells when a write is tried, and hangs in it while the gate is shut."""

    def __init__(self) -> None:
        super().__init__()
        self.tried = threading.Event()
        self.opened = threading.Event()
        self.opened.set()

    def take_room(self, size: int) -> int:
        self.tried.set()
        self.opened.wait(FOREVER)
        return super().take_room(size)


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.opened.set()


def started(gate: Gate, flush_interval: float = FOREVER, on_saved: threading.Event | None = None) -> Registrar:
    wake = (on_saved or threading.Event()).set
    registrar = Registrar(Store.open(HERE, gate), flush_interval, wake, retry_interval=0.001)
    gate.tried.clear()
    gate.trace.clear()
    registrar.start()
    return registrar


def test_the_thread_saves_an_urgent_ticket_without_waiting_for_the_interval(gate: Gate) -> None:
    notified = threading.Event()
    registrar = started(gate, on_saved=notified)
    registrar.note(at(B, 1))
    assert registrar.save([at(A, 1)]).wait(FOREVER)
    assert notified.wait(FOREVER)
    assert set(read(HERE, gate)) == {"a", "b"}
    assert registrar.close(FOREVER)


def test_the_thread_flushes_notes_when_their_interval_is_over(gate: Gate) -> None:
    registrar = started(gate, flush_interval=0.001)
    registrar.note(at(A, 1))
    assert gate.tried.wait(FOREVER)
    assert registrar.close(FOREVER)
    assert gate.trace.count("fsync") == 1


def test_saves_that_arrive_while_the_disk_is_busy_share_the_next_fsync(gate: Gate) -> None:
    registrar = started(gate)
    gate.opened.clear()
    tickets = [registrar.save([at(A, 0)])]
    assert gate.tried.wait(FOREVER)
    tickets += [registrar.save([at(A, position)]) for position in range(1, 50)]
    gate.opened.set()
    assert all(ticket.wait(FOREVER) for ticket in tickets)
    assert gate.trace.count("fsync") == 2
    assert registrar.close(FOREVER)
    assert read(HERE, gate)["a"].position == 49


def test_closing_writes_what_waits(gate: Gate) -> None:
    registrar = started(gate)
    registrar.note(at(A, 5))
    assert registrar.close(FOREVER)
    assert read(HERE, gate) == {"a": at(A, 5)}


def test_closing_a_registrar_that_was_never_started_writes_what_waits() -> None:
    desk = Desk()
    desk.registrar.note(at(A, 5))
    assert desk.registrar.close(FOREVER)
    assert desk.on_disk() == {"a": 5}


def test_closing_with_a_disk_that_refuses_ends_in_time_and_reports_it(gate: Gate) -> None:
    registrar = started(gate)
    gate.room = 0
    registrar.note(at(A, 5))
    assert not registrar.close(0.02)
    assert gate.tried.wait(FOREVER)
    registrar._thread.join(FOREVER)
    assert read(HERE, gate) == {}


def test_closing_keeps_asking_until_the_disk_takes_it(gate: Gate) -> None:
    registrar = started(gate)
    gate.room = 0
    registrar.note(at(A, 5))
    closed: list[bool] = []
    closing = threading.Thread(target=lambda: closed.append(registrar.close(FOREVER)))
    closing.start()
    for _ in range(3):  # of which the thread may have made the first before it was to close
        gate.tried.clear()
        assert gate.tried.wait(FOREVER)
    gate.room = None
    closing.join(FOREVER)
    assert closed == [True]
    assert read(HERE, gate) == {"a": at(A, 5)}


def test_closing_while_the_disk_hangs_does_not_hang(gate: Gate) -> None:
    registrar = started(gate)
    gate.opened.clear()
    registrar.save([A])
    assert gate.tried.wait(FOREVER)
    assert not registrar.close(0.01)
    gate.opened.set()
    registrar._thread.join(FOREVER)


class Faulty(Store):
    def write(self, changed: Sequence[FileState], removed: Sequence[str] = ()) -> None:
        raise ZeroDivisionError


def test_a_fault_of_the_thread_itself_wakes_the_reading_loop_and_is_kept(caplog: pytest.LogCaptureFixture) -> None:
    notified = threading.Event()
    registrar = Registrar(Faulty.open(HERE, CrashingFiles()), on_saved=notified.set)
    registrar.start()
    ticket = registrar.save([A])
    assert notified.wait(FOREVER)
    assert isinstance(registrar.failure, ZeroDivisionError)
    assert not ticket.done
    assert not registrar.close(FOREVER)
    assert "fault of its own" in caplog.text


def test_the_line_about_a_disk_that_refuses_has_what_to_do(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    desk.disk.fail_next(errno.EROFS)
    desk.registrar.note(A)
    desk.pass_time(1)
    assert "(EROFS); make the file system writable again" in caplog.text


def overgrown(desk: Desk) -> Path:
    """The log has grown past the live entries, so that a checkpoint is due at the next save."""
    for position in range(1001):
        desk.store.write([at(A, position)])
    return HERE / "checkpoint.ndjson"


def test_a_checkpoint_is_made_after_what_waited_for_the_save_was_notified(desk: Desk) -> None:
    checkpoint = overgrown(desk)
    notified: list[bool] = []
    desk.registrar = Registrar(
        desk.store, 1.0, lambda: notified.append(desk.disk.read(checkpoint) is None), clock=lambda: desk.now
    )
    desk.registrar.save([B])
    desk.registrar.step()
    assert notified == [True]
    assert desk.disk.read(checkpoint) is not None


def test_the_last_save_does_not_wait_for_a_checkpoint(desk: Desk) -> None:
    checkpoint = overgrown(desk)
    desk.registrar.note(at(A, 5))
    assert desk.registrar.close(FOREVER)
    assert desk.disk.read(checkpoint) is None
    assert desk.on_disk() == {"a": 5}


def test_a_registry_that_was_removed_is_made_again_also_when_nothing_is_to_be_written(desk: Desk) -> None:
    desk.registrar.note(at(A, 5))
    desk.pass_time(1)
    desk.disk.remove()
    desk.registrar.check_place()
    assert desk.on_disk() == {"a": 5}


def test_a_disk_that_refuses_to_recreate_it_is_reported_and_retried(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    desk.registrar.note(at(A, 5))
    desk.pass_time(1)
    desk.disk.remove()
    desk.disk.fail_next(errno.ENOSPC)
    desk.registrar.check_place()
    assert "positions cannot be saved: No space left" in caplog.text
    desk.registrar.check_place()
    assert desk.on_disk() == {"a": 5}


def test_a_registry_that_was_replaced_ends_the_thread_and_waiting_callers_learn_it(
    gate: Gate, caplog: pytest.LogCaptureFixture
) -> None:
    notified = threading.Event()
    registrar = started(gate, on_saved=notified)
    gate.remove()
    second = Store.open(HERE, gate)
    ticket = registrar.save([A])
    assert notified.wait(FOREVER)
    assert isinstance(registrar.failure, RegistryReplaced)
    assert not ticket.done
    assert not registrar.close(FOREVER)
    assert "was replaced while this process used it" in caplog.text
    assert "Traceback" not in caplog.text
    second.close()


def test_saves_are_counted_with_the_time_of_the_fsync() -> None:
    desk = Desk()
    desk.registrar.note(A)
    assert desk.pass_time(2)
    saves = desk.registrar.saves
    assert (saves.ok, saves.failed, saves.is_failing, desk.registrar.entries) == (1, 0, False, 1)
    assert saves.fsync.distribution().count == 1
