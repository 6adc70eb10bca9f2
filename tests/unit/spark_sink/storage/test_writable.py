"""Which tables of other programs the sink writes to, and by which name it refuses the others."""

from pathlib import Path

import pytest
from deltalake import DeltaTable, Field, Schema
from deltalake.schema import PrimitiveType
from pyspark.sql import SparkSession

from log_shipper.spark_sink.errors import Refused
from log_shipper.spark_sink.storage.commits import CommitLog
from log_shipper.spark_sink.storage.locations import Location
from tests.java import needs_delta

pytestmark = [pytest.mark.spark, needs_delta]

PLAIN = "n BIGINT, text STRING"

# Columns and properties of a table -> what the refusal names.
REFUSED = {
    ("n BIGINT NOT NULL, text STRING", ""): "the column n with NOT NULL",
    ("n BIGINT, text VARCHAR(5)", ""): "the column text with a maximum length",
    ("n BIGINT, text STRING, doc VARIANT", ""): "the table feature variantType",
    ("n BIGINT, text STRING DEFAULT 'x'", "'delta.feature.allowColumnDefaults' = 'supported'"): (
        "the table feature allowColumnDefaults; the column text with a default value"
    ),
    (PLAIN, "'delta.columnMapping.mode' = 'name'"): "the table feature columnMapping",
    (PLAIN, "'delta.enableInCommitTimestamps' = 'true'"): "the table feature inCommitTimestamp",
    (PLAIN, "'delta.enableRowTracking' = 'true'"): "the table feature domainMetadata; the table feature rowTracking",
    (PLAIN, "'delta.enableTypeWidening' = 'true'"): "the table feature typeWidening",
    (PLAIN, "'delta.constraints.small' = 'n < 10'"): "the CHECK constraint small",
}
WRITTEN = {
    "appendOnly": "'delta.appendOnly' = 'true'",
    "changeDataFeed": "'delta.enableChangeDataFeed' = 'true'",
    "deletionVectors": "'delta.enableDeletionVectors' = 'true'",
    "v2Checkpoint": "'delta.checkpointPolicy' = 'v2'",
}


def opened(spark: SparkSession, path: Path, columns: str, more: str) -> CommitLog:
    spark.sql(f"CREATE TABLE delta.`{path}` ({columns}) USING DELTA {more}")
    location = Location(str(path))
    table = location.open()
    assert table is not None
    return CommitLog(location, table)


@pytest.mark.parametrize(("columns", "properties"), REFUSED)
def test_a_table_that_demands_more_is_refused(
    spark: SparkSession, tmp_path: Path, columns: str, properties: str
) -> None:
    more = f"TBLPROPERTIES ({properties})" if properties else ""
    with pytest.raises(Refused, match=f"has .*{REFUSED[columns, properties]}.*cannot write to such a table"):
        opened(spark, tmp_path / "table", columns, more)


def test_a_clustered_table_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(Refused, match=r"the table feature clustering.*at another path"):
        opened(spark, tmp_path / "table", PLAIN, "CLUSTER BY (n)")


def test_generated_columns_are_refused(tmp_path: Path) -> None:
    long = PrimitiveType("long")
    columns = [Field("n", long), Field("twice", long, metadata={"delta.generationExpression": "n * 2"})]
    table = DeltaTable.create(str(tmp_path / "table"), Schema(columns))
    with pytest.raises(Refused, match="the column twice with generated values"):
        CommitLog(Location(str(tmp_path / "table")), table)


@pytest.mark.parametrize("feature", WRITTEN)
def test_features_that_an_append_meets_are_no_obstacle(spark: SparkSession, tmp_path: Path, feature: str) -> None:
    log = opened(spark, tmp_path / "table", PLAIN, f"TBLPROPERTIES ({WRITTEN[feature]})")
    assert log.append([], None) == 1
    assert spark.sql(f"DESCRIBE HISTORY delta.`{tmp_path / 'table'}`").count() == 2
