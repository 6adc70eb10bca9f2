"""Calls to Spark's planner beyond its public interface; the only module of `views` that calls the JVM.

Used: ParserInterface.parseQuery, UnsupportedOperationChecker.checkForStreaming (Spark's first check when a query
starts), LogicalPlan.children and isStreaming, StructType.asNullable and toDDL, StreamingQuery.exception with its
causes. They exist, with the same results, in Spark 4.0.5, 4.1.1, 4.2.0 and 4.3.0.
"""

from typing import Any, Literal

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from log_shipper.spark_sink.platform.jvm import java_class

# Stateful nodes of a plan; a join is stateful if both sides are streams.
STATEFUL = {"Aggregate", "Distinct", "Deduplicate", "DeduplicateWithinWatermark", "GlobalLimit", "Tail", "Offset"}


def parse_query(spark: SparkSession, text: str) -> None:
    """Raise Spark's error for a text that is not a query, even if it is a valid command."""
    spark._jsparkSession.sessionState().sqlParser().parseQuery(text)


def check_streaming(spark: SparkSession, rows: DataFrame, mode: Literal["append", "complete"]) -> None:
    """Raise the error that Spark would raise at the query's start."""
    modes = java_class(spark, "org.apache.spark.sql.streaming.OutputMode")
    checker = java_class(spark, "org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker")
    checker.checkForStreaming(_plan(rows), modes.Append() if mode == "append" else modes.Complete())


def is_stateful(rows: DataFrame) -> bool:
    """Return True if the query keeps state between batches."""
    return _is_stateful(_plan(rows))


def columns(rows: DataFrame) -> str:
    """Return the columns for CREATE TABLE, with comments. All are nullable: a later SQL text of the view may return
    NULLs."""
    return str(rows._jdf.schema().asNullable().toDDL())


def failure(query: StreamingQuery) -> str:
    """Return a query's error with its causes, like a stack trace; empty if it was stopped or is running.

    PySpark's own exception has only the outermost message: that a task failed, not why.
    """
    exception = query._jsq.exception()
    if exception.isEmpty():
        return ""
    error = exception.get()
    lines = [str(error.getMessage())]
    while (error := error.getCause()) is not None:
        lines.append(f"Caused by: {error.toString()}")
    return "\n".join(lines)


def _plan(rows: DataFrame) -> Any:
    return rows._jdf.queryExecution().analyzed()


def _is_stateful(plan: Any) -> bool:
    children = [plan.children().apply(number) for number in range(plan.children().size())]
    streams = [child for child in children if child.isStreaming()]
    if streams and plan.getClass().getSimpleName() in STATEFUL:
        return True
    return (len(streams) > 1 and plan.getClass().getSimpleName() == "Join") or any(map(_is_stateful, streams))
