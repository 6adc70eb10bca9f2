"""Bounds of files that tell whether there may be orphaned rows. What it finds is tested in test_kills.py."""

from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from log_shipper.spark_sink.landing.orphaned_rows import may_have_rows_behind
from log_shipper.spark_sink.storage.data_files import FileLayout
from log_shipper.spark_sink.storage.locations import Location
from log_shipper.spark_sink.storage.tables import Table, TableSnapshot
from tests.unit.spark_sink.maintenance.tables import commit

SCHEMA = pa.schema([("topic", pa.string()), ("partition", pa.int32()), ("kafka_offset", pa.int64())])
LAYOUT = FileLayout(SCHEMA, statistics=tuple(SCHEMA.names))
ENDS = {"logs": {0: 10, 1: 5}, "new": dict[int, int]()}

Row = tuple[str, int, int]


def snapshot_of(path: Path, *files: list[Row], layout: FileLayout = LAYOUT) -> TableSnapshot:
    """Return the table at the path, made or with one commit more."""
    table = DeltaTable.create(str(path), SCHEMA, mode="ignore")
    commit(table, layout, [[dict(zip(SCHEMA.names, row, strict=True)) for row in rows] for rows in files])
    return Table(Location(str(path))).snapshot()


@pytest.mark.parametrize(
    ("files", "may"),
    [
        ([[("logs", 0, 8), ("logs", 0, 9)], [("logs", 1, 4)]], False),
        ([[("logs", 0, 8), ("logs", 0, 10)], [("logs", 1, 4)]], True),  # at the end
        ([[("logs", 0, 8)], [("logs", 1, 5)]], True),
        ([[("logs", 2, 0)]], True),  # a partition without an end
        ([[("new", 0, 0)]], True),
        ([[("old", 0, 99)], [("a", 0, 99)]], False),  # topics that are not read any more
        ([[("logs", 0, 9), ("logs", 1, 4)]], True),  # what is at which partition, the bounds do not say
        ([[("logs", 0, 4), ("logs", 1, 3)]], False),
    ],
)
def test_rows_are_read_where_a_file_may_have_such_rows(tmp_path: Path, files: list[list[Row]], may: bool) -> None:
    assert may_have_rows_behind(snapshot_of(tmp_path, *files), ENDS) == may


def test_without_bounds_a_file_may_have_any_rows(tmp_path: Path) -> None:
    kept = [("old", 0, 0)]
    assert not may_have_rows_behind(snapshot_of(tmp_path / "all", kept), ENDS)
    few = FileLayout(SCHEMA, statistics=("topic", "partition"))
    assert may_have_rows_behind(snapshot_of(tmp_path / "few", kept, layout=few), ENDS)
    assert may_have_rows_behind(snapshot_of(tmp_path / "none", kept, layout=FileLayout(SCHEMA)), ENDS)
    assert may_have_rows_behind(snapshot_of(tmp_path / "all", kept, layout=few), ENDS)  # beside one with bounds


def test_a_table_without_files_has_none(tmp_path: Path) -> None:
    DeltaTable.create(str(tmp_path), SCHEMA)
    assert not may_have_rows_behind(Table(Location(str(tmp_path))).snapshot(), ENDS)


def test_no_row_is_overlooked(tmp_path: Path, seed: int) -> None:
    dice = Random(seed)
    topics = ["a", "b", "b" * 40, "c"]
    for number in range(20):
        files = [
            [(dice.choice(topics), dice.randrange(3), dice.randrange(20)) for _ in range(dice.randrange(1, 4))]
            for _ in range(dice.randrange(1, 4))
        ]
        ends = {
            topic: {partition: dice.randrange(20) for partition in range(dice.randrange(4))} for topic in topics[1:]
        }
        behind = [row for rows in files for row in rows if row[0] in ends and row[2] >= ends[row[0]].get(row[1], 0)]
        assert may_have_rows_behind(snapshot_of(tmp_path / str(number), *files), ends) or not behind
