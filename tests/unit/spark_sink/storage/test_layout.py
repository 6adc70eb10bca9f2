"""What a table is to look like, from the configuration."""

from dataclasses import replace
from pathlib import Path

from config.sink.maintenance import MaintenanceConfig, VacuumConfig
from config.sink.tables import ColumnConfig, ColumnType, TableConfig
from config.sink.times import DAY
from spark_sink.rows.options import columns_of
from spark_sink.storage.layout import of_lines, retention_properties
from tests.unit.spark_sink.conftest import sink_config


def own(name: str, kind: ColumnType) -> ColumnConfig:
    return ColumnConfig(name=name, path=f"http.{name}", type=kind)


def test_what_queries_filter_by_has_statistics_and_what_is_long_has_none(tmp_path: Path) -> None:
    config = sink_config(tmp_path, columns=(own("status", "int"), own("tried", "boolean")))
    layout = of_lines(config, columns_of(config))
    assert layout.statistics == (
        *("ts", "host", "path", "file_id", "offset"),
        *("topic", "partition", "kafka_offset", "kafka_ts", "status"),
    )


def test_a_table_without_partitions_has_statistics_of_the_date(tmp_path: Path) -> None:
    config = sink_config(tmp_path)
    config = replace(config, table=TableConfig(path=config.table.path, partition_by="none"))
    layout = of_lines(config, columns_of(config))
    assert layout.partition_by == ""
    assert "date" in layout.statistics


def test_a_table_can_go_back_as_long_as_its_files_stay_and_vacuum_finds_its_log_long_enough(tmp_path: Path) -> None:
    assert {**retention_properties(0), **retention_properties(7 * DAY)} == retention_properties(6.5 * DAY)
    config = sink_config(tmp_path)
    config = replace(config, maintenance=MaintenanceConfig(vacuum=VacuumConfig(retain=29.5 * DAY)))
    properties = of_lines(config, columns_of(config)).all_properties
    assert {name: properties[name] for name in retention_properties(0)} == {
        "delta.checkpointInterval": "25",
        "delta.deletedFileRetentionDuration": "interval 30 days",
        "delta.logRetentionDuration": "interval 33 days",
    }
