from __future__ import annotations

import errno
import gc
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from log_shipper.registry import form
from log_shipper.registry.errors import RegistryCorrupt, RegistryForeignVersion, RegistryLocked, RegistryReplaced
from log_shipper.registry.state import FileState
from log_shipper.registry.store import Store, read
from tests.crashing_files import Crash, CrashingFiles

HERE = Path("/registry")
LOG = HERE / "log.ndjson"
CHECKPOINT = HERE / "checkpoint.ndjson"
RECENT = HERE / "recent.ndjson"

A = FileState("a", "/logs/a", 1, 2, position=10)
B = FileState("b", "/logs/b", 1, 3, position=20)


def reopened(disk: CrashingFiles, checkpoint_after: int = 1000) -> Store:
    return Store.open(HERE, disk.killed(), checkpoint_after)


def content(disk: CrashingFiles, path: Path) -> bytes:
    data = disk.read(path)
    assert data is not None
    return data


def test_the_garbage_collector_rests_while_entries_are_loaded_and_only_then() -> None:
    disk = CrashingFiles()
    Store.open(HERE, disk).append([replace(A, id=str(number)) for number in range(5000)])
    phases: list[str] = []

    def count(phase: str, info: dict[str, int]) -> None:
        phases.append(phase)

    gc.callbacks.append(count)
    try:
        assert len(read(HERE, disk)) == 5000
    finally:
        gc.callbacks.remove(count)
    assert len(phases) < 4  # some 7 collections otherwise, each of all entries in the end
    assert gc.isenabled()


def test_where_there_is_no_registry_nothing_is_read_and_a_new_one_is_empty() -> None:
    disk = CrashingFiles()
    assert read(HERE, disk) == {}
    assert disk.trace == []
    assert Store.open(HERE, disk).states == {}


def test_what_is_appended_is_there_after_opening_again() -> None:
    disk = CrashingFiles()
    store = Store.open(HERE, disk)
    store.append([A, B])
    store.append([replace(A, position=11)], removed=["b"])
    expected = {"a": replace(A, position=11)}
    assert store.states == expected
    assert reopened(disk).states == expected
    assert read(HERE, disk) == expected


def test_a_group_is_one_write_and_one_fsync() -> None:
    disk = CrashingFiles()
    store = Store.open(HERE, disk)
    before = len(disk.trace)
    store.append([A, B], removed=["c"])
    assert disk.trace[before:] == ["write", "fsync"]


def test_an_append_of_nothing_does_not_touch_the_disk() -> None:
    disk = CrashingFiles()
    store = Store.open(HERE, disk)
    before = len(disk.trace)
    store.append([])
    assert len(disk.trace) == before


def test_a_group_that_found_no_room_counts_for_nothing() -> None:
    disk = CrashingFiles()
    store = Store.open(HERE, disk)
    disk.room = 100
    with pytest.raises(OSError, match="No space left") as caught:
        store.append([A])
    assert caught.value.errno == errno.ENOSPC
    assert store.states == {}
    disk.room = None
    store.append([B])
    assert reopened(disk).states == {"b": B}


def test_a_full_disk_leaves_no_part_of_a_group_before_the_next() -> None:
    disk = CrashingFiles()
    store = Store.open(HERE, disk)
    empty = content(disk, LOG)
    for room in range(0, 200, 20):
        disk.room = room
        with pytest.raises(OSError, match="No space left"):
            store.append([A, B])
    disk.room = None
    store.append([A, B])
    assert content(disk, LOG) == empty + form.group(1, [form.entry(A), form.entry(B)])


def with_recent(*writes: tuple[list[FileState], list[str]]) -> tuple[CrashingFiles, Store]:
    """A disk on which a group has A and B, and these were written since."""
    disk = CrashingFiles()
    store = Store.open(HERE, disk)
    store.append([A, B])
    for changed, removed in writes:
        store.write_recent(changed, removed)
    return disk, store


FURTHER = replace(A, position=99)


def test_what_is_recent_is_there_after_a_kill_and_in_the_log_after_opening_again() -> None:
    disk, _ = with_recent(([replace(A, position=50)], []), ([FURTHER], ["b"]))
    assert read(HERE, disk) == {"a": FURTHER}
    store = Store.open(HERE, disk.killed())
    assert store.states == {"a": FURTHER}
    (survivor, *_) = disk.survivors()
    assert read(HERE, survivor) == {"a": A, "b": B}


def test_opening_a_registry_of_a_killed_process_puts_what_is_recent_on_disk() -> None:
    disk = with_recent(([FURTHER], ["b"]))[0].killed()
    Store.open(HERE, disk)
    assert all(read(HERE, survivor) == {"a": FURTHER} for survivor in disk.survivors())


def test_what_was_recent_then_is_in_one_group_only() -> None:
    store = Store.open(HERE, disk := with_recent(([FURTHER], []))[0].killed())
    store.append([replace(A, position=100)])
    store.append([B])
    assert reopened(disk).states["a"].position == 100


def test_a_full_disk_does_not_keep_it_from_opening_and_the_next_group_has_what_is_recent() -> None:
    disk = with_recent(([FURTHER], ["b"]))[0].killed()
    disk.room = 0
    store = Store.open(HERE, disk)
    assert store.states == {"a": FURTHER}
    disk.room = None
    store.append([replace(A, id="c")])
    assert all(read(HERE, survivor).keys() == {"a", "c"} for survivor in disk.survivors())


def test_what_the_next_group_has_counts_more_than_what_is_recent() -> None:
    disk = with_recent(([FURTHER], ["b"]))[0].killed()
    disk.room = 0
    store = Store.open(HERE, disk)
    disk.room = None
    store.append([B], removed=["a"])
    assert reopened(disk).states == {"b": B}


def test_a_group_makes_what_was_recent_before_it_void() -> None:
    disk, store = with_recent(([FURTHER], []))
    store.append([replace(A, position=100)])
    assert read(HERE, disk)["a"].position == 100
    store.write_recent([replace(A, position=101)])
    assert read(HERE, disk)["a"].position == 101


@pytest.mark.parametrize("keep", [0, 10, -1, -30])
def test_of_what_is_recent_anything_may_be_missing(keep: int) -> None:
    disk, _ = with_recent(([FURTHER], []))
    content(disk, RECENT)
    disk.open(RECENT).truncate(len(content(disk, RECENT)) + keep if keep < 0 else keep)
    assert reopened(disk).states == {"a": A, "b": B}


@pytest.mark.parametrize("line", [b"", b"garbage\n", form.header("log", 1), form.header("recent", 0)])
def test_a_file_that_is_not_what_was_recent_after_the_last_group_is_ignored(line: bytes) -> None:
    disk, store = with_recent()
    store.close()
    disk.open(RECENT, fresh=True).write(line + form.group(2, [form.entry(FURTHER)]))
    assert reopened(disk).states == {"a": A, "b": B}


def test_after_a_write_that_failed_nothing_follows_a_part_of_it() -> None:
    disk, store = with_recent(([replace(A, position=50)], []))
    disk.room = 30
    with pytest.raises(OSError, match="No space left"):
        store.write_recent([FURTHER])
    disk.room = None
    store.write_recent([FURTHER])
    assert read(HERE, disk)["a"].position == 99


def test_nothing_recent_is_written_into_a_registry_that_was_removed_or_replaced() -> None:
    disk, store = with_recent()
    disk.remove()
    Store.open(HERE, disk).write_recent([replace(A, id="other")])
    store.write_recent([FURTHER])
    assert read(HERE, disk).keys() == {"other"}


def test_what_is_recent_is_written_into_the_registry_that_was_re_created() -> None:
    disk, store = with_recent(([replace(A, position=50)], []))
    disk.remove()
    store.ensure_in_place()
    store.write_recent([FURTHER])
    assert read(HERE, disk)["a"].position == 99


def test_a_log_that_is_re_created_makes_what_is_recent_void() -> None:
    disk = CrashingFiles()
    store = Store.open(HERE, disk)
    store.append([A])
    store.write_recent([FURTHER])
    disk.remove(LOG)
    store.append([replace(A, position=100)])
    disk.remove(LOG)
    store.ensure_in_place()  # its group is number 1 again
    assert read(HERE, disk)["a"].position == 100


def test_a_log_that_has_outgrown_the_live_entries_is_folded_into_a_checkpoint() -> None:
    disk = CrashingFiles()
    store = Store.open(HERE, disk, checkpoint_after=3)
    for position in range(4):
        store.append([replace(A, position=position)])
    assert content(disk, LOG) == form.header("log", 4)
    assert content(disk, CHECKPOINT).count(b"\n") == 3  # header, one live entry, closing line
    store.append([B])
    assert reopened(disk).states == {"a": replace(A, position=3), "b": B}


def test_the_log_may_grow_as_long_as_the_live_entries_so_that_cost_follows_change() -> None:
    disk = CrashingFiles()
    store = Store.open(HERE, disk, checkpoint_after=3)
    store.append([replace(A, id=str(number)) for number in range(10)])
    assert disk.read(CHECKPOINT) is None
    store.append([replace(A, id="0", position=11)])
    assert disk.read(CHECKPOINT) is not None


def test_a_checkpoint_that_fails_is_no_failure_of_the_append_and_is_not_tried_at_each_group(
    caplog: pytest.LogCaptureFixture,
) -> None:
    disk = CrashingFiles()
    store = Store.open(HERE, disk, checkpoint_after=3)
    store.append([A, A, A])
    disk.room = len(form.group(2, [form.entry(B)])) + 10
    store.append([B])
    assert "no checkpoint" in caplog.text
    assert content(disk, HERE / "checkpoint.tmp") == b""  # the space was given back
    disk.room = None
    before = len(disk.trace)
    for _ in range(3):
        store.append([B])
    assert disk.trace[before:] == ["write", "fsync"] * 3
    store.append([B])
    assert content(disk, LOG) == form.header("log", 6)


def test_a_torn_tail_is_cut_with_a_warning_that_names_file_offset_and_bytes(caplog: pytest.LogCaptureFixture) -> None:
    disk = CrashingFiles()
    store = Store.open(HERE, disk)
    store.append([A])
    whole = content(disk, LOG)
    disk.put(LOG, whole + form.group(2, [form.entry(B)])[:50])
    again = disk.killed()
    assert Store.open(HERE, again).states == {"a": A}
    assert caplog.messages == [f"{LOG}: cut an unfinished group of 50 bytes at byte {len(whole)}"]
    assert content(again, LOG) == whole


def test_reading_without_the_lock_leaves_a_torn_tail_to_the_writer() -> None:
    disk = CrashingFiles()
    Store.open(HERE, disk).append([A])
    torn = content(disk, LOG) + b'{"id":"b"'
    disk.put(LOG, torn)
    assert read(HERE, disk) == {"a": A}
    assert content(disk, LOG) == torn


def checkpointed() -> CrashingFiles:
    disk = CrashingFiles()
    store = Store.open(HERE, disk, checkpoint_after=1)
    store.append([A, B])
    store.append([A, A, B])
    store.append([replace(A, position=99)])
    assert disk.read(CHECKPOINT) is not None
    return disk


@pytest.mark.parametrize("missing", [LOG, CHECKPOINT])
def test_a_missing_file_is_an_error_and_never_a_start_at_zero(missing: Path) -> None:
    whole = checkpointed()
    disk = CrashingFiles()
    for path in {LOG, CHECKPOINT} - {missing}:
        disk.put(path, content(whole, path))
    with pytest.raises(RegistryCorrupt, match="missing") as caught:
        Store.open(HERE, disk)
    assert caught.value.file == missing
    assert "restore /registry from a backup" in str(caught.value)


def test_a_checkpoint_that_is_older_than_the_log_is_an_error() -> None:
    disk = checkpointed()
    disk.put(CHECKPOINT, form.header("checkpoint", 1) + form.group(1, [form.entry(A)]))
    with pytest.raises(RegistryCorrupt) as caught:
        Store.open(HERE, disk.killed())
    assert caught.value.file == CHECKPOINT


def test_bytes_behind_a_checkpoint_are_an_error() -> None:
    disk = checkpointed()
    size = len(content(disk, CHECKPOINT))
    disk.put(CHECKPOINT, content(disk, CHECKPOINT) + b"\n")
    with pytest.raises(RegistryCorrupt) as caught:
        Store.open(HERE, disk.killed())
    assert (caught.value.file, caught.value.offset) == (CHECKPOINT, size)


def test_a_log_that_ends_before_its_checkpoint_is_begun_again() -> None:
    disk = CrashingFiles()
    disk.put(CHECKPOINT, form.header("checkpoint", 5) + form.group(5, [form.entry(A)]))
    disk.put(LOG, form.header("log", 3) + form.group(4, [form.entry(B)]) + b'{"id":')
    store = Store.open(HERE, disk)
    assert store.states == {"a": A}
    store.append([B])
    assert reopened(disk).states == {"a": A, "b": B}


@pytest.mark.parametrize("version", [form.VERSION - 1, form.VERSION + 1])
@pytest.mark.parametrize(("path", "kind"), [(LOG, b"log"), (CHECKPOINT, b"checkpoint")])
def test_a_registry_of_another_release_is_refused_and_left_as_it_is(path: Path, kind: bytes, version: int) -> None:
    disk = checkpointed().killed()
    foreign = form.sealed(b'{"registry":"%s","version":%d,"group":3' % (kind, version)) + form.group(4, [form.entry(B)])
    disk.put(path, foreign)
    with pytest.raises(RegistryForeignVersion) as caught:
        Store.open(HERE, disk)
    assert str(caught.value) == (
        f"registry file {path} has format version {version}, this release reads version {form.VERSION} only; run the "
        f"release that wrote it, or move {HERE} away to begin without positions (every file is then shipped again from "
        "its start)"
    )
    assert caught.value.file == path
    assert content(disk, path) == foreign
    assert not disk.locked


def test_a_store_that_could_not_be_opened_gives_the_lock_back() -> None:
    disk = CrashingFiles()
    disk.put(LOG, b"rubbish")
    with pytest.raises(RegistryCorrupt):
        Store.open(HERE, disk)
    assert not disk.locked


def test_a_store_holds_the_lock_until_it_is_closed() -> None:
    disk = CrashingFiles()
    store = Store.open(HERE, disk)
    with pytest.raises(RegistryLocked):
        Store.open(HERE, disk)
    store.close()
    Store.open(HERE, disk).close()


class Passing(CrashingFiles):
    """A writer passes by between the reads: each read of the log sees the next of `logs`."""

    def __init__(self, logs: list[bytes]) -> None:
        super().__init__()
        self.logs = logs

    def read(self, path: Path) -> bytes | None:
        if path == LOG and len(self.logs) > 1:
            return self.logs.pop(0)
        return self.logs[0] if path == LOG else super().read(path)


def test_a_reader_reads_again_when_a_writer_swapped_the_files_between_its_reads() -> None:
    whole = form.header("log", 0) + form.group(1, [form.entry(A)])
    disk = Passing([form.header("log", 7), b"", whole])
    assert read(HERE, disk) == {"a": A}


def test_a_reader_reports_damage_that_stays() -> None:
    with pytest.raises(RegistryCorrupt):
        read(HERE, Passing([form.header("log", 7)]))


def settled() -> tuple[CrashingFiles, Store]:
    """Two entries on disk, one of them in a checkpoint."""
    disk = CrashingFiles()
    store = Store.open(HERE, disk, checkpoint_after=1)
    store.append([A, A])
    store.append([B])
    assert (disk.read(CHECKPOINT) is not None, store.states) == (True, {"a": A, "b": B})
    return disk, store


MOVED = replace(B, position=30)


@pytest.mark.parametrize("removed", [[], [LOG], [LOG, CHECKPOINT]])
def test_a_registry_that_is_removed_while_it_is_used_is_made_again_with_all_that_it_had(
    removed: list[Path], caplog: pytest.LogCaptureFixture
) -> None:
    disk, store = settled()
    for _ in range(2):
        disk.remove(*removed)
        store.append([MOVED])
        assert reopened(disk.killed()).states == {"a": A, "b": MOVED}
        (message,) = caplog.messages
        assert f"registry {HERE}: it was removed while this process uses it, and was re-created with all 2" in message
        caplog.clear()
    assert disk.locked


def test_that_is_noticed_also_when_nothing_is_to_be_written() -> None:
    disk, store = settled()
    disk.remove()
    store.ensure_in_place()
    assert reopened(disk.killed()).states == {"a": A, "b": B}
    before = len(disk.trace)
    store.ensure_in_place()
    assert len(disk.trace) == before


def test_a_removal_while_a_group_is_written_loses_nothing_of_it() -> None:
    class Removed(CrashingFiles):
        """It is removed at the next fsync."""

        removing = False

        def operate(self, name: str, partly: Callable[[], None] = lambda: None) -> None:
            super().operate(name, partly)
            if name == "fsync" and self.removing:
                self.removing = False
                self.remove()

    disk = Removed()
    store = Store.open(HERE, disk)
    store.append([A])
    disk.removing = True
    store.append([B])
    assert reopened(disk.killed()).states == {"a": A, "b": B}


@pytest.mark.parametrize("removed", [[], [LOG], [LOG, CHECKPOINT]])
def test_making_it_again_may_fail_at_any_operation_and_is_repeated(removed: list[Path]) -> None:
    for number in range(1, 20):
        disk, store = settled()
        disk.remove(*removed)
        disk._fail_at = {len(disk.trace) + number: errno.ENOSPC}
        try:
            store.write([MOVED])
        except OSError:
            store.write([MOVED])
        else:
            break
        store.checkpoint_if_due()
        store.append([A])
        assert reopened(disk.killed()).states == {"a": A, "b": MOVED}, disk.trace
    assert number > 5


def test_a_crash_while_it_is_made_again_leaves_all_of_it_or_nothing() -> None:
    for number in range(1, 20):
        disk, store = settled()
        disk.remove()
        disk._crash_at = len(disk.trace) + number
        try:
            store.write([MOVED])
        except Crash:
            pass
        else:
            break
        for survivor in disk.survivors():
            assert read(HERE, survivor) in ({}, {"a": A, "b": B}, {"a": A, "b": MOVED})
    assert number > 5


def test_what_belongs_beside_the_directory_is_made_again_first() -> None:
    disk, _ = settled()
    made: list[bytes | None] = []
    disk = disk.killed()
    store = Store.open(HERE, disk, before_recreating=lambda: made.append(disk.read(LOG)))
    store.append([MOVED])
    assert made == []
    disk.remove()
    store.append([MOVED])
    assert made == [None]


def test_where_a_second_writer_began_there_meanwhile_the_first_gives_way() -> None:
    disk, store = settled()
    disk.remove()
    second = Store.open(HERE, disk)
    with pytest.raises(RegistryReplaced, match=f"process {os.getpid()} writes there now; this process ends"):
        store.append([MOVED])
    second.append([A])
    assert reopened(disk.killed()).states == {"a": A}
    second.close()


@pytest.mark.parametrize("removed", [[], [LOG]])
def test_a_registry_of_another_in_its_place_is_left_as_it_is(removed: list[Path]) -> None:
    """A backup was restored, or a second writer has come and gone."""
    backup, _ = settled()
    disk, store = settled()
    disk.remove(*removed)
    disk.put(LOG, content(backup, LOG))
    disk.put(CHECKPOINT, content(backup, CHECKPOINT))
    with pytest.raises(RegistryReplaced, match="of another is there"):
        store.append([MOVED])
    assert reopened(disk.killed()).states == {"a": A, "b": B}
