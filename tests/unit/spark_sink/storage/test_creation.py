"""Tables that need no table feature, made and extended without Spark."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from deltalake import DeltaTable

from log_shipper.config.text.spans import DAY
from log_shipper.spark_sink.errors import Refused, SinkError
from log_shipper.spark_sink.options.maintenance import MaintenanceConfig, VacuumConfig
from log_shipper.spark_sink.records.schema import BAD_RECORDS, Column
from log_shipper.spark_sink.rows.schema import arrow_schema
from log_shipper.spark_sink.storage.creation import prepare
from log_shipper.spark_sink.storage.layout import Layout, of_lines
from log_shipper.spark_sink.storage.locations import Location
from tests.unit.spark_sink.conftest import sink_config
from tests.unit.spark_sink.storage.commit_lab import COLUMNS, Table, lines

STATUS = Column("status", "INT", "http.response.status_code")


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(tmp_path / "lines")


def extended(table: Table, *columns: Column, statistics: tuple[str, ...] = ()) -> Layout:
    return replace(
        table.layout, columns=(*table.layout.columns, *columns), statistics=(*table.layout.statistics, *statistics)
    )


def test_a_new_table_needs_no_table_feature(table: Table) -> None:
    created = table.log.table
    protocol, metadata = created.protocol(), created.metadata()
    assert (protocol.min_reader_version, protocol.min_writer_version, protocol.writer_features) == (1, 2, None)
    assert metadata.partition_columns == ["date"]
    assert metadata.description == "Lines"
    assert metadata.configuration == table.layout.all_properties
    assert [(field.name, field.metadata["comment"]) for field in created.schema().fields] == [
        (column.name, column.comment) for column in COLUMNS
    ]


def test_the_properties_of_the_configuration_are_those_of_the_table(tmp_path: Path) -> None:
    maintenance = MaintenanceConfig(vacuum=VacuumConfig(retain=30 * DAY))
    layout = of_lines(sink_config(tmp_path, maintenance=maintenance))
    properties = prepare(Location(str(tmp_path / "lines")), layout).table.metadata().configuration
    assert properties["delta.deletedFileRetentionDuration"] == "interval 30 days"
    assert properties["delta.dataSkippingStatsColumns"].startswith("ts,host,path")


def test_the_dead_letter_has_headers_as_kafka_has_them(tmp_path: Path) -> None:
    log = prepare(Location(str(tmp_path / "bad")), Layout(BAD_RECORDS, "Bad records"))
    assert [field.name for field in log.table.schema().fields] == arrow_schema(BAD_RECORDS).names


def test_an_existing_table_is_left_as_it_is(table: Table) -> None:
    table.land(0, 1)
    assert prepare(table.location, table.layout).version == 1


class UnseenLocation(Location):
    """Another process creates the table when this one has just seen that there is none."""

    def open(self) -> DeltaTable | None:
        return None


def test_the_table_of_another_process_that_was_faster_is_taken(table: Table, tmp_path: Path) -> None:
    log = prepare(UnseenLocation(f"file://{tmp_path}/lines"), table.layout)
    assert (log.version, log.table.metadata().id) == (0, table.log.table.metadata().id)


def test_columns_that_a_table_lacks_are_added_with_their_statistics(table: Table) -> None:
    table.land(0, 1)
    log = prepare(table.location, extended(table, STATUS, statistics=("status",)))
    added = log.table.schema().fields[-1]
    assert (added.name, str(added.type), added.metadata) == (
        "status",
        'PrimitiveType("integer")',
        {"comment": STATUS.comment},
    )
    assert log.table.metadata().configuration["delta.dataSkippingStatsColumns"] == "ts,host,offset,status"
    assert prepare(table.location, extended(table, STATUS)).version == log.version
    version = log.version
    assert table.land(1, 2, log=log) == version + 1
    assert table.offsets() == [1, 2]


def test_statistics_that_the_user_chose_stay(tmp_path: Path) -> None:
    chosen = {"delta.dataSkippingStatsColumns": "ts"}
    table = Table(tmp_path / "lines", chosen)
    log = prepare(table.location, extended(table, STATUS, statistics=("status",)))
    assert log.table.metadata().configuration["delta.dataSkippingStatsColumns"] == "ts"


def test_a_column_that_the_configuration_does_not_name_stays(table: Table) -> None:
    prepare(table.location, extended(table, STATUS))
    log = prepare(table.location, table.layout)
    assert log.table.schema().fields[-1].name == "status"


@pytest.mark.parametrize(
    ("column", "types"), [("HOST", "is string, but bigint in the configuration"), ("tags", "is array<string>, but")]
)
def test_a_column_keeps_its_type(table: Table, column: str, types: str) -> None:
    with pytest.raises(Refused, match=f"the column {column} of the table .*lines {types}"):
        prepare(table.location, replace(table.layout, columns=(Column(column, "BIGINT", ""),)))


def test_a_directory_that_cannot_be_created_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SinkError, match=r"cannot create the table .*file/lines"):
        prepare(Location(str(tmp_path / "file" / "lines")), Layout(COLUMNS, "Lines"))


def test_a_log_that_cannot_be_read_is_an_error(table: Table) -> None:
    table.land(0, 1)
    table.log_file(0).write_text("no JSON")
    with pytest.raises(SinkError, match=r"open.* the table .*: its file _delta_log/0+\.json is damaged.*from a backup"):
        prepare(table.location, table.layout)
    shutil.rmtree(table.path)
    assert prepare(table.location, table.layout).append(table.write(lines(1)), None) == 1
