from __future__ import annotations

import errno
import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from log_shipper.registry.errors import RegistryCorrupt, RegistryForeignVersion, RegistryLocked, RegistryReplaced
from log_shipper.registry.files import DiskFiles
from log_shipper.registry.load import DATABASE, LOG, NEW, read
from log_shipper.registry.state import FileState
from log_shipper.registry.store import MAX_UNFLUSHED, Store
from tests.crashing_database import CrashingDatabase, filled
from tests.crashing_files import Crash

A = FileState("a", "/logs/a", 1, 2, position=10)
B = FileState("b", "/logs/b", 1, 3, position=20)
FURTHER = replace(A, position=99)
MOVED = replace(B, position=30)
BOTH = {"a": A, "b": B}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "registry"


def opened(place: Path, *states: FileState) -> Store:
    store = Store.open(place, DiskFiles())
    store.write(states)
    return store


def reopened(place: Path) -> dict[str, FileState]:
    with closing(Store.open(place, DiskFiles())) as store:
        return store.states


def after_kill(place: Path) -> dict[str, FileState]:
    """As another process loads it that begins now."""
    copy = place.with_name("copy")
    return reopened(filled(copy, {path.name: path.read_bytes() for path in place.iterdir() if path.name != "lock"}))


def after_power_failure(place: Path) -> dict[str, FileState]:
    """With the database alone: the worst that can happen to a log that was not synced."""
    return read(filled(place.with_name("copy"), {DATABASE: (place / DATABASE).read_bytes()}))


def test_where_there_is_no_registry_nothing_is_read_and_a_new_one_is_empty(place: Path) -> None:
    assert read(place) == {}
    assert not place.exists()
    with closing(opened(place)) as store:
        assert (store.states, store.is_new) == ({}, True)
    assert read(place) == {}


def test_a_registry_in_which_anything_was_written_is_not_new(place: Path) -> None:
    opened(place).close()
    store = opened(place, A)
    assert store.is_new
    store.write([], ["a"])
    store.close()
    with closing(opened(place)) as store:
        assert (store.states, store.is_new) == ({}, False)


def test_what_is_written_is_there_after_opening_again(place: Path) -> None:
    store = opened(place, A, B)
    store.write([replace(A, position=11)], removed=["b"])
    expected = {"a": replace(A, position=11)}
    assert store.states == read(place) == after_power_failure(place) == after_kill(place) == expected
    store.close()
    assert {path.name for path in place.iterdir()} == {"lock", DATABASE}
    assert reopened(place) == expected


def test_a_write_of_nothing_does_not_touch_the_disk(place: Path) -> None:
    disk = CrashingDatabase(place)
    with closing(Store.open(place, disk)) as store:
        before = len(disk.trace)
        store.write([])
        assert len(disk.trace) == before


def test_what_is_recent_is_there_after_a_kill_and_on_disk_after_opening_again(place: Path, tmp_path: Path) -> None:
    with closing(opened(place, A, B)) as store:
        store.write_recent([replace(A, position=50)])
        store.write_recent([FURTHER], ["b"])
        assert read(place) == {"a": FURTHER}
        assert after_power_failure(place) == BOTH
        files = {path.name: path.read_bytes() for path in place.iterdir() if path.name != "lock"}
    killed = filled(tmp_path / "killed", files)
    with closing(Store.open(killed, DiskFiles())) as store:
        assert store.states == after_power_failure(killed) == {"a": FURTHER}


def test_what_is_recent_is_flushed_when_it_is_very_much(place: Path) -> None:
    with closing(opened(place)) as store:
        many = [replace(A, id=str(number)) for number in range(MAX_UNFLUSHED + 1)]
        store.write_recent(many[:-1])
        assert after_power_failure(place) == {}
        store.write_recent(many[-1:])
        assert len(after_power_failure(place)) == len(many)


def test_a_full_disk_does_not_keep_it_from_opening_and_the_next_write_has_what_is_recent(place: Path) -> None:
    with closing(opened(place, A, B)) as store:
        store.write_recent([FURTHER], ["b"])
        files = {path.name: path.read_bytes() for path in place.iterdir() if path.name != "lock"}
    disk = CrashingDatabase(filled(place, files))
    disk.is_full = True
    with closing(Store.open(place, disk)) as store:
        assert store.states == {"a": FURTHER}
        with pytest.raises(OSError, match="No space left") as caught:
            store.write([replace(A, id="c")])
        assert caught.value.errno == errno.ENOSPC
        disk.is_full = False
        store.write([replace(A, id="c")])
        assert after_power_failure(place).keys() == {"a", "c"}


def test_a_write_that_found_no_room_counts_for_nothing(place: Path) -> None:
    disk = CrashingDatabase(place)
    with closing(Store.open(place, disk)) as store:
        disk.is_full = True
        for _ in range(3):
            with pytest.raises(OSError, match="No space left"):
                store.write([A])
        assert store.states == {}
        disk.is_full = False
        store.write([B])
        assert after_power_failure(place) == {"b": B}


def test_after_a_failed_fsync_the_next_write_makes_a_new_database_before_anything_counts(place: Path) -> None:
    disk = CrashingDatabase(place)
    with closing(Store.open(place, disk)) as store:
        store.write([A])
        inode = (place / DATABASE).stat().st_ino
        store.write_recent([FURTHER])  # writes the head of the log, with a sync of its own
        disk.fail_next(errno.EIO, operation="sync")
        with pytest.raises(OSError, match="Input/output error") as caught:
            store.write([B])
        assert caught.value.errno == errno.EIO
        disk.trace.clear()
        store.write([B])
        assert "fsync_dir" in disk.trace
        assert (place / DATABASE).stat().st_ino != inode
        assert after_power_failure(place) == {"a": FURTHER, "b": B}
        disk.trace.clear()
        store.write([MOVED])
        assert "fsync_dir" not in disk.trace


def test_a_program_that_reads_delays_no_write_and_keeps_it_from_no_power_failure(place: Path, tmp_path: Path) -> None:
    disk = CrashingDatabase(place)
    with closing(Store.open(place, disk)) as store, closing(disk.connect(place / DATABASE)) as reader:
        store.write([A])
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM files").fetchone() == (1,)
        store.write([B])
        assert reader.execute("SELECT count(*) FROM files").fetchone() == (1,)
        for files in disk.survivors():
            assert read(filled(tmp_path / "survivor", files)) == BOTH


def test_a_program_that_reads_for_very_long_does_not_let_the_log_grow_without_bound(
    place: Path,
) -> None:
    with closing(opened(place, A, B)) as store, closing(sqlite3.connect(place / DATABASE)) as reader:
        store.max_log_pages = 20
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM files").fetchone()
        for position in range(100):
            store.write([replace(A, position=position)])
            assert (place / LOG).stat().st_size < 200_000
        assert after_kill(place)["a"].position == 99
        assert reader.execute("SELECT max(position) FROM files").fetchone() == (20,)


def test_a_program_that_has_it_locked_is_reported_and_waited_for(place: Path) -> None:
    with closing(opened(place, A)) as store:
        with closing(sqlite3.connect(place / DATABASE, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(OSError, match="database is locked") as caught:
                store.write([B])
            assert caught.value.errno == errno.EBUSY
        store.write([B])
        assert after_power_failure(place) == BOTH


@pytest.mark.parametrize("content", [b"", b"rubbish", b"SQLite format 3\0" + 4080 * b"\0"])
def test_a_database_that_is_none_is_an_error_that_names_it_and_gives_the_lock_back(content: bytes, place: Path) -> None:
    place.mkdir()
    (place / DATABASE).write_bytes(content)
    for use in (read, reopened):
        with pytest.raises(RegistryCorrupt, match=f"Restore {place} from a backup") as caught:
            use(place)
        assert caught.value.file == place / DATABASE
    assert (place / DATABASE).read_bytes() == content
    DiskFiles().lock(place).close()


def test_a_missing_database_is_an_error_and_never_a_start_at_zero(place: Path) -> None:
    with closing(opened(place, A)) as store:
        store.write_recent([B])
        log = (place / LOG).read_bytes()
    shutil.rmtree(place)
    filled(place, {LOG: log})
    for use in (read, reopened):
        with pytest.raises(RegistryCorrupt, match=f"missing, but {LOG} exists"):
            use(place)


def test_a_registry_of_another_release_is_refused_and_left_as_it_is(place: Path) -> None:
    opened(place, A).close()
    with closing(sqlite3.connect(place / DATABASE)) as connection:
        connection.execute("UPDATE registry SET version = 6")
        connection.commit()
    content = (place / DATABASE).read_bytes()
    for use in (read, reopened):
        with pytest.raises(RegistryForeignVersion) as caught:
            use(place)
        assert str(caught.value) == (
            f"registry file {place / DATABASE} has format version 6; this release supports only version 5. Run the "
            f"release that wrote it, or move {place} away to start without positions (all files are then shipped "
            "again from the start)"
        )
    assert (place / DATABASE).read_bytes() == content


def test_a_new_database_that_a_crash_left_whole_takes_the_place_of_the_other(place: Path) -> None:
    opened(place, A, B).close()
    (place / DATABASE).rename(place / NEW)
    opened_store = opened(place.with_name("older"), A)
    opened_store.close()
    shutil.copy(place.with_name("older") / DATABASE, place / DATABASE)
    (place / LOG).write_bytes(b"of the other")
    assert read(place) == BOTH
    assert reopened(place) == BOTH
    assert not (place / NEW).exists()


@pytest.mark.parametrize("names", [None, [DATABASE], [LOG], [DATABASE, LOG]])
def test_a_registry_that_is_removed_while_it_is_used_is_made_again_with_all_that_it_had(
    names: list[str] | None, place: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with closing(opened(place, A, B)) as store:
        for _ in range(2):
            remove(place, names)
            store.write_recent([replace(A, position=7)])  # into nothing
            store.write([MOVED])
            assert after_kill(place) == {"a": A, "b": MOVED}
            (message,) = caplog.messages
            assert f"registry {place} was removed while in use; re-created with all 2" in message
            caplog.clear()
        with pytest.raises(RegistryLocked):
            Store.open(place, DiskFiles())


def remove(place: Path, names: list[str] | None) -> None:
    if names is None:
        shutil.rmtree(place)
    for name in names or ():
        (place / name).unlink()


class Removed(Store):
    """One whose directory is removed right behind its next flush."""

    removing = False

    def _flush(self) -> None:
        super()._flush()
        if self.removing:
            self.removing = False
            shutil.rmtree(self.directory)


def test_a_removal_while_a_change_is_written_loses_nothing_of_it(place: Path) -> None:
    with closing(Removed.open(place, DiskFiles())) as store:
        store.write([A])
        store.removing = True
        store.write([B])
        assert after_power_failure(place) == BOTH


def test_that_is_noticed_also_when_nothing_is_to_be_written(place: Path) -> None:
    with closing(opened(place, A, B)) as store:
        shutil.rmtree(place)
        store.ensure_in_place()
        assert after_kill(place) == BOTH
        inode = (place / DATABASE).stat().st_ino
        store.ensure_in_place()
        assert (place / DATABASE).stat().st_ino == inode


@pytest.mark.parametrize("names", [[DATABASE], [LOG], [DATABASE, LOG]])
def test_making_it_again_may_fail_at_any_operation_and_is_repeated(names: list[str], tmp_path: Path) -> None:
    for number in range(1, 60):
        disk = CrashingDatabase(tmp_path / str(number))
        with closing(Store.open(disk.directory, disk)) as store:
            store.write([A, B])
            disk.lose(*names)
            disk.fail_at = {len(disk.trace) + number: errno.ENOSPC}
            try:
                store.write([MOVED])
            except OSError:
                store.write([MOVED])
            else:
                if number > 20:
                    break
            assert after_kill(disk.directory) == {"a": A, "b": MOVED}, disk.trace
    assert number < 59


def fail_to_write(store: Store) -> None:
    with pytest.raises(OSError, match="Input/output error"):
        store.write([MOVED])


def write_and_close(store: Store) -> None:
    store.write([MOVED])
    store.close()


def open_and_close(store: Store) -> None:
    Store.open(store.directory, store._files).close()


@pytest.mark.parametrize(
    ("operation", "fail", "repair"),
    [
        ("sync", fail_to_write, write_and_close),
        ("truncate", fail_to_write, write_and_close),
        ("sync", fail_to_write, Store.close),
        ("sync", Store.close, open_and_close),
    ],
)
def test_a_crash_after_an_error_that_leaves_doubts_loses_nothing(
    operation: str, fail: Callable[[Store], None], repair: Callable[[Store], None], tmp_path: Path
) -> None:
    """The database has another layout than a new one, because entries were removed: its log would damage that."""
    entries = {str(number): replace(A, id=str(number), path="/logs/" + 200 * "x") for number in range(60)}
    for number in range(1, 60):
        disk = CrashingDatabase(tmp_path / str(number))
        store = Store.open(disk.directory, disk)
        store.write([*entries.values(), *(replace(A, id=f"{file_id}a") for file_id in entries)])
        store.write([B], [f"{file_id}a" for file_id in entries])
        store.write_recent([replace(MOVED, id="0"), MOVED])
        disk.fail_next(errno.EIO, operation)
        fail(store)
        disk.crash_at = len(disk.trace) + number
        try:
            repair(store)
        except Crash:
            for files in disk.survivors():
                survivor = read(filled(tmp_path / "survivor", files))
                assert survivor.pop("0") in (entries["0"], replace(MOVED, id="0"))
                assert survivor.pop("b") in (B, MOVED)
                assert survivor == {file_id: state for file_id, state in entries.items() if file_id != "0"}
            disk.release()
        else:
            break
    assert number < 59


def test_what_belongs_beside_the_directory_is_made_again_first(place: Path) -> None:
    made: list[bool] = []
    with closing(Store.open(place, DiskFiles(), before_recreating=lambda: made.append(place.exists()))) as store:
        store.write([MOVED])
        assert made == []
        shutil.rmtree(place)
        store.write([MOVED])
        assert made == [False]


def test_where_a_second_writer_began_there_meanwhile_the_first_gives_way(place: Path) -> None:
    store = opened(place, A, B)
    shutil.rmtree(place)
    with closing(opened(place)) as second:
        with pytest.raises(RegistryReplaced, match=f"process {os.getpid()} is writing to it. This process ends"):
            store.write([MOVED])
        second.write_recent([A])
        store.close()  # which leaves the log of the other alone
        assert after_kill(place) == {"a": A}


@pytest.mark.parametrize("names", [None, [DATABASE, LOG]])
def test_a_registry_of_another_in_its_place_is_left_as_it_is(names: list[str] | None, place: Path) -> None:
    """A backup was restored, or a second writer has come and gone."""
    backup = place.with_name("backup")
    opened(backup, A, B).close()
    with closing(opened(place, A, MOVED)) as store:
        remove(place, names)
        place.mkdir(exist_ok=True)
        shutil.copy(backup / DATABASE, place / DATABASE)
        with pytest.raises(RegistryReplaced, match="is another file now"):
            store.write([MOVED])
    assert read(place) == BOTH
