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


class RegistrarLab:
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
def lab(tmp_path: Path) -> Iterator[RegistrarLab]:
    lab = RegistrarLab(tmp_path / "registry")
    yield lab
    lab.store.close()


def at(state: FileState, position: int) -> FileState:
    return replace(state, position=position)


def test_nothing_is_written_when_nothing_changed(lab: RegistrarLab) -> None:
    before = len(lab.disk.trace)
    assert not lab.pass_time(3600)
    assert len(lab.disk.trace) == before


def test_notes_are_on_disk_together_one_interval_after_the_first(lab: RegistrarLab) -> None:
    lab.registrar.note(at(A, 1))
    lab.pass_time(0.9)
    lab.registrar.note(at(A, 2), at(B, 3))
    assert lab.on_disk() == {}
    assert lab.pass_time(0.1)
    assert lab.on_disk() == {"a": 2, "b": 3}
    assert lab.flushes() == 1
    assert lab.saved == 0


def test_a_note_is_written_at_once_for_a_kill_not_to_take_it(lab: RegistrarLab) -> None:
    lab.registrar.note(at(A, 1))
    lab.registrar.note(at(A, 2))
    assert lab.registrar.step()
    assert (lab.on_disk(), lab.after_kill()) == ({}, {"a": 2})
    assert lab.flushes() == 0
    assert not lab.registrar.step()
    lab.registrar.remove("a")
    lab.registrar.note(at(B, 3))
    assert not lab.pass_time(MIN_PAUSE / 2)
    assert lab.pass_time(MIN_PAUSE / 2)
    assert (lab.on_disk(), lab.after_kill()) == ({}, {"b": 3})


def test_a_disk_that_refuses_such_a_write_is_not_asked_for_another_before_the_flush(
    lab: RegistrarLab, caplog: pytest.LogCaptureFixture
) -> None:
    lab.disk.is_full = True
    lab.registrar.note(at(A, 1))
    assert lab.registrar.step()
    lab.registrar.note(at(A, 2))
    lab.disk.is_full = False
    assert not lab.pass_time(0.9)
    assert (lab.after_kill(), caplog.records) == ({}, [])
    assert lab.pass_time(0.1)
    lab.registrar.note(at(A, 3))
    assert lab.pass_time(MIN_PAUSE)
    assert (lab.on_disk(), lab.after_kill()) == ({"a": 2}, {"a": 3})


def test_a_note_after_a_flush_waits_for_an_interval_of_its_own(lab: RegistrarLab) -> None:
    lab.registrar.note(at(A, 1))
    lab.pass_time(1)
    lab.registrar.note(at(A, 2))
    lab.pass_time(0.9)
    assert lab.on_disk() == {"a": 1}
    assert lab.pass_time(0.1)
    assert lab.on_disk() == {"a": 2}


def test_the_last_call_for_an_id_wins_whatever_it_was(lab: RegistrarLab) -> None:
    lab.registrar.note(at(A, 1))
    lab.registrar.remove("a")
    lab.registrar.remove("b")
    lab.registrar.note(at(B, 2))
    lab.pass_time(1)
    assert lab.on_disk() == {"b": 2}
    lab.registrar.remove("b")
    lab.pass_time(1)
    assert lab.on_disk() == {}


def test_an_urgent_save_is_written_at_once_with_all_that_waits_by_one_fsync(lab: RegistrarLab) -> None:
    lab.registrar.note(at(A, 1))
    first = lab.registrar.save([at(B, 2)])
    second = lab.registrar.save([])
    assert not first.done
    assert lab.registrar.step()
    assert lab.flushes() == 1
    assert first.done
    assert second.wait(0)
    assert lab.on_disk() == {"a": 1, "b": 2}
    assert lab.saved == 1


def test_a_save_of_nothing_new_is_done_as_well(lab: RegistrarLab) -> None:
    ticket = lab.registrar.save([])
    lab.registrar.step()
    assert ticket.done


def test_a_disk_that_refuses_is_asked_again_each_second_and_then_gets_the_newest(lab: RegistrarLab) -> None:
    lab.disk.is_full = True
    ticket = lab.registrar.save([at(A, 1), at(B, 1)])
    assert lab.registrar.step()
    assert not lab.registrar.step()
    lab.registrar.note(at(A, 2))
    second = lab.registrar.save([])
    assert not lab.pass_time(0.9)
    assert lab.pass_time(0.1)
    assert lab.registrar.saves.failed == 2
    assert not ticket.done
    lab.disk.is_full = False
    assert lab.pass_time(1)
    assert ticket.done
    assert second.done
    assert lab.on_disk() == {"a": 2, "b": 1}
    assert lab.saved == 1


def test_a_disk_that_refuses_is_reported_at_most_once_a_minute(
    lab: RegistrarLab, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    lab.disk.is_full = True
    lab.registrar.note(A)
    for _ in range(61):
        lab.pass_time(1)
    first, second = caplog.messages
    assert first == second
    assert f"registry {lab.place}: " in first
    assert "No space left on device (ENOSPC); free some space there" in first
    assert "New files are not read until then" in first
    assert (lab.registrar.saves.ok, lab.registrar.saves.failed, lab.registrar.saves.is_failing) == (0, 61, True)
    lab.disk.is_full = False
    lab.pass_time(1)
    assert caplog.messages[2:] == [f"registry {lab.place}: saved again"]
    assert (lab.registrar.saves.ok, lab.registrar.saves.is_failing) == (1, False)
    lab.disk.is_full = True
    lab.registrar.note(A)
    lab.pass_time(1)
    assert len(caplog.messages) == 4  # a new trouble is told at once


def test_what_waits_is_bounded_by_the_number_of_files(lab: RegistrarLab) -> None:
    lab.disk.is_full = True
    for position in range(1000):
        lab.registrar.note(at(A, position))
        lab.pass_time(1)
    lab.disk.is_full = False
    lab.pass_time(1)
    assert lab.on_disk() == {"a": 999}


def test_the_states_are_those_that_were_loaded(lab: RegistrarLab) -> None:
    lab.registrar.save([at(A, 1)])
    lab.registrar.step()
    assert lab.registrar.states == {}
    assert Registrar(lab.store).states == {"a": at(A, 1)}


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


def test_closing_a_registrar_that_was_never_started_writes_what_waits(lab: RegistrarLab) -> None:
    lab.registrar.note(at(A, 5))
    assert lab.registrar.close(FOREVER)
    assert lab.on_disk() == {"a": 5}


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
    assert "stopped because of an internal error" in caplog.text


def test_the_line_about_a_disk_that_refuses_has_what_to_do(lab: RegistrarLab, caplog: pytest.LogCaptureFixture) -> None:
    lab.disk.fail_next(errno.EIO, operation="sync")
    lab.registrar.note(A)
    lab.pass_time(1)
    assert "Input/output error (EIO); check the disk and the kernel's log" in caplog.text


def test_a_disk_that_refuses_to_recreate_a_registry_that_was_removed_is_reported_and_retried(
    lab: RegistrarLab, caplog: pytest.LogCaptureFixture
) -> None:
    lab.registrar.note(at(A, 5))
    lab.pass_time(1)
    lab.disk.lose(DATABASE)
    lab.disk.fail_next(errno.ENOSPC)
    lab.registrar.check_place()
    assert "cannot save positions: No space left" in caplog.text
    lab.registrar.check_place()
    assert lab.on_disk() == {"a": 5}


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
    assert "was replaced while in use" in caplog.text
    assert "Traceback" not in caplog.text


def test_saves_are_counted_with_the_time_of_the_fsync(lab: RegistrarLab) -> None:
    lab.registrar.note(A)
    assert lab.pass_time(2)
    saves = lab.registrar.saves
    assert (saves.ok, saves.failed, saves.is_failing, lab.registrar.entries) == (1, 0, False, 1)
    assert saves.fsync.distribution().count == 1
