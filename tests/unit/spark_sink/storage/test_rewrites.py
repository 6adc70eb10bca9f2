"""Files are replaced beside whoever appends, and nothing else is touched."""

import json
import re
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from log_shipper.spark_sink.errors import Refused, SinkError
from log_shipper.spark_sink.storage.commits import CommitLog
from log_shipper.spark_sink.storage.data_files import DataFile, DataFileWriter
from log_shipper.spark_sink.storage.locations import Location
from log_shipper.spark_sink.storage.rewrites import Conflict, StoredFile, file_layout, replace, stored_files
from log_shipper.spark_sink.storage.tables import Table
from log_shipper.spark_sink.storage.writable import check_rewritable


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """Three rows in three files."""
    table = Table(Location(str(tmp_path / "table")))
    for number in (1, 2, 3):
        append(table, number)
    return table


def append(table: Table, number: int) -> None:
    write_deltalake(table.path, pa.table({"n": [number]}), mode="append")


def write(table: Table, *numbers: int) -> list[DataFile]:
    with DataFileWriter(table.location, file_layout(DeltaTable(table.path))) as writer:
        writer.write(pa.table({"n": numbers}))
        return writer.close()


def files(table: Table) -> list[StoredFile]:
    return list(stored_files(table.snapshot()))


def numbers(table: Table) -> list[int]:
    rows: list[int] = table.snapshot().select("SELECT n FROM stored ORDER BY n").column("n").to_pylist()
    return rows


def test_what_others_append_meanwhile_stays(table: Table) -> None:
    read, old = DeltaTable(table.path), files(table)
    append(table, 4)
    assert replace(table.location, read, old, write(table, 1, 2, 3)) == 4
    assert (numbers(table), len(files(table))) == ([1, 2, 3, 4], 2)


def test_files_come_in_the_order_in_which_they_were_written(table: Table) -> None:
    ordered = [DeltaTable(table.path, version=version).file_uris() for version in (0, 1, 2)]
    names = [{file.path for file in files(table)[: count + 1]} for count in (0, 1, 2)]
    assert names == [{uri.rpartition("/")[2] for uri in uris} for uris in ordered]


def test_run_appends_behind_a_replacement(table: Table) -> None:
    log = CommitLog(table.location, DeltaTable(table.path))
    replace(table.location, DeltaTable(table.path), files(table), write(table, 1, 2, 3))
    assert log.append(write(table, 5), None) == 4
    assert numbers(table) == [1, 2, 3, 5]


@pytest.mark.parametrize(
    "change",
    [
        lambda table: DeltaTable(table.path).delete("n = 2"),
        lambda table: DeltaTable(table.path).alter.set_table_properties({"delta.appendOnly": "false"}),
        lambda table: DeltaTable.create(table.path, DeltaTable(table.path).schema(), mode="overwrite"),
    ],
)
def test_what_changed_the_files_or_the_table_meanwhile_is_a_conflict(table: Table, change: object) -> None:
    assert callable(change)
    read, old, new = DeltaTable(table.path), files(table), write(table, 1, 2, 3)
    change(table)
    version = table.version()
    with pytest.raises(Conflict, match=re.escape(f"the table {table.path}")):
        replace(table.location, read, old, new)
    assert table.version() == version


def test_a_commit_that_cannot_be_written_is_an_error_and_no_conflict(table: Table) -> None:
    read, old, new = DeltaTable(table.path), files(table), write(table, 1, 2, 3)
    Path(table.path, "_delta_log", f"{3:020}.json").mkdir()
    with pytest.raises(SinkError, match="cannot write the Delta log of the table") as caught:
        replace(table.location, read, old, new)
    assert not isinstance(caught.value, Conflict)
    assert numbers(table) == [1, 2, 3]


def test_paths_that_java_writes_otherwise_than_deltalake_are_left_alone(table: Table) -> None:
    """The library deltalake would add the new file, and the removal would be of a path that no one has added."""
    view = Table(Location(f"{table.path}-view"))
    write_deltalake(view.path, pa.table({"host": ["a", "b c", "x"], "n": [1, 2, 3]}), partition_by=["host"])
    log = Path(view.path, "_delta_log", f"{0:020}.json")
    log.write_text(log.read_text().replace("host=x/", "host=ä/"))
    assert {file.path.partition("/")[0]: (file.is_replaceable, file.is_removable) for file in files(view)} == {
        "host=a": (True, True),
        "host=b%20c": (True, True),
        "host=ä": (False, False),
    }


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (pa.array([True]), "true"),
        (pa.array([-7]), "-7"),
        (pa.array(["2026-11-21"]).cast(pa.date32()), "2026-11-21"),
        (pa.array([None], pa.string()), None),
        (pa.array([0], pa.timestamp("us", "UTC")), ...),  # has more than one text
    ],
)
def test_a_file_keeps_the_text_of_its_partition(table: Table, values: pa.Array, text: object) -> None:
    view = Table(Location(f"{table.path}-view"))
    write_deltalake(view.path, pa.table({"p": values, "n": [1]}), partition_by=["p"])
    (file,) = files(view)
    if text is ...:
        assert not file.is_replaceable
        return
    log = Path(view.path, "_delta_log", f"{0:020}.json").read_text()
    (added,) = [action["add"] for action in map(json.loads, log.splitlines()) if "add" in action]
    assert (file.is_replaceable, file.partition) == (True, {"p": text})
    assert added["partitionValues"] == {"p": text}


def test_the_statistics_are_those_that_the_table_names(table: Table) -> None:
    assert file_layout(DeltaTable(table.path)).statistics == ("n",)
    write_deltalake(
        f"{table.path}-view",
        pa.table({"a": [1], "b": [2], "c": pa.array([0], pa.timestamp("us"))}),
        configuration={"delta.dataSkippingStatsColumns": "b,c,d"},
    )
    assert file_layout(DeltaTable(f"{table.path}-view")).statistics == ("b",)  # of c, Delta has a form of its own


@pytest.mark.parametrize(("name", "value"), [("delta.columnMapping.mode", "name"), ("delta.enableRowTracking", "true")])
def test_a_table_whose_files_only_spark_can_replace_is_refused(tmp_path: Path, name: str, value: str) -> None:
    write_deltalake(tmp_path, pa.table({"n": [1]}))
    log = Path(tmp_path, "_delta_log", f"{0:020}.json")
    log.write_text(log.read_text().replace('"configuration":{}', json.dumps({"configuration": {name: value}})[1:-1]))
    with pytest.raises(
        Refused, match=re.escape(f"the property {name} = {value}: the sink cannot compact such a table")
    ):
        check_rewritable(str(tmp_path), DeltaTable(str(tmp_path)))
