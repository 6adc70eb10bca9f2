"""A program of appends, checkpoints and restarts, stopped at every operation on the disk, and at every fault of it."""

from __future__ import annotations

import dataclasses
import errno
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from log_shipper.registry.errors import RegistryCorrupt
from log_shipper.registry.files import DiskFiles
from log_shipper.registry.state import FileState
from log_shipper.registry.store import Store, read
from tests.crashing_files import Crash, CrashingFiles

HERE = Path("/registry")
LOG = HERE / "log.ndjson"
CHECKPOINT = HERE / "checkpoint.ndjson"
ROOT = Path(__file__).parents[2]

# An id with its new position, or None for its removal; one group a step.
Step = dict[str, int | None]


class Recent(Step):
    """Written at once; the next step's group has it too."""


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
    {"a": 30, "d": 2, "c": 8},
    Recent(d=3, c=None),
    None,  # killed: what is recent is in no group yet
    {"e": 9},
    None,
    {"a": 40},
)


def state(file_id: str, position: int) -> FileState:
    return FileState(id=file_id, path=f"/logs/{file_id}" + 8 * "\udcff", device=1, inode=2, position=position)


def changes(step: Step) -> tuple[list[FileState], list[str]]:
    changed = [state(file_id, position) for file_id, position in step.items() if position is not None]
    return changed, [file_id for file_id, position in step.items() if position is None]


def positions(states: dict[str, FileState]) -> dict[str, int]:
    return {file_id: state.position for file_id, state in states.items()}


class Run:
    """Runs PROGRAM, and records the state after each append, and which append returned."""

    def __init__(self, files: CrashingFiles) -> None:
        self.files = files
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
                self._append(store, step)
        store.close()

    def _retry_open(self) -> Store:
        while True:
            try:
                return Store.open(HERE, self.files, checkpoint_after=3)
            except OSError:
                self.files.locked = False

    def _record(self, step: Step) -> None:
        after = dict(self.history[-1])
        for file_id, position in step.items():
            if position is None:
                after.pop(file_id)
            else:
                after[file_id] = position
        self.history.append(after)

    def _write_recent(self, store: Store, step: Step) -> None:
        self._record(step)
        self._unsaved |= step
        if self._is_refused:
            return
        try:
            store.write_recent(*changes(step))
        except OSError:
            self._is_refused = True
        else:
            self.written = len(self.history) - 1

    def _append(self, store: Store, step: Step) -> None:
        self._record(step)
        changed, removed = changes(self._unsaved | step)
        while True:
            try:
                store.append(changed, removed)
            except OSError:
                # The group that is tried again is shorter: remains of the first one would be seen behind it.
                changed = [dataclasses.replace(state, path="/short") for state in changed]
                continue
            break
        self.returned = self.written = len(self.history) - 1
        self._unsaved, self._is_refused = Step(), False

    def allowed(self, *, killed: bool = False) -> list[dict[str, int]]:
        """What may be there after a power failure, or after the process was killed."""
        return self.history[self.written if killed else self.returned :]


def crashed(crash_at: int, fail_at: dict[int, int] | None = None) -> Run | None:
    """Return the run that crashed, None if the program ended before operation `crash_at`."""
    run = Run(CrashingFiles(crash_at, fail_at))
    try:
        run.run()
    except Crash:
        return run
    assert positions(read(HERE, run.files)) == run.history[-1]
    return None


def all_crashes() -> Iterator[Run]:
    crash_at = 1
    while (run := crashed(crash_at)) is not None:
        yield run
        crash_at += 1
    assert crash_at > 50, "the program is too short to be meaningful"


def after_power_failure(disk: CrashingFiles) -> list[dict[str, int]]:
    return [positions(read(HERE, survivor)) for survivor in disk.survivors()]


def test_after_a_crash_at_any_operation_every_disk_loads_with_what_was_saved() -> None:
    for run in all_crashes():
        for outcome in after_power_failure(run.files):
            assert outcome in run.allowed(), run.files.trace
        assert positions(read(HERE, run.files)) in run.allowed(killed=True), run.files.trace


def test_a_registry_that_survived_a_crash_opens_and_keeps_what_is_appended() -> None:
    for run in all_crashes():
        for survivor in (*run.files.survivors(), run.files.killed()):
            store = Store.open(HERE, survivor, checkpoint_after=3)
            saved = positions(store.states)
            assert saved in run.allowed()
            store.append([state("new", 1)])
            for after in after_power_failure(survivor):
                assert after == saved | {"new": 1}, run.files.trace


def test_a_crash_while_a_crashed_registry_is_opened_loses_nothing() -> None:
    for run in all_crashes():
        for survivor in (*run.files.survivors(), run.files.killed()):
            for crash_at in range(1, 6):
                again = survivor.killed(crash_at)
                try:
                    Store.open(HERE, again)
                except Crash:
                    assert all(outcome in run.allowed() for outcome in after_power_failure(again)), run.files.trace


def test_what_a_store_shows_after_its_writer_was_killed_survives_a_power_failure() -> None:
    for run in all_crashes():
        again = run.files.killed()
        shown = positions(Store.open(HERE, again).states)
        assert all(outcome == shown for outcome in after_power_failure(again)), run.files.trace


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_after_any_one_failed_operation_the_program_continues_and_any_later_crash_loses_nothing(code: int) -> None:
    whole = CrashingFiles()
    Run(whole).run()
    for fail_at in range(1, len(whole.trace) + 1):
        for crash_at in range(fail_at + 1, fail_at + 9):  # later crashes cannot hit what the fault left
            run = crashed(crash_at, {fail_at: code})
            if run is None:
                break
            for outcome in after_power_failure(run.files):
                assert outcome in run.allowed(), (fail_at, run.files.trace)


def test_two_failures_one_after_the_other_lose_nothing() -> None:
    whole = CrashingFiles()
    Run(whole).run()
    for fail_at in range(1, len(whole.trace) + 1):
        failures = {fail_at: errno.EIO, fail_at + 1: errno.EIO}
        for crash_at in (None, *range(fail_at + 2, fail_at + 8)):
            run = Run(CrashingFiles(crash_at, failures))
            with suppress(Crash):
                run.run()
            for outcome in after_power_failure(run.files):
                assert outcome in run.allowed(), (fail_at, run.files.trace)


def written(groups: int = 6, checkpoint: bool = False) -> tuple[CrashingFiles, list[dict[str, int]]]:
    """Return a disk with a log of so many groups, and the state after each group."""
    disk = CrashingFiles()
    store = Store.open(HERE, disk, checkpoint_after=2 if checkpoint else 1000)
    history: list[dict[str, int]] = []
    if checkpoint:
        store.append([state("x", 1), state("x", 2), state("y", 3)])
        assert disk.read(CHECKPOINT) is not None
    history.append(positions(store.states))
    store._checkpoint_due = 1000
    for number in range(1, groups + 1):
        store.append([state("a", number * 10), state(f"f{number}", number)])
        history.append(positions(store.states))
    return disk, history


def loaded(files: dict[Path, bytes | None]) -> dict[str, int] | RegistryCorrupt:
    disk = CrashingFiles()
    for path, data in files.items():
        if data is not None:
            disk.put(path, data)
    try:
        return positions(read(HERE, disk))
    except RegistryCorrupt as error:
        return error


@pytest.mark.parametrize("checkpoint", [False, True])
def test_a_log_cut_at_any_byte_loads_the_groups_before_the_cut(checkpoint: bool) -> None:
    disk, history = written(checkpoint=checkpoint)
    log = disk.read(LOG)
    assert log is not None
    header = log.index(b"\n") + 1
    ends = [header, *(log.index(b"\n", mark) + 1 for mark in _marks(log))]
    for size in range(len(log)):
        result = loaded({LOG: log[:size], CHECKPOINT: disk.read(CHECKPOINT)})
        if size < header:
            assert isinstance(result, RegistryCorrupt)
            assert (result.file, result.offset) == (LOG, 0)
        else:
            assert result == history[sum(end <= size for end in ends) - 1], size


def _marks(log: bytes) -> list[int]:
    return [offset for offset in range(len(log)) if log.startswith(b'{"group":', offset)]


@pytest.mark.parametrize("flip", [0x01, 0x20, 0xFF])
def test_a_flipped_byte_in_the_log_is_an_error_or_costs_the_last_group_only(flip: int) -> None:
    disk, history = written()
    log = disk.read(LOG)
    assert log is not None
    last_group = log.index(b"\n", _marks(log)[-2]) + 1
    for offset in range(len(log)):
        result = loaded({LOG: _flipped(log, offset, flip)})
        if isinstance(result, RegistryCorrupt):
            assert result.file == LOG
            assert result.offset <= offset
        else:
            assert offset >= last_group, offset
            assert result == history[-2]


@pytest.mark.parametrize("flip", [0x01, 0x20, 0xFF])
def test_a_flipped_byte_in_the_checkpoint_is_always_an_error(flip: int) -> None:
    disk, _ = written(checkpoint=True)
    checkpoint = disk.read(CHECKPOINT)
    assert checkpoint is not None
    for offset in range(len(checkpoint)):
        result = loaded({LOG: disk.read(LOG), CHECKPOINT: _flipped(checkpoint, offset, flip)})
        assert isinstance(result, RegistryCorrupt)
        assert result.file == CHECKPOINT
        assert result.offset <= offset


def _flipped(data: bytes, offset: int, flip: int) -> bytes:
    return data[:offset] + bytes([data[offset] ^ flip]) + data[offset + 1 :]


def test_a_checkpoint_cut_at_any_byte_is_an_error() -> None:
    disk, _ = written(checkpoint=True)
    checkpoint = disk.read(CHECKPOINT)
    assert checkpoint is not None
    for size in range(len(checkpoint)):
        assert isinstance(loaded({LOG: disk.read(LOG), CHECKPOINT: checkpoint[:size]}), RegistryCorrupt)


def test_a_damaged_group_before_a_torn_tail_is_an_error() -> None:
    disk, _ = written()
    log = disk.read(LOG)
    assert log is not None
    last = _marks(log)[-1]
    before_last = _marks(log)[-2]
    for torn in range(last + len(b'{"group":6,'), len(log)):
        damaged = _flipped(log[:torn], before_last, 0x01)
        assert isinstance(loaded({LOG: damaged}), RegistryCorrupt)


WRITER = """
import sys, itertools
from pathlib import Path
from log_shipper.registry.files import DiskFiles
from log_shipper.registry.state import FileState
from log_shipper.registry.store import Store
store = Store.open(Path(sys.argv[1]), DiskFiles(), checkpoint_after=5)
for position in itertools.count(1):
    store.append([FileState("a", "/a", 1, 2, position=position), FileState("b", "/b", 1, 3, position=position)])
    print(position, flush=True)
"""


def test_a_writer_that_is_killed_leaves_a_registry_with_what_it_reported(tmp_path: Path) -> None:
    for round_ in range(3):
        process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path / "registry")], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        reported = [process.stdout.readline() for _ in range(20 + 7 * round_)]
        process.send_signal(signal.SIGKILL)
        reported += process.stdout.readlines()
        process.wait()
        process.stdout.close()
        complete = [line for line in reported if line.endswith("\n")]
        states = read(tmp_path / "registry")
        assert states["a"].position == states["b"].position
        assert int(complete[-1]) <= states["a"].position <= int(complete[-1]) + 1


def test_reading_while_a_writer_appends_and_folds_always_shows_a_state_that_was_saved(tmp_path: Path) -> None:
    arguments = [sys.executable, "-c", WRITER, str(tmp_path / "registry")]
    with subprocess.Popen(arguments, cwd=ROOT, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        last = 1
        while last < 100:
            saved = positions(read(tmp_path / "registry"))
            assert saved["a"] == saved["b"]
            assert saved["a"] >= last
            last = saved["a"]
        writer.kill()


LIMITED = """
import resource, sys
from pathlib import Path
from log_shipper.registry.files import DiskFiles
from log_shipper.registry.state import FileState
from log_shipper.registry.store import Store
store = Store.open(Path(sys.argv[1]), DiskFiles())
store.append([FileState("a", "/a", 1, 2, position=1)])
resource.setrlimit(resource.RLIMIT_FSIZE, (700, resource.RLIM_INFINITY))
big = [FileState("b%d" % n, "/b", 1, 3, position=5) for n in range(10)]
for attempt in range(3):
    try:
        store.append(big)
    except OSError as error:
        print(error.errno, (Path(sys.argv[1]) / "log.ndjson").stat().st_size)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
store.append([FileState("a", "/a", 1, 2, position=2)])
"""


def test_a_real_file_system_that_takes_only_a_part_of_a_group_does_no_harm(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path / "registry")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == [str(errno.EFBIG), "700"] * 3
    assert positions(read(tmp_path / "registry")) == {"a": 2}
    store = Store.open(tmp_path / "registry", DiskFiles())
    store.append([dataclasses.replace(store.states["a"], position=3)])
    store.close()
    assert positions(read(tmp_path / "registry")) == {"a": 3}
    assert os.stat(tmp_path / "registry" / "log.ndjson").st_size > 700
