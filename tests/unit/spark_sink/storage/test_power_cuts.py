"""What a power cut may leave of a table's log and of a query's checkpoint, and what is deleted of it. Files are torn by
hand, as a file system does it to those that were not fsynced."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.search.tables import open_table
from log_shipper.spark_sink.storage.power_cuts import damage, mend_checkpoint, mend_table, sync_commits, sync_files
from log_shipper.spark_sink.storage.tables import Table as StoredTable
from tests.unit.spark_sink.storage.commit_lab import Table, lines

TEARS: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda content: b"",
    "zeros": lambda content: bytes(len(content)),
    "cut": lambda content: content[: len(content) * 2 // 3],
    "zeros at the end": lambda content: content[:-20] + bytes(20),
}
each_tear = pytest.mark.parametrize("tear", TEARS)
Names = list[str]


def torn(path: Path, tear: str) -> None:
    path.write_bytes(TEARS[tear](path.read_bytes()))
    (path.parent / f".{path.name}.crc").write_bytes(b"of what was there before")


def mended(path: Path) -> Names:
    """Mend the table at the path, and return the names of what was deleted."""
    notes: Names = []
    mend_table(str(path), notes.append)
    return [
        note.partition(" torn by a power cut: ")[2].partition(". Its")[0].removeprefix(f"{path}/") for note in notes
    ]


@each_tear
def test_a_torn_newest_commit_is_deleted_and_what_it_had_lands_again(tmp_path: Path, tear: str) -> None:
    table = Table(tmp_path)
    table.land(0, 1)
    table.land(1, 2)
    torn(table.log_file(2), tear)
    assert mended(tmp_path) == [f"_delta_log/{table.log_file(2).name}"]
    assert not list((tmp_path / "_delta_log").glob(".*.crc"))
    table.land(1, 2, log=table.second_process())
    assert table.offsets() == [1, 2]
    assert mended(tmp_path) == []


def test_commits_are_deleted_from_the_newest_down_to_an_intact_one(tmp_path: Path) -> None:
    table = Table(tmp_path)
    for batch in range(4):
        table.land(batch, batch)
    torn(table.log_file(1), "empty")  # no power cut leaves it below others that are intact
    torn(table.log_file(3), "empty")
    torn(table.log_file(4), "zeros")
    assert mended(tmp_path) == [f"_delta_log/{table.log_file(version).name}" for version in (4, 3)]


def test_a_table_that_was_torn_while_it_was_made_is_made_again(tmp_path: Path) -> None:
    torn(Table(tmp_path).log_file(0), "empty")
    mended(tmp_path)
    assert Table(tmp_path).log.version == 0


@each_tear
def test_a_torn_checkpoint_of_the_log_is_deleted_if_all_commits_are_there(tmp_path: Path, tear: str) -> None:
    table = Table(tmp_path, {"delta.checkpointInterval": "3"})
    for batch in range(7):
        table.land(batch, batch)
    newest = tmp_path / "_delta_log" / f"{6:020}.checkpoint.parquet"
    torn(newest, tear)
    assert mended(tmp_path) == [f"_delta_log/{newest.name}", "_delta_log/_last_checkpoint"]
    table.land(7, 7, log=table.second_process())
    assert table.offsets() == list(range(8))


def test_a_torn_checkpoint_stays_where_commits_are_missing(tmp_path: Path) -> None:
    table = Table(tmp_path, {"delta.checkpointInterval": "3"})
    for batch in range(4):
        table.land(batch, batch)
    torn(tmp_path / "_delta_log" / f"{3:020}.checkpoint.parquet", "empty")
    table.log_file(2).unlink()
    assert mended(tmp_path) == []


@each_tear
def test_a_torn_hint_at_the_last_checkpoint_is_deleted(tmp_path: Path, tear: str) -> None:
    table = Table(tmp_path, {"delta.checkpointInterval": "3"})
    for batch in range(4):
        table.land(batch, batch)
    torn(tmp_path / "_delta_log" / "_last_checkpoint", tear)
    assert mended(tmp_path) == ["_delta_log/_last_checkpoint"]
    assert table.offsets() == [0, 1, 2, 3]


def expect_unreadable(table: Table, file: str, wrong: str) -> None:
    """By those that change nothing: `status` and `search`."""
    with pytest.raises(SinkError, match=f"^cannot read the table {table.path}: {wrong.format(re.escape(file))}"):
        StoredTable(table.location).snapshot()
    with pytest.raises(SinkError, match=f"^cannot read the table {table.path}: {wrong.format(re.escape(file))}"):
        open_table(table.location)


@pytest.mark.parametrize("file", [f"{5:020}.json", f"{3:020}.checkpoint.parquet"])
def test_who_mends_nothing_names_what_a_power_cut_has_torn_and_who_mends_it(tmp_path: Path, file: str) -> None:
    table = Table(tmp_path, {"delta.checkpointInterval": "3"})
    for batch in range(5):
        table.land(batch, batch)
    torn(tmp_path / "_delta_log" / file, "cut")
    expect_unreadable(table, f"_delta_log/{file}", "a power cut has torn its file {}. Start spark-sink run or maintain")
    mended(tmp_path)
    assert damage(str(tmp_path)) == ""
    assert table.offsets() == ([0, 1, 2, 3] if file.endswith(".json") else [0, 1, 2, 3, 4])


@pytest.mark.parametrize("file", [f"{4:020}.json", f"{3:020}.checkpoint.parquet"])
def test_a_damaged_file_that_others_rely_on_is_named_and_stays(tmp_path: Path, file: str) -> None:
    table = Table(tmp_path, {"delta.checkpointInterval": "3"})
    for batch in range(5):
        table.land(batch, batch)
    table.log_file(2).unlink()
    torn(tmp_path / "_delta_log" / file, "cut")
    assert mended(tmp_path) == []
    expect_unreadable(table, f"_delta_log/{file}", "its file {} is damaged, .*from a backup")


def test_a_log_without_damage_is_not_accused(tmp_path: Path) -> None:
    Table(tmp_path)
    assert damage(str(tmp_path)) == damage(str(tmp_path / "missing")) == damage("s3://bucket/table") == ""


@pytest.mark.parametrize("change", [True, False])
def test_a_compaction_is_deleted_with_its_torn_files_and_no_other_commit_is(tmp_path: Path, *, change: bool) -> None:
    table = Table(tmp_path)
    table.land(0, 1)
    (file,) = table.write(lines(1))
    add = {"path": file.path, "partitionValues": file.partition, "size": file.size, "dataChange": change}
    table.log_file(2).write_text(json.dumps({"add": {**add, "modificationTime": 0}}) + "\n")
    assert mended(tmp_path) == []
    torn(tmp_path / file.path, "empty")
    assert bool(mended(tmp_path)) != change


def test_intact_tables_and_missing_ones_stay_as_they_are(tmp_path: Path) -> None:
    table = Table(tmp_path / "table")
    for batch in range(30):
        table.land(batch, batch)
    before = sorted(tmp_path.rglob("*"))
    assert mended(tmp_path / "table") == mended(tmp_path / "missing") == []
    mend_table("s3a://bucket/table", pytest.fail)
    assert sorted(tmp_path.rglob("*")) == before


def make_checkpoint(path: Path, planned: int, committed: int) -> None:
    """As Spark writes one, but for the batches that it has purged."""
    for name in ("offsets", "commits"):
        (path / name).mkdir(parents=True)
    (path / "metadata").write_text('{"id":"q"}')
    for batch in range(planned + 1):
        (path / "offsets" / str(batch)).write_text(f'v1\n{{"batchWatermarkMs":0}}\n{{"logs":{{"0":{batch}}}}}')
    for batch in range(committed + 1):
        (path / "commits" / str(batch)).write_text('v1\n{"nextBatchWatermarkMs":0}')


@pytest.mark.parametrize(
    ("planned", "committed", "torn_files", "deleted"),
    [
        (3, 2, ["offsets/3"], ["offsets/3"]),  # it was planned, and not begun
        (3, 3, ["commits/3"], ["commits/3"]),  # it is run again, and has landed
        (3, 2, ["offsets/3", "commits/2"], ["offsets/3", "commits/2"]),
        (3, 2, ["commits/2"], ["commits/2"]),
        (0, -1, ["offsets/0"], ["offsets/0"]),
        (0, -1, ["metadata"], ["offsets/0", "metadata"]),
        (0, -1, ["metadata", "offsets/0"], ["offsets/0", "metadata"]),
        (-1, -1, ["metadata"], ["metadata"]),
        (3, 3, ["offsets/3"], []),  # the batch has landed: its offsets were durable
        (3, 2, ["offsets/2"], []),
        (3, 1, ["commits/1"], []),
        (3, 2, ["metadata"], []),
    ],
)
@each_tear
def test_of_a_checkpoint_only_what_nothing_relies_on_is_deleted(
    tmp_path: Path, tear: str, planned: int, committed: int, torn_files: Names, deleted: Names
) -> None:
    make_checkpoint(tmp_path, planned, committed)
    intact = sorted(path for path in tmp_path.rglob("*") if path.is_file())
    for name in torn_files:
        torn(tmp_path / name, tear)
    notes: Names = []
    mend_checkpoint(str(tmp_path), notes.append)
    left = [path for path in sorted(tmp_path.rglob("*")) if path.is_file() and path.suffix != ".crc"]
    assert left == [path for path in intact if str(path.relative_to(tmp_path)) not in deleted]
    assert len(notes) == len(deleted)


def test_an_intact_checkpoint_stays_as_it_is(tmp_path: Path) -> None:
    make_checkpoint(tmp_path, 3, 2)
    mend_checkpoint(str(tmp_path), pytest.fail)
    mend_checkpoint(str(tmp_path / "missing"), pytest.fail)
    mend_checkpoint("hdfs://cluster/checkpoint", pytest.fail)


def test_a_log_that_cannot_be_mended_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "_delta_log" / f"{0:020}.json").mkdir(parents=True)
    with pytest.raises(SinkError, match=f"cannot check {tmp_path}"):
        mended(tmp_path)


def test_what_cannot_be_fsynced_is_an_error(tmp_path: Path) -> None:
    table = Table(tmp_path)
    files = table.write()
    assert files == []
    with pytest.raises(FileNotFoundError):
        sync_files(tmp_path, ["missing"])


def test_commits_of_others_are_followed_to_the_newest(tmp_path: Path) -> None:
    table = Table(tmp_path)
    for batch in range(3):
        table.land(batch, batch)
    assert sync_commits(str(tmp_path), 1) == 3
    assert sync_commits("s3a://bucket/table", 1) == 1
