"""A few rows of the driver as a DataFrame that is made in the JVM.

PySpark's `createDataFrame` sends a list through a Python process on an executor. A small session would start one for
every batch, and executors would need Python, which nothing else in the sink requires.
"""

import json
from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession

from log_shipper.spark_sink.records.schema import Column

Value = str | int | None


def local_rows(spark: SparkSession, columns: Sequence[Column], rows: Sequence[Sequence[Value]]) -> DataFrame:
    """Return the rows as a DataFrame with these columns. Times and dates are given as ISO 8601 text."""
    names = [column.name for column in columns]
    text = json.dumps([dict(zip(names, row, strict=True)) for row in rows])
    types = ", ".join(f"`{column.name}`: {column.type}" for column in columns)
    return spark.sql(f"SELECT inline(from_json(:rows, 'array<struct<{types}>>'))", args={"rows": text})
