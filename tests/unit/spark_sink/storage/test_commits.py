"""Commits without Java: what must hold when several processes write, and when one of them fails."""

import json
import os
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import NoReturn

import pyarrow as pa
import pytest
from deltalake import DeltaTable, Field
from deltalake.exceptions import DeltaError
from deltalake.schema import PrimitiveType

from log_shipper.spark_sink.errors import Refused, SinkError
from log_shipper.spark_sink.monitor.table_sizes import TableSizes
from log_shipper.spark_sink.storage.commits import TRIES, CommitLog, last_turn
from log_shipper.spark_sink.storage.data_files import DataFile
from log_shipper.spark_sink.storage.locations import Location
from log_shipper.spark_sink.storage.tables import NO_BATCH, TxnId
from tests.directory_reads import DirectoryReads
from tests.full_disk import no_larger_files_than
from tests.unit.spark_sink.storage.commit_lab import Table, lines

SECOND_JOB = "a second job runs with the same checkpoint"


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(tmp_path / "lines")


@dataclass(slots=True)
class InterruptedLog(CommitLog):
    """Lets something happen between the look at the table and the write of the commit."""

    interruption: Callable[[], object] = int

    def _write(self, files: Sequence[DataFile], named: Sequence[TxnId], commit_id: str) -> None:
        self.interruption()
        CommitLog._write(self, files, named, commit_id)


@dataclass(slots=True)
class UnansweredLog(CommitLog):
    """Raises where the commit was written, or was not: the answer of the store is lost either way."""

    written: bool = True
    afterwards: Callable[[], object] = int

    def _write(self, files: Sequence[DataFile], named: Sequence[TxnId], commit_id: str) -> None:
        if self.written:
            CommitLog._write(self, files, named, commit_id)
        self.afterwards()
        raise OSError("connection reset by peer")


def interrupted(table: Table, *interruptions: Callable[[], object]) -> InterruptedLog:
    """Return a log whose first writes are interrupted, one by each of these."""
    pending = list(interruptions)
    return InterruptedLog(table.location, table.second_process().table, lambda: pending and pending.pop(0)())


def actions(table: Table, version: int, kind: str) -> list[dict[str, object]]:
    entries = [json.loads(line) for line in table.log_file(version).read_text().splitlines()]
    return [entry[kind] for entry in entries if kind in entry]


def test_a_table_with_one_writer_is_opened_once(table: Table) -> None:
    opened = table.log.table
    for batch in range(3):
        table.log.append(table.write(lines(batch)), TxnId("q", batch))
    assert table.log.table is opened
    assert table.offsets() == [0, 1, 2]


def test_no_commit_lists_the_log_or_reads_it_from_its_beginning(tmp_path: Path) -> None:
    """Both take longer with each day that the log goes back: with 20,000 commits 15 ms a listing."""
    table = Table(Location(str(tmp_path / "lines"), fsync=False))
    opened = table.log.read_table()
    with DirectoryReads({"log": str(table.path / "_delta_log")}) as reads:
        for batch in range(3):
            table.land(batch, batch)
        assert reads.counts() == {"log": 0}
    assert opened.version() == 0
    assert table.log.read_table().version() == 3
    assert table.offsets() == [0, 1, 2]


@pytest.mark.parametrize("behind", [1, 3])
def test_a_commit_is_never_for_a_version_that_was_not_examined(table: Table, behind: int) -> None:
    """As of deltalake, which commits to the version after the one that its table is at."""
    log = table.second_process()
    log.location = replace(log.location, path=table.location.path.replace("/", "memory://", 1))
    for batch in range(behind):
        table.land(batch, batch)
    log.table.update_incremental()
    with pytest.raises(FileExistsError, match="version 1 exists"):
        log._write([], [], "id")


def test_a_batch_is_one_commit_with_its_name(table: Table) -> None:
    files = [*table.write(lines(1, 2)), *table.write(lines(3))]
    assert table.log.append(files, TxnId("q", 7)) == 1
    assert table.offsets() == [1, 2, 3]
    (name,) = actions(table, 1, "txn")
    assert (name["appId"], name["version"]) == ("q", 7)
    assert [added["size"] for added in actions(table, 1, "add")] == [file.size for file in files]
    assert table.log.refresh() == 1
    assert (table.log.last_batch("q"), table.log.last_batch("another")) == (7, NO_BATCH)


def test_other_writers_see_that_a_batch_has_read_nothing(table: Table) -> None:
    table.land(1, 1)
    (info,) = actions(table, 1, "commitInfo")
    assert (info["isBlindAppend"], info["isolationLevel"], info["operation"]) == (True, "Serializable", "WRITE")


def test_a_commit_without_a_name_adds_no_batch(table: Table) -> None:
    assert table.log.append(table.write(lines(1)), None) == 1
    assert actions(table, 1, "txn") == []
    table.log.refresh()
    assert table.log.last_batch("q") == NO_BATCH


def test_batches_of_one_process_follow_each_other(table: Table) -> None:
    assert [table.land(batch, batch) for batch in range(4)] == [1, 2, 3, 4]
    assert table.offsets() == [0, 1, 2, 3]


@pytest.mark.parametrize("batch", [5, 4])
def test_a_batch_that_the_table_has_is_refused_and_so_is_an_earlier_one(table: Table, batch: int) -> None:
    table.land(5, 1)
    with pytest.raises(Refused, match=f"has batch 5 .* but not the rows of batch {batch}: {SECOND_JOB}"):
        table.land(batch, 2, log=table.second_process())
    assert table.offsets() == [1]


def test_a_second_job_that_read_the_same_version_is_refused(table: Table) -> None:
    other = table.second_process()
    table.land(0, 1)
    with pytest.raises(Refused, match=SECOND_JOB):
        table.land(0, 2, log=other)
    assert table.offsets() == [1]


def test_a_second_job_that_commits_in_the_same_moment_is_refused(table: Table) -> None:
    log = interrupted(table, lambda: table.land(0, 1))
    with pytest.raises(Refused, match=SECOND_JOB):
        table.land(0, 2, log=log)
    assert table.offsets() == [1]


def test_of_two_processes_that_take_the_same_turn_one_is_refused(table: Table) -> None:
    assert last_turn(table.log.table) == NO_BATCH
    other = table.second_process()
    table.log.append(table.write(lines(1)), TxnId("q", 0), turn=1)
    table.log.check_turn(2)
    for action in (lambda: other.append(table.write(lines(2)), None, turn=1), lambda: other.check_turn(1)):
        with pytest.raises(Refused, match="another process is writing to the table"):
            action()
    log = interrupted(table, lambda: table.log.append(table.write(lines(3)), None, turn=2))
    with pytest.raises(Refused, match="Stop the other process, or let it finish, and start this one again"):
        log.append(table.write(lines(4)), TxnId("q", 1), turn=2)
    assert (table.offsets(), table.log.refresh(), last_turn(table.log.read_table())) == ([1, 3], 2, 2)
    assert table.log.last_batch("q") == 0


def test_commits_of_others_in_the_same_moment_are_followed(table: Table) -> None:
    def other(query: str) -> int:
        return table.log.append(table.write(lines(1)), TxnId(query, 0))

    log = interrupted(table, lambda: other("a"), lambda: [other("b"), other("c")])
    assert table.land(0, 2, log=log) == 4
    assert table.offsets() == [1, 1, 1, 2]


def test_a_table_that_others_write_to_without_pause_is_given_up(table: Table) -> None:
    log = interrupted(table, *[lambda: table.log.append([], None)] * TRIES)
    with pytest.raises(SinkError, match=f"other programs committed first, {TRIES} times in a row"):
        table.land(0, 1, log=log)
    assert table.offsets() == []


def test_a_commit_whose_answer_was_lost_has_landed_once(table: Table) -> None:
    log = UnansweredLog(table.location, table.second_process().table)
    assert table.land(0, 1, log=log) == 1
    assert (table.offsets(), log.refresh()) == ([1], 1)


def test_a_commit_whose_answer_was_lost_is_found_among_those_of_others(table: Table) -> None:
    log = UnansweredLog(table.location, table.second_process().table)
    log.afterwards = lambda: [table.log.append([], TxnId("another", batch)) for batch in range(2)]
    assert table.land(0, 1, log=log) == 1
    assert (table.offsets(), log.version) == ([1], 3)


def test_a_commit_that_was_not_written_is_tried_again(table: Table) -> None:
    failures = [OSError("timed out"), OSError("timed out")]

    def fail() -> None:
        if failures:
            raise failures.pop()

    log = InterruptedLog(table.location, table.second_process().table, fail)
    assert table.land(0, 1, log=log) == 1
    assert (failures, table.offsets()) == ([], [1])


def test_a_commit_that_is_written_late_is_found_when_it_is_tried_again(table: Table) -> None:
    """Its put has timed out, and the store does it all the same, a moment before the second one."""
    late: list[Callable[[], None]] = []

    @dataclass(slots=True)
    class LateLog(CommitLog):
        def _write(self, files: Sequence[DataFile], named: Sequence[TxnId], commit_id: str) -> None:
            if not late:
                other = table.second_process()
                late.append(lambda: CommitLog._write(other, files, named, commit_id))
                raise OSError("timed out")
            late[0]()
            CommitLog._write(self, files, named, commit_id)

    assert table.land(0, 1, log=LateLog(table.location, table.second_process().table)) == 1
    assert (table.offsets(), table.log.refresh()) == ([1], 1)


def test_a_commit_that_was_not_written_is_an_error(table: Table) -> None:
    log = UnansweredLog(table.location, table.second_process().table, written=False)
    with pytest.raises(SinkError, match=r"cannot write the Delta log of the table .*lines: connection reset by peer"):
        table.land(0, 1, log=log)
    assert table.offsets() == []


def test_a_commit_that_the_disk_does_not_take_leaves_nothing_and_is_made_again(table: Table) -> None:
    files, log = table.write(lines(1)), table.path / "_delta_log"
    with no_larger_files_than(100), pytest.raises(SinkError, match=r"cannot write the Delta log of .*too large"):
        table.log.append(files, TxnId("q", 0))
    assert [path.name for path in log.iterdir() if "#" in path.name] == []
    assert table.log.append(files, TxnId("q", 0)) == 1
    assert table.offsets() == [1]


def test_a_table_that_is_deleted_while_the_sink_runs_is_refused(table: Table) -> None:
    table.land(0, 1)
    table.log.refresh()
    shutil.rmtree(table.path)
    with pytest.raises(Refused, match="is missing, so landed rows are missing"):
        table.land(1, 2)


@pytest.mark.parametrize("commits", [0, 1, 3])
def test_a_table_that_is_re_created_while_the_sink_runs_is_refused(table: Table, commits: int) -> None:
    table.land(0, 1)
    table.log.refresh()
    shutil.rmtree(table.path)
    other = Table(table.path)
    for batch in range(commits):
        other.log.append([], TxnId("another", batch))
    with pytest.raises(Refused, match="was re-created"):
        table.land(1, 2)
    assert other.log.refresh() == commits


def test_a_table_that_was_brought_back_from_a_backup_is_refused(table: Table, tmp_path: Path) -> None:
    backup = shutil.copytree(table.path, tmp_path / "backup")
    table.land(0, 1)
    table.log.refresh()
    shutil.rmtree(table.path)
    shutil.copytree(backup, table.path)
    with pytest.raises(Refused, match="was at version 1, and is now at version 0"):
        table.land(1, 2)


def test_a_table_that_was_copied_to_its_place_is_the_same(table: Table, tmp_path: Path) -> None:
    table.land(0, 1)
    table.log.refresh()
    table.path.rename(tmp_path / "moved")
    shutil.copytree(tmp_path / "moved", table.path, copy_function=shutil.copyfile)
    assert table.land(1, 2) == 2


def test_columns_that_others_add_do_not_disturb(table: Table) -> None:
    log = interrupted(table, lambda: table.log.table.alter.add_columns([Field("more", PrimitiveType("string"))]))
    assert table.land(0, 1, log=log) == 2
    assert table.offsets() == [1]


def test_a_constraint_that_others_add_is_refused_before_the_next_commit(table: Table) -> None:
    log = interrupted(table, lambda: table.log.table.alter.add_constraint({"small": "offset < 10"}))
    with pytest.raises(Refused, match="the CHECK constraint small"):
        table.land(0, 100, log=log)
    assert table.offsets() == []


def test_what_a_killed_process_left_beside_the_log_disturbs_no_one(table: Table) -> None:
    half = table.log_file(1).with_name(table.log_file(1).name + "#1")
    half.write_text('{"add": {"path"')
    assert table.land(0, 1) == 1
    assert table.offsets() == [1]
    assert table.land(1, 2) == 2


def checkpoints(table: Table) -> list[int]:
    return sorted(int(path.name.split(".")[0]) for path in table.path.glob("_delta_log/*.checkpoint.parquet"))


def test_the_log_has_a_checkpoint_after_as_many_commits_as_the_table_demands(tmp_path: Path) -> None:
    table = Table(tmp_path / "lines", {"delta.checkpointInterval": "3"})
    for batch in range(7):
        table.land(batch, batch)
    assert checkpoints(table) == [3, 6]
    for version in range(6):
        table.log_file(version).unlink()
    assert table.offsets() == list(range(7))
    assert table.second_process().last_batch("q") == 6


@pytest.mark.parametrize("interval", ["0", "often", "-1"])
def test_an_invalid_checkpoint_interval_counts_as_the_default(tmp_path: Path, interval: str) -> None:
    table = Table(tmp_path / "lines", {"delta.checkpointInterval": interval})
    assert [table.land(batch, batch) for batch in range(2)] == [1, 2]
    assert checkpoints(table) == []


def test_after_a_checkpoint_the_table_is_read_from_it(tmp_path: Path) -> None:
    """What is read commit by commit takes memory and time for each of them, for ever."""
    table = Table(tmp_path / "lines", {"delta.checkpointInterval": "3"})
    read = []
    for batch in range(6):
        table.land(batch, batch)
        read.append(table.log.table)
    assert [before is after for before, after in pairwise(read)] == [True, False, True, True, False]
    assert table.land(6, 6) == 7
    assert table.offsets() == list(range(7))


class InterruptedLocation(Location):
    """Lets something happen once, before the table is opened."""

    interruption: Callable[[], object] | None = None

    def open(self) -> DeltaTable | None:
        interruption, self.__class__.interruption = self.__class__.interruption, None
        if interruption is not None:
            interruption()
        return super().open()


def test_what_another_process_commits_beside_a_checkpoint_is_examined(tmp_path: Path) -> None:
    table = Table(tmp_path / "lines", {"delta.checkpointInterval": "2"})
    table.land(0, 1)
    table.log.location = InterruptedLocation(str(table.path))

    def restore() -> None:
        other = table.second_process().table
        other.restore(1)

    InterruptedLocation.interruption = restore
    assert table.land(1, 2) == 2
    assert InterruptedLocation.interruption is None
    with pytest.raises(Refused, match=r"was restored to an earlier version \(version 3 is a RESTORE\)"):
        table.land(2, 3)


def test_a_checkpoint_that_cannot_be_written_is_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = Table(tmp_path / "lines", {"delta.checkpointInterval": "2"})
    (tmp_path / "lines/_delta_log/00000000000000000002.checkpoint.parquet").mkdir()
    assert [table.land(batch, batch) for batch in range(3)] == [1, 2, 3]
    assert "cannot checkpoint the Delta log" in caplog.text


def age(table: Table, days: int, versions: range) -> None:
    """Let these commits be so many days old."""
    seconds = time.time() - days * 86_400
    for version in versions:
        os.utime(table.log_file(version), (seconds, seconds))


@pytest.mark.parametrize(("enabled", "kept"), [("true", 5), ("false", 9)])
def test_a_checkpoint_deletes_the_part_of_the_log_that_is_too_old(tmp_path: Path, enabled: str, kept: int) -> None:
    properties = {"delta.checkpointInterval": "4", "delta.enableExpiredLogCleanup": enabled}
    table = Table(tmp_path / "lines", properties)
    for batch in range(7):
        table.land(batch, batch)
    age(table, 20, range(6))  # the log goes back for ten; versions 6 and 7 need the checkpoint of version 4
    table = Table(tmp_path / "lines", properties)
    table.land(7, 7)
    assert len(list(table.path.glob("_delta_log/*.json"))) == kept
    assert table.offsets() == list(range(8))


def test_a_table_that_was_restored_meanwhile_is_refused(table: Table) -> None:
    """A batch behind the RESTORE would hide that what landed before is missing."""
    table.land(0, 1)
    table.land(1, 2)
    other = table.location.open()
    assert other is not None
    other.restore(1)
    with pytest.raises(Refused, match=r"was restored to an earlier version \(version 3 is a RESTORE\).*repair"):
        table.land(2, 3)
    assert table.offsets() == [1]


class Uncountable(DeltaTable):
    error: Exception

    def get_add_actions(self, flatten: bool = False) -> NoReturn:
        raise self.error


@dataclass(frozen=True, slots=True)
class UncountableLocation(Location):
    """Of a table that can be opened, and whose files cannot be listed."""

    error: Exception = field(kw_only=True)

    def open(self) -> DeltaTable | None:
        table = Uncountable(self.path)
        table.error = self.error
        return table


@pytest.mark.parametrize("error", [DeltaError("no connection"), OSError("no connection"), pa.ArrowInvalid("a column")])
def test_a_size_that_cannot_be_counted_is_an_error_that_landing_survives(table: Table, error: Exception) -> None:
    log = CommitLog(UncountableLocation(str(table.path), error=error), table.second_process().table)
    with pytest.raises(SinkError, match=f"cannot read the files of the table {table.path}: {error}"):
        log.count_size()
    assert TableSizes().update({"lines": log}) == {}
