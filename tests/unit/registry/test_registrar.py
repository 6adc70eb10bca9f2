from __future__ import annotations

import errno
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from log_shipper.registry.errors import RegistryReplaced
from log_shipper.registry.load import DATABASE, read
from log_shipper.registry.pending import MIN_PAUSE
from log_shipper.registry.registrar import Registrar
from log_shipper.registry.state import FileState
from log_shipper.registry.store import Store
from tests.crashing_database import CrashingDatabase, filled
from tests.memory_registry import MemoryFiles

A = FileState("a", "/logs/a", 1, 2)
B = FileState("b", "/logs/b", 1, 3)
FOREVER = 60.0  # seconds; a test that waits so long has failed


class Desk:
    """A registrar without its thread, on a disk in memory, at a time that the test sets."""

    def __init__(self, place: Path) -> None:
        self.now = 1000.0
        self.saved = 0
        self.place = place
        self.disk = CrashingDatabase(place)
        self.store = Store.open(place, self.disk)
        self.registrar = Registrar(self.store, 1.0, self._on_saved, clock=lambda: self.now)

    def _on_saved(self) -> None:
        self.saved += 1

    def pass_time(self, seconds: float) -> bool:
        self.now += seconds
        return self.registrar.step()

    def flushes(self) -> int:
        return self.registrar.saves.fsync.distribution().count

    def on_disk(self) -> dict[str, int]:
        """After a power failure that takes all that was not synced."""
        return _positions(filled(self.place.with_name("survivor"), {DATABASE: (self.place / DATABASE).read_bytes()}))

    def after_kill(self) -> dict[str, int]:
        return _positions(self.place)


def _positions(place: Path) -> dict[str, int]:
    return {file_id: state.position for file_id, state in read(place).items()}


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path / "registry")
    yield desk
    desk.store.close()


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
    assert desk.flushes() == 1
    assert desk.saved == 0


def test_a_note_is_written_at_once_for_a_kill_not_to_take_it(desk: Desk) -> None:
    desk.registrar.note(at(A, 1))
    desk.registrar.note(at(A, 2))
    assert desk.registrar.step()
    assert (desk.on_disk(), desk.after_kill()) == ({}, {"a": 2})
    assert desk.flushes() == 0
    assert not desk.registrar.step()
    desk.registrar.remove("a")
    desk.registrar.note(at(B, 3))
    assert not desk.pass_time(MIN_PAUSE / 2)
    assert desk.pass_time(MIN_PAUSE / 2)
    assert (desk.on_disk(), desk.after_kill()) == ({}, {"b": 3})


def test_a_disk_that_refuses_such_a_write_is_not_asked_for_another_before_the_flush(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    desk.disk.is_full = True
    desk.registrar.note(at(A, 1))
    assert desk.registrar.step()
    desk.registrar.note(at(A, 2))
    desk.disk.is_full = False
    assert not desk.pass_time(0.9)
    assert (desk.after_kill(), caplog.records) == ({}, [])
    assert desk.pass_time(0.1)
    desk.registrar.note(at(A, 3))
    assert desk.pass_time(MIN_PAUSE)
    assert (desk.on_disk(), desk.after_kill()) == ({"a": 2}, {"a": 3})


def test_what_one_call_notes_is_in_one_group(desk: Desk) -> None:
    desk.registrar.note(at(A, 1), at(B, 2))
    desk.pass_time(1)
    assert desk.flushes() == 1
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
    assert desk.registrar.step()
    assert desk.flushes() == 1
    assert first.done
    assert second.wait(0)
    assert desk.on_disk() == {"a": 1, "b": 2}
    assert desk.saved == 1


def test_a_save_of_nothing_new_is_done_as_well(desk: Desk) -> None:
    ticket = desk.registrar.save([])
    desk.registrar.step()
    assert ticket.done


def test_a_disk_that_refuses_is_asked_again_each_second_and_then_gets_the_newest(desk: Desk) -> None:
    desk.disk.is_full = True
    ticket = desk.registrar.save([at(A, 1), at(B, 1)])
    assert desk.registrar.step()
    assert not desk.registrar.step()
    desk.registrar.note(at(A, 2))
    second = desk.registrar.save([])
    assert not desk.pass_time(0.9)
    assert desk.pass_time(0.1)
    assert desk.registrar.saves.failed == 2
    assert not ticket.done
    desk.disk.is_full = False
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
    desk.disk.is_full = True
    desk.pass_time(1)
    desk.registrar.note(at(B, 2))
    desk.disk.is_full = False
    desk.pass_time(1)
    assert desk.on_disk() == {"b": 2}


def test_a_disk_that_refuses_is_reported_at_most_once_a_minute(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    desk.disk.is_full = True
    desk.registrar.note(A)
    for _ in range(61):
        desk.pass_time(1)
    first, second = caplog.messages
    assert first == second
    assert f"registry {desk.place}: " in first
    assert "No space left on device (ENOSPC); free some space there" in first
    assert "files newly met wait" in first
    assert (desk.registrar.saves.ok, desk.registrar.saves.failed, desk.registrar.saves.is_failing) == (0, 61, True)
    desk.disk.is_full = False
    desk.pass_time(1)
    assert caplog.messages[2:] == [f"registry {desk.place}: saved again"]
    assert (desk.registrar.saves.ok, desk.registrar.saves.is_failing) == (1, False)
    desk.disk.is_full = True
    desk.registrar.note(A)
    desk.pass_time(1)
    assert len(caplog.messages) == 4  # a new trouble is told at once


def test_what_waits_is_bounded_by_the_number_of_files(desk: Desk) -> None:
    desk.disk.is_full = True
    for position in range(1000):
        desk.registrar.note(at(A, position))
        desk.pass_time(1)
    desk.disk.is_full = False
    desk.pass_time(1)
    assert desk.on_disk() == {"a": 999}


def test_the_states_are_those_that_were_loaded(desk: Desk) -> None:
    desk.registrar.save([at(A, 1)])
    desk.registrar.step()
    assert desk.registrar.states == {}
    assert Registrar(desk.store).states == {"a": at(A, 1)}


class Gate(CrashingDatabase):
    """A disk that tells when a write is tried, and hangs in it while the gate is shut."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.tried = threading.Event()
        self.opened = threading.Event()
        self.opened.set()

    def operate(self, name: str, partly: Callable[[], None] = lambda: None) -> None:
        if name == "write":
            self.tried.set()
            self.opened.wait(FOREVER)
        super().operate(name, partly)


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    gate = Gate(tmp_path / "registry")
    yield gate
    gate.opened.set()


def started(gate: Gate, flush_interval: float = FOREVER, on_saved: threading.Event | None = None) -> Registrar:
    wake = (on_saved or threading.Event()).set
    registrar = Registrar(Store.open(gate.directory, gate), flush_interval, wake, retry_interval=0.001)
    gate.tried.clear()
    registrar.start()
    return registrar


def test_the_thread_saves_an_urgent_ticket_without_waiting_for_the_interval(gate: Gate) -> None:
    notified = threading.Event()
    registrar = started(gate, on_saved=notified)
    registrar.note(at(B, 1))
    assert registrar.save([at(A, 1)]).wait(FOREVER)
    assert notified.wait(FOREVER)
    assert set(read(gate.directory)) == {"a", "b"}
    assert registrar.close(FOREVER)


def test_the_thread_flushes_notes_when_their_interval_is_over(gate: Gate) -> None:
    registrar = started(gate, flush_interval=0.001)
    registrar.note(at(A, 1))
    assert gate.tried.wait(FOREVER)
    assert registrar.close(FOREVER)
    assert registrar.saves.fsync.distribution().count == 1


def test_saves_that_arrive_while_the_disk_is_busy_share_the_next_fsync(gate: Gate) -> None:
    registrar = started(gate)
    gate.opened.clear()
    tickets = [registrar.save([at(A, 0)])]
    assert gate.tried.wait(FOREVER)
    tickets += [registrar.save([at(A, position)]) for position in range(1, 50)]
    gate.opened.set()
    assert all(ticket.wait(FOREVER) for ticket in tickets)
    assert registrar.saves.fsync.distribution().count == 2
    assert registrar.close(FOREVER)
    assert read(gate.directory)["a"].position == 49


def test_closing_writes_what_waits(gate: Gate) -> None:
    registrar = started(gate)
    registrar.note(at(A, 5))
    assert registrar.close(FOREVER)
    assert read(gate.directory) == {"a": at(A, 5)}


def test_closing_a_registrar_that_was_never_started_writes_what_waits(desk: Desk) -> None:
    desk.registrar.note(at(A, 5))
    assert desk.registrar.close(FOREVER)
    assert desk.on_disk() == {"a": 5}


def test_closing_with_a_disk_that_refuses_ends_in_time_and_reports_it(gate: Gate) -> None:
    registrar = started(gate)
    gate.is_full = True
    registrar.note(at(A, 5))
    assert not registrar.close(0.02)
    assert gate.tried.wait(FOREVER)
    registrar._thread.join(FOREVER)
    assert read(gate.directory) == {}


def test_closing_keeps_asking_until_the_disk_takes_it(gate: Gate) -> None:
    registrar = started(gate)
    gate.is_full = True
    registrar.note(at(A, 5))
    closed: list[bool] = []
    closing = threading.Thread(target=lambda: closed.append(registrar.close(FOREVER)))
    closing.start()
    for _ in range(3):  # of which the thread may have made the first before it was to close
        gate.tried.clear()
        assert gate.tried.wait(FOREVER)
    gate.is_full = False
    closing.join(FOREVER)
    assert closed == [True]
    assert read(gate.directory) == {"a": at(A, 5)}


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
    registrar = Registrar(Faulty.open(Path("/registry"), MemoryFiles()), on_saved=notified.set)
    registrar.start()
    ticket = registrar.save([A])
    assert notified.wait(FOREVER)
    assert isinstance(registrar.failure, ZeroDivisionError)
    assert not ticket.done
    assert not registrar.close(FOREVER)
    assert "fault of its own" in caplog.text


def test_the_line_about_a_disk_that_refuses_has_what_to_do(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    desk.disk.fail_next(errno.EIO, operation="sync")
    desk.registrar.note(A)
    desk.pass_time(1)
    assert "Input/output error (EIO); look at the disk" in caplog.text


def test_a_registry_that_was_removed_is_made_again_also_when_nothing_is_to_be_written(desk: Desk) -> None:
    desk.registrar.note(at(A, 5))
    desk.pass_time(1)
    desk.disk.lose(DATABASE)
    desk.registrar.check_place()
    assert desk.on_disk() == {"a": 5}


def test_a_disk_that_refuses_to_recreate_it_is_reported_and_retried(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    desk.registrar.note(at(A, 5))
    desk.pass_time(1)
    desk.disk.lose(DATABASE)
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
    gate.lose(DATABASE)
    gate.create(gate.directory / DATABASE)
    ticket = registrar.save([A])
    assert notified.wait(FOREVER)
    assert isinstance(registrar.failure, RegistryReplaced)
    assert not ticket.done
    assert not registrar.close(FOREVER)
    assert "was replaced while this process used it" in caplog.text
    assert "Traceback" not in caplog.text


def test_saves_are_counted_with_the_time_of_the_fsync(desk: Desk) -> None:
    desk.registrar.note(A)
    assert desk.pass_time(2)
    saves = desk.registrar.saves
    assert (saves.ok, saves.failed, saves.is_failing, desk.registrar.entries) == (1, 0, False, 1)
    assert saves.fsync.distribution().count == 1
