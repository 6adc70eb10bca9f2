"""Records as Spark's Kafka source gives them."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType

from pyspark.sql import DataFrame, SparkSession

from log_shipper.spark_sink.records.schema import HEADERS_TYPE

Headers = Sequence[tuple[str, bytes]]
NOW = datetime(2026, 11, 21, 9, 31, 0, 123000)


def records(
    spark: SparkSession,
    values: Sequence[tuple[str, bytes | None]],
    topics: tuple[str, ...] = ("logs",),
    headers: Mapping[str, Headers] = MappingProxyType({}),
) -> DataFrame:
    """Return records whose key is the name and whose offset is the place in the list, in alternating topics."""
    rows = [
        (name.encode(), value, headers.get(name), topics[index % len(topics)], index % 3, index, NOW, 0)
        for index, (name, value) in enumerate(values)
    ]
    columns = (
        f"key BINARY, value BINARY, headers {HEADERS_TYPE}, topic STRING, partition INT, offset BIGINT, "
        "timestamp TIMESTAMP, timestampType INT"
    )
    return spark.createDataFrame(rows, columns)
