"""How tables are made and extended, on real tables."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from config.sink.maintenance import MaintenanceConfig, VacuumConfig
from config.sink.tables import ColumnConfig, ColumnType, TableConfig
from config.sink.times import DAY
from spark_sink.errors import Refused
from spark_sink.landing.staged import Unnamed, stage
from spark_sink.records.schema import LINES, Column
from spark_sink.records.transform import Transform, fenced
from spark_sink.storage.layout import Layout, of_lines, prepare, retention_properties
from spark_sink.storage.tables import Table
from tests.unit.spark_sink.conftest import sink_config
from tests.unit.spark_sink.kafka_records import records

pytestmark = pytest.mark.spark

PLAIN = (Column("id", "BIGINT", "it's the name"), Column("text", "STRING", ""))


def own(name: str, kind: ColumnType) -> ColumnConfig:
    return ColumnConfig(name=name, path=f"http.{name}", type=kind)


class Lab:
    """One table of lines, and a configuration that changes."""

    def __init__(self, spark: SparkSession, directory: Path) -> None:
        self.spark = spark
        self.table = Table(spark, str(directory / "lines"))
        self.config = sink_config(directory)

    def prepare(self, *columns: ColumnConfig, **table: Any) -> list[str]:
        self.config = replace(self.config, columns=columns, table=TableConfig(path=self.table.path, **table))
        layout = of_lines(self.config, Transform(self.config).columns)
        return list(prepare(self.table.snapshot(), layout).notes)

    def land(self, http: str) -> None:
        value = ('{"@timestamp":"2026-11-21T09:30:00Z","http":{' + http + "}}").encode()
        transform = Transform(self.config)
        rows = transform.good(fenced(transform.parse(records(self.spark, [("", value)]))))
        stage(self.table, rows).commit(Unnamed.NOT_A_BATCH)

    def rows(self, *columns: str) -> list[Row]:
        return sorted(self.table.read().select(*columns).collect(), key=str)

    @property
    def detail(self) -> Row:
        return self.spark.sql(f"DESCRIBE DETAIL {self.table.name}").collect()[0]


@pytest.fixture
def lab(spark: SparkSession, tmp_path: Path) -> Lab:
    return Lab(spark, tmp_path)


def comments(table: Table) -> dict[str, str | None]:
    return {field.name: field.metadata.get("comment") for field in table.read().schema}


def test_a_new_table_has_columns_comments_properties_and_partitions(lab: Lab) -> None:
    assert lab.prepare(own("status", "int"), comment="It's ours", properties={"delta.appendOnly": True}) == []
    assert comments(lab.table) == {**{column.name: column.comment for column in LINES}, "status": "http.status"}
    assert (lab.detail.partitionColumns, lab.detail.clusteringColumns) == (["date"], [])
    assert lab.detail.description == "It's ours"
    assert lab.detail.properties["delta.appendOnly"] == "true"


def test_a_table_can_go_back_as_long_as_its_files_stay_and_vacuum_finds_its_log_long_enough(lab: Lab) -> None:
    assert {**retention_properties(0), **retention_properties(7 * DAY)} == retention_properties(6.5 * DAY)
    lab.config = replace(lab.config, maintenance=MaintenanceConfig(vacuum=VacuumConfig(retain=29.5 * DAY)))
    lab.prepare()
    assert {name: lab.detail.properties[name] for name in retention_properties(0)} == {
        "delta.checkpointInterval": "100",
        "delta.deletedFileRetentionDuration": "interval 30 days",
        "delta.logRetentionDuration": "interval 33 days",
    }


def test_a_table_may_be_clustered_and_rows_land_in_it(lab: Lab) -> None:
    lab.prepare(own("status", "int"), partition_by="none", cluster_by=("host", "status"))
    assert (lab.detail.partitionColumns, lab.detail.clusteringColumns) == ([], ["host", "status"])
    lab.land('"status":404')
    assert lab.prepare(own("status", "int"), partition_by="none", cluster_by=("host", "status")) == []
    assert lab.rows("status") == [Row(status=404)]


def test_what_queries_filter_by_has_statistics_and_what_is_long_has_none(lab: Lab) -> None:
    lab.prepare(own("status", "int"), own("tried", "boolean"))
    lab.land('"status":404')
    log = lab.spark.read.json(f"{lab.table.path}/_delta_log/*1.json").where("add IS NOT NULL")
    stats = log.selectExpr("from_json(add.stats, 'minValues MAP<STRING, STRING>').minValues AS low").collect()[0].low
    assert set(stats) <= {
        "ts",
        "host",
        "path",
        "file_id",
        "offset",
        *("topic", "partition", "kafka_offset", "kafka_ts"),
        "status",
    }
    assert {"ts", "topic", "partition", "kafka_offset", "status"} <= set(stats)


def test_a_new_column_comes_behind_the_others_and_old_rows_have_null_there(lab: Lab) -> None:
    lab.prepare(own("status", "int"))
    lab.land('"status":404,"method":"GET"')
    assert lab.prepare(own("method", "string"), own("status", "int")) == []
    lab.land('"status":200,"method":"PUT"')
    assert lab.table.read().columns[-2:] == ["status", "method"]
    assert comments(lab.table)["method"] == "http.method"
    assert lab.rows("status", "method") == [Row(status=200, method="PUT"), Row(status=404, method=None)]
    assert lab.detail.properties["delta.dataSkippingStatsColumns"].endswith(",status,method")


def test_a_column_that_is_no_longer_wanted_stays_and_new_rows_have_null_there(lab: Lab) -> None:
    lab.prepare(own("status", "int"))
    lab.land('"status":404')
    lab.prepare()
    lab.land('"status":200')
    assert lab.rows("status") == [Row(status=404), Row(status=None)]


@pytest.mark.parametrize(("old", "new"), [("int", "string"), ("int", "bigint"), ("bigint", "int")])
def test_a_column_keeps_its_type(old: ColumnType, new: ColumnType, lab: Lab) -> None:
    lab.prepare(own("status", old))
    with pytest.raises(
        Refused, match=rf"column Status of the table .*lines is {old}, and the configuration has {new}.* another name"
    ):
        lab.prepare(own("Status", new), own("other", "string"))
    assert "other" not in lab.table.read().columns


def test_a_table_of_another_layout_is_used_as_it_is_and_reported(lab: Lab) -> None:
    lab.prepare()
    (note,) = lab.prepare(partition_by="none", cluster_by=("host",))
    assert note == (
        f"the table {lab.table.path} is partitioned by date, and stays so: table.partition_by and table.cluster_by "
        "(clustered by host) are for new tables"
    )
    lab.land('"status":404')
    assert lab.table.read().count() == 1


def test_a_table_without_our_choice_of_statistics_keeps_its_own(spark: SparkSession, tmp_path: Path) -> None:
    table = Table(spark, str(tmp_path / "old"))
    spark.sql(f"CREATE TABLE {table.name} (id BIGINT) USING DELTA")
    prepare(table.snapshot(), Layout(PLAIN, "plain", statistics=("id", "text")))
    assert table.read().columns == ["id", "text"]
    properties = spark.sql(f"DESCRIBE DETAIL {table.name}").collect()[0].properties
    assert "delta.dataSkippingStatsColumns" not in properties


def test_preparing_again_changes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    table = Table(spark, str(tmp_path / "it's `one`"))
    for _ in range(2):
        prepare(table.snapshot(), Layout(PLAIN, "it's plain"))
    assert (table.version(), comments(table)) == (0, {"id": "it's the name", "text": ""})
