"""What a table is to look like, from the configuration."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyarrow.dataset import field

from log_shipper.config.text.spans import DAY
from log_shipper.spark_sink.options.maintenance import MaintenanceConfig, VacuumConfig
from log_shipper.spark_sink.options.tables import ColumnConfig, ColumnType, TableConfig
from log_shipper.spark_sink.rows.schema import arrow_schema
from log_shipper.spark_sink.storage.creation import prepare
from log_shipper.spark_sink.storage.data_files import FileLayout
from log_shipper.spark_sink.storage.layout import of_lines, retention_properties
from log_shipper.spark_sink.storage.locations import Location
from tests.unit.spark_sink.conftest import sink_config
from tests.unit.spark_sink.maintenance.tables import commit


def own(name: str, kind: ColumnType) -> ColumnConfig:
    return ColumnConfig(name=name, path=f"http.{name}", type=kind)


def test_what_queries_filter_by_has_statistics_and_what_is_long_has_none(tmp_path: Path) -> None:
    config = sink_config(tmp_path, columns=(own("status", "int"), own("tried", "boolean")))
    layout = of_lines(config)
    assert layout.statistics == (
        *("ts", "host", "path", "file_id", "offset"),
        *("topic", "partition", "kafka_offset", "kafka_ts", "status"),
    )


OWN: dict[ColumnType, object] = {
    "string": "one",
    "boolean": True,
    "int": 1,
    "bigint": 2**40,
    "double": 0.5,
    "timestamp": datetime(2026, 11, 21, tzinfo=UTC),
    "date": datetime(2026, 11, 21, tzinfo=UTC).date(),
}


@pytest.mark.parametrize("kind", OWN)
def test_pyarrow_finds_a_row_by_a_column_of_any_type(tmp_path: Path, kind: ColumnType) -> None:
    config = sink_config(tmp_path, columns=(own("own", kind),))
    layout = of_lines(config)
    log = prepare(Location(config.table.path), layout)
    row = {"message": "one", "date": OWN["date"], "own": OWN[kind]}
    commit(log.table, FileLayout(arrow_schema(layout.columns), "date", layout.statistics), [[row]])
    rows = DeltaTable(config.table.path).to_pyarrow_dataset()
    for filtered in (field("own") == OWN[kind], field("message") == "one", field("host").is_null()):
        assert rows.to_table(filter=filtered).num_rows == 1
    assert rows.to_table(filter=field("own") != OWN[kind]).num_rows == 0


def test_a_table_without_partitions_has_statistics_of_the_date(tmp_path: Path) -> None:
    config = sink_config(tmp_path)
    config = replace(config, table=TableConfig(path=config.table.path, partition_by="none"))
    layout = of_lines(config)
    assert layout.partition_by == ""
    assert "date" in layout.statistics


def test_a_table_can_go_back_as_long_as_its_files_stay_and_vacuum_finds_its_log_long_enough(tmp_path: Path) -> None:
    assert {**retention_properties(0), **retention_properties(7 * DAY)} == retention_properties(6.5 * DAY)
    config = sink_config(tmp_path)
    config = replace(config, maintenance=MaintenanceConfig(vacuum=VacuumConfig(retain=29.5 * DAY)))
    properties = of_lines(config).all_properties
    assert {name: properties[name] for name in retention_properties(0)} == {
        "delta.checkpointInterval": "100",
        "delta.deletedFileRetentionDuration": "interval 30 days",
        "delta.logRetentionDuration": "interval 33 days",
    }
