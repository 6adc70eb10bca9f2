"""The training run, which must go the sink's whole way to name the classes of it."""

from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from log_shipper.spark_sink.options.model import SinkConfig
from log_shipper.spark_sink.platform.class_training import train
from log_shipper.spark_sink.platform.training_topic import TOPIC

pytestmark = pytest.mark.spark


def test_the_training_lands_two_batches_with_repeats_and_bad_records(spark: SparkSession, config: SinkConfig) -> None:
    batches = train(spark, config)
    assert [(batch.rows, batch.repeats, batch.bad) for batch in batches] == [(4, 0, 1), (2, 2, 1)]
    rows = DeltaTable(config.table.path).to_pyarrow_dataset().to_table(columns=["offset", "topic"]).to_pylist()
    assert sorted((row["offset"], row["topic"]) for row in rows) == [(offset, TOPIC) for offset in range(6)]
    assert sorted(path.name for path in Path(config.checkpoint.path, "commits").glob("[0-9]*")) == ["0", "1"]
