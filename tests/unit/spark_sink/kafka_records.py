"""Records as Spark's Kafka source gives them."""

from collections.abc import Sequence
from datetime import datetime

from pyspark.sql import DataFrame, SparkSession

NOW = datetime(2026, 11, 21, 9, 31, 0, 123000)


def records(
    spark: SparkSession, values: Sequence[tuple[str, bytes | None]], topics: tuple[str, ...] = ("logs",)
) -> DataFrame:
    """The key is the name, the offset the place in the list; the topics come in turn."""
    rows = [
        (name.encode(), value, topics[index % len(topics)], index % 3, index, NOW, 0)
        for index, (name, value) in enumerate(values)
    ]
    columns = (
        "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP, timestampType INT"
    )
    return spark.createDataFrame(rows, columns)
