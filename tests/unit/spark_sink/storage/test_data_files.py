import json
from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.storage.data_files import ROW_GROUP, ROW_GROUP_BYTES, DataFile, DataFileWriter, FileLayout
from log_shipper.spark_sink.storage.locations import Location
from tests.full_disk import no_larger_files_than
from tests.unit.spark_sink.landing.test_power_cut import listening
from tests.unit.spark_sink.storage.commit_lab import DAY, SCHEMA, STATISTICS, lines

LAYOUT = FileLayout(SCHEMA, "date", STATISTICS, ("message",))
NEXT_DAY = date(2026, 11, 22)


@pytest.fixture
def location(tmp_path: Path) -> Location:
    return Location(str(tmp_path))


def write(location: Location, *parts: pa.Table, layout: FileLayout = LAYOUT) -> list[DataFile]:
    with DataFileWriter(location, layout) as writer:
        for part in parts:
            writer.write(part)
        return writer.close()


def content(location: Location, file: DataFile) -> pa.Table:
    return parquet.ParquetFile(Path(location.path, file.path)).read()


def test_a_file_is_described_as_it_is_on_disk(location: Location) -> None:
    (file,) = write(location, lines(1, 2))
    assert file.size == Path(location.path, file.path).stat().st_size
    assert (file.rows, file.partition) == (2, {"date": "2026-11-21"})
    assert file.path.startswith("date=2026-11-21/part-")
    assert json.loads(file.statistics)["maxValues"] == {
        "ts": "2026-11-21T00:00:02.001Z",
        "host": "web-1",
        "offset": 2,
    }


def test_each_date_has_a_file_of_its_own_and_so_has_none(location: Location) -> None:
    mixed = pa.concat_tables([lines(1), lines(2, day=NEXT_DAY), lines(3), lines(4, day=None)])
    files = write(location, mixed, lines(5, day=NEXT_DAY))
    offsets = {file.partition["date"]: content(location, file).column("offset").to_pylist() for file in files}
    assert offsets == {"2026-11-21": [1, 3], "2026-11-22": [2, 5], None: [4]}
    assert [file.path.split("/")[0] for file in files][-1] == "date=__HIVE_DEFAULT_PARTITION__"


def test_the_partition_column_is_in_the_path_alone(location: Location) -> None:
    (file,) = write(location, lines(1))
    assert content(location, file).column_names == ["ts", "message", "host", "offset", "tags"]


def test_a_table_without_partitions_has_one_file_in_its_directory(location: Location) -> None:
    layout = FileLayout(SCHEMA, statistics=("date", "offset"))
    (file,) = write(location, lines(1), lines(2, day=NEXT_DAY), layout=layout)
    assert "/" not in file.path
    assert (file.rows, file.partition) == (2, {})
    assert json.loads(file.statistics)["minValues"] == {"date": "2026-11-21", "offset": 1}


def test_the_directory_of_a_new_table_survives_a_power_cut(tmp_path: Path) -> None:
    with listening() as synced:
        write(Location(f"{tmp_path}/lake/a"), lines(1))
    assert {tmp_path, tmp_path / "lake"} <= synced.paths


def test_a_file_in_place_of_a_table_is_reported(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    with pytest.raises(SinkError, match=r"cannot write to .*/a: .*/a is a file, but must be a directory"):
        write(Location(f"{tmp_path}/a"), lines(1))


def test_times_are_as_delta_demands(location: Location) -> None:
    (file,) = write(location, lines(1))
    column = parquet.ParquetFile(Path(location.path, file.path)).schema.column(0)
    assert column.physical_type == "INT64"
    logical = json.loads(column.logical_type.to_json())
    assert (logical["isAdjustedToUTC"], logical["timeUnit"]) == (True, "microseconds")


def test_rows_of_many_calls_fill_row_groups(location: Location) -> None:
    part = lines(*range(1000))
    (file,) = write(location, *[part] * (ROW_GROUP // 1000 + 1))
    footer = parquet.ParquetFile(Path(location.path, file.path)).metadata
    assert (footer.num_row_groups, footer.row_group(0).num_rows) == (2, ROW_GROUP)


def test_a_row_group_of_long_lines_has_fewer_of_them(location: Location) -> None:
    part = lines(*range(1000))
    long = part.set_column(part.schema.get_field_index("message"), "message", pa.array(["x" * 9000] * 1000))
    (file,) = write(location, *[long] * 8)
    footer = parquet.ParquetFile(Path(location.path, file.path)).metadata
    assert [footer.row_group(group).num_rows for group in range(footer.num_row_groups)] == [4000, 4000]
    assert ROW_GROUP_BYTES < 4 * long.nbytes < 1.3 * ROW_GROUP_BYTES


def test_full_row_groups_do_not_stay_in_memory(location: Location) -> None:
    with DataFileWriter(location, LAYOUT) as writer:
        writer.write(lines(1))
        (path,) = Path(location.path).rglob("*.parquet")
        size = path.stat().st_size
        writer.write(pa.concat_tables([lines(*range(1000))] * (ROW_GROUP // 1000)))
        assert path.stat().st_size == size
        writer.write(lines(*range(1000)))
        assert path.stat().st_size > size
        writer.close()


def test_no_rows_give_no_files(location: Location) -> None:
    assert write(location, lines()) == []
    assert write(location, lines(), layout=FileLayout(SCHEMA)) == []


def test_an_error_leaves_no_files(location: Location) -> None:
    def fail() -> None:
        with DataFileWriter(location, LAYOUT) as writer:
            writer.write(lines(1))
            writer.write(lines(2, day=NEXT_DAY))
            raise ValueError("a bad record")

    with pytest.raises(ValueError, match="a bad record"):
        fail()
    assert not [path for path in Path(location.path).rglob("*") if path.is_file()]


@pytest.mark.parametrize("rows", [1, ROW_GROUP])  # the second are written before the file is closed
def test_what_the_disk_does_not_take_is_an_error_with_the_path_and_leaves_no_files(
    location: Location, rows: int
) -> None:
    too_large = lines(1).take([0] * rows)
    with no_larger_files_than(100), pytest.raises(SinkError, match=rf"^cannot write to {location.path}: .*too large"):
        write(location, too_large)
    assert not [path for path in Path(location.path).rglob("*") if path.is_file()]
    assert sum(file.rows for file in write(location, too_large)) == rows


def test_only_repeated_texts_have_a_dictionary_and_numbers_are_differences(location: Location) -> None:
    (file,) = write(location, lines(1, 2))
    group = parquet.ParquetFile(Path(location.path, file.path)).metadata.row_group(0)
    columns = {group.column(n).path_in_schema: group.column(n) for n in range(group.num_columns)}
    assert {name for name, column in columns.items() if column.has_dictionary_page} == {"host", "tags.list.element"}
    assert {name for name, column in columns.items() if "DELTA_BINARY_PACKED" in column.encodings} == {"ts", "offset"}


def test_the_days_come_in_the_order_of_the_rows(location: Location) -> None:
    files = write(location, lines(1, day=NEXT_DAY), lines(2, day=DAY))
    assert [file.partition["date"] for file in files] == ["2026-11-22", "2026-11-21"]


def test_a_file_names_the_calendar_of_its_times(location: Location) -> None:
    (file,) = write(location, lines(1))
    footer = parquet.read_metadata(Path(location.path, file.path)).metadata
    assert footer == {b"org.apache.spark.version": b"4.0.0"}
