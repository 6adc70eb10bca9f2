"""Spark's SQL and our own code judge the same records: good, odd and hostile ones."""

from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from config.sink.tables import TableConfig
from tests.model.seeds import seeds
from tests.unit.spark_sink.conftest import sink_config
from tests.unit.spark_sink.rows.hostile_records import records
from tests.unit.spark_sink.rows.verdicts import OWN, PATH, by_ours, by_sql, differences

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("seed", seeds(2))
def test_both_ways_give_the_same_verdicts_and_values(seed: int, spark: SparkSession, tmp_path: Path) -> None:
    config = replace(sink_config(Path("/data")), columns=tuple(OWN), table=TableConfig(path=PATH))
    given = records(seed, 2000)
    sql, ours = by_sql(spark, config, given, tmp_path / "records.parquet"), by_ours(config, given)
    assert differences(given, sql, ours) == []
    good = sum(outcome.row is not None for outcome in ours)
    assert 500 < good < 1500
