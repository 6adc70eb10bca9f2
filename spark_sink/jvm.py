"""Spark's Java, for what PySpark has no words for: by Py4J, so each call is a round trip, and none of it is typed."""

from typing import Any

from pyspark.sql import SparkSession


def jvm(spark: SparkSession) -> Any:
    """The root of all packages. Of a session that runs."""
    assert spark._jvm is not None
    return spark._jvm


def listed(sequence: Any) -> list[Any]:
    """The items of a Scala Seq."""
    return [sequence.apply(index) for index in range(sequence.size())]


def nothing(spark: SparkSession) -> Any:
    """Scala's None."""
    return jvm(spark).scala.Option.empty()
