"""A program of writes and restarts, stopped at every operation on the disk, and at every fault of it."""

from __future__ import annotations

import errno
import itertools
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from log_shipper.registry.load import DATABASE, LOG, read
from log_shipper.registry.state import FileState
from log_shipper.registry.store import Store
from tests.crashing_database import CrashingDatabase, filled
from tests.crashing_files import Crash

ROOT = Path(__file__).parents[2]

# An id with its new position, or None for its removal.
Step = dict[str, int | None]


class Recent(Step):
    """Not to be on disk yet; the next step has it too."""


PROGRAM: tuple[Step | None, ...] = (
    {"a": 10},
    {"a": 20, "b": 5},
    Recent(a=24, b=6),
    Recent(a=25),
    {"c": 1},
    Recent(a=26),
    {"b": None},
    None,  # restart
    {"c": 7, "d": 1},
    Recent(d=3, c=None),
    None,
    {"a": 40},
)


def state(file_id: str, position: int) -> FileState:
    return FileState(id=file_id, path=f"/logs/{file_id}" + 800 * "\udcff", device=1, inode=2, position=position)


def changes(step: Step) -> tuple[list[FileState], list[str]]:
    changed = [state(file_id, position) for file_id, position in step.items() if position is not None]
    return changed, [file_id for file_id, position in step.items() if position is None]


def positions(states: Mapping[str, FileState]) -> dict[str, int]:
    return {file_id: state.position for file_id, state in states.items()}


class Run:
    """Runs PROGRAM, and records the state after each write, and which of them returned."""

    def __init__(self, disk: CrashingDatabase) -> None:
        self.disk = disk
        self.history: list[dict[str, int]] = [{}]
        self.returned = 0
        self.written = 0  # as far as a kill does not matter
        self._unsaved = Step()
        self._is_refused = False

    def run(self) -> None:
        store = self._retry_open()
        for step in PROGRAM:
            if step is None:
                store.close()
                store = self._retry_open()
            elif isinstance(step, Recent):
                self._write_recent(store, step)
            else:
                self._write(store, step)
        store.close()

    def _retry_open(self) -> Store:
        while True:
            try:
                return Store.open(self.disk.directory, self.disk)
            except OSError:
                pass

    def _record(self, step: Step) -> None:
        after = dict(self.history[-1])
        for file_id, position in step.items():
            if position is None:
                after.pop(file_id)
            else:
                after[file_id] = position
        self.history.append(after)
        self._unsaved |= step

    def _write_recent(self, store: Store, step: Step) -> None:
        self._record(step)
        if self._is_refused:
            return
        try:
            store.write_recent(*changes(step))
        except OSError:
            self._is_refused = True
        else:
            self.written = len(self.history) - 1

    def _write(self, store: Store, step: Step) -> None:
        self._record(step)
        while True:
            try:
                store.write(*changes(self._unsaved))
            except OSError:
                continue
            break
        self.returned = self.written = len(self.history) - 1
        self._unsaved, self._is_refused = Step(), False

    def allowed(self, *, killed: bool = False) -> list[dict[str, int]]:
        """Return what may exist after a power failure, or after the process was killed."""
        return self.history[self.written if killed else self.returned :]


class Place:
    """Runs the program on one disk after the other."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._numbers = itertools.count()

    def fresh(self) -> Path:
        return self._directory / str(next(self._numbers))

    def crashed(self, crash_at: int | None, fail_at: dict[int, int] | None = None) -> Run | None:
        """Return the run that crashed, None if the program ended before operation `crash_at`."""
        run = Run(CrashingDatabase(self.fresh(), crash_at, fail_at))
        try:
            run.run()
        except Crash:
            run.disk.release()
            return run
        assert positions(read(run.disk.directory)) == run.history[-1]
        return None

    def all_crashes(self) -> Iterator[Run]:
        for crash_at in itertools.count(1):
            run = self.crashed(crash_at)
            if run is None:
                assert crash_at > 100, "the program is too short to be meaningful"
                return
            yield run

    def outcomes(self, disk: CrashingDatabase) -> Iterator[dict[str, int]]:
        """Yield what is loaded after each power failure that is possible."""
        for files in disk.survivors():
            yield positions(read(filled(self._directory / "survivor", files)))

    def killed(self, disk: CrashingDatabase) -> dict[str, int]:
        return positions(read(disk.killed(self._directory / "killed")))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_after_a_crash_at_any_operation_every_disk_loads_with_what_was_saved(place: Place) -> None:
    for run in place.all_crashes():
        for outcome in place.outcomes(run.disk):
            assert outcome in run.allowed(), run.disk.trace
        assert place.killed(run.disk) in run.allowed(killed=True), run.disk.trace


def test_a_registry_that_survived_a_crash_opens_and_what_it_shows_then_survives_another(place: Place) -> None:
    for run in place.all_crashes():
        for files in (*itertools.islice(run.disk.survivors(), 0, None, 5), None):
            where = place.fresh()
            again = CrashingDatabase(filled(where, files) if files is not None else run.disk.killed(where))
            store = Store.open(where, again)
            shown = positions(store.states)
            assert shown in run.allowed()
            assert all(outcome == shown for outcome in place.outcomes(again)), run.disk.trace
            store.write([state("new", 1)])
            assert all(outcome == shown | {"new": 1} for outcome in place.outcomes(again)), run.disk.trace
            store.close()


def test_a_crash_while_a_crashed_registry_is_opened_loses_nothing(place: Place) -> None:
    for run in itertools.islice(place.all_crashes(), 0, None, 3):
        for crash_at in itertools.count(1):
            where = place.fresh()
            again = CrashingDatabase(run.disk.killed(where), crash_at)
            try:
                Store.open(where, again).close()
            except Crash:
                again.release()
                assert all(outcome in run.allowed() for outcome in place.outcomes(again)), run.disk.trace
                assert place.killed(again) in run.allowed(killed=True)
            else:
                break


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_after_any_one_failed_operation_the_program_continues_and_any_later_crash_loses_nothing(
    code: int, place: Place
) -> None:
    whole = Run(CrashingDatabase(place.fresh()))
    whole.run()
    for fail_at in range(1, len(whole.disk.trace) + 1):
        for crash_at in (fail_at + 1, fail_at + 12, None):  # later ones cannot hit what the fault left
            run = place.crashed(crash_at, {fail_at: code})
            if run is None:
                break
            for outcome in place.outcomes(run.disk):
                assert outcome in run.allowed(), (fail_at, run.disk.trace)
            assert place.killed(run.disk) in run.allowed(killed=True), (fail_at, run.disk.trace)


WRITER = """
import sys, itertools
from pathlib import Path
from log_shipper.registry.files import DiskFiles
from log_shipper.registry.state import FileState
from log_shipper.registry.store import Store
store = Store.open(Path(sys.argv[1]), DiskFiles())
for position in itertools.count(1):
    states = [FileState("a", "/a", 1, 2, position=position), FileState("b", "/b", 1, 3, position=position)]
    (store.write if position % 5 else store.write_recent)(states)
    print(position, flush=True)
"""


def writer(place: Path) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", WRITER, str(place)], cwd=ROOT, stdout=subprocess.PIPE, text=True)


def test_a_writer_that_is_killed_leaves_a_registry_with_what_it_reported(tmp_path: Path) -> None:
    for round_ in range(4):
        process = writer(tmp_path / "registry")
        assert process.stdout is not None
        reported = [process.stdout.readline() for _ in range(20 + 6 * round_)]
        process.send_signal(signal.SIGKILL)
        reported += process.stdout.readlines()
        process.wait()
        process.stdout.close()
        complete = [line for line in reported if line.endswith("\n")]
        states = read(tmp_path / "registry")
        assert states["a"].position == states["b"].position
        assert int(complete[-1]) <= states["a"].position <= int(complete[-1]) + 1


def test_reading_while_a_writer_begins_writes_and_flushes_always_shows_a_state_that_was_saved(tmp_path: Path) -> None:
    with writer(tmp_path / "registry") as process:
        last = 0
        while last < 100:
            saved = positions(read(tmp_path / "registry"))
            assert saved.get("a", 0) == saved.get("b", 0)
            assert saved.get("a", 0) >= last
            last = saved.get("a", 0)
        process.kill()


LIMITED = """
import resource, sys
from pathlib import Path
from log_shipper.registry.files import DiskFiles
from log_shipper.registry.state import FileState
from log_shipper.registry.store import Store
store = Store.open(Path(sys.argv[1]), DiskFiles())
store.write([FileState("a", "/a", 1, 2, position=1)])
resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, resource.RLIM_INFINITY))
big = [FileState("b%d" % n, "/b" * 400, 1, 3, position=5) for n in range(100)]
for attempt in range(3):
    try:
        store.write(big)
    except OSError as error:
        print(error.errno)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
store.write([FileState("a", "/a", 1, 2, position=2)])
"""


def test_a_real_file_system_that_takes_only_a_part_of_a_write_does_no_harm(tmp_path: Path) -> None:
    command = [sys.executable, "-c", LIMITED, str(tmp_path / "registry")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(errno.EIO)] * 3
    assert positions(read(tmp_path / "registry")) == {"a": 2}


def test_a_copy_of_the_files_at_any_instant_is_a_registry(tmp_path: Path) -> None:
    place = tmp_path / "registry"
    with writer(place) as process:
        assert process.stdout is not None
        for _ in range(30):
            reported = int(process.stdout.readline())
            process.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, process.pid, os.WSTOPPED)
            files = {name: (place / name).read_bytes() for name in (DATABASE, LOG)}
            process.send_signal(signal.SIGCONT)
            assert positions(read(filled(tmp_path / "copy", files)))["a"] >= reported
        process.kill()
