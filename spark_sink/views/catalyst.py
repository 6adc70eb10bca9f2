"""Questions to Spark's planner that its public interface does not answer; the only module of `views` that calls the
JVM.

Used: ParserInterface.parseQuery, UnsupportedOperationChecker.checkForStreaming (what a query's start asks first),
LogicalPlan.children and isStreaming, StructType.asNullable and toDDL; StreamingQuery.exception with its causes. All of
Spark 4.0.5, 4.1.1, 4.2.0 and 4.3.0 have them, and give the same answers.
"""

from typing import Any, Literal

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from log_shipper.spark_sink.platform.jvm import java_class

# Nodes of a plan that remember rows from batch to batch; a join does when both of its sides are streams.
STATEFUL = {"Aggregate", "Distinct", "Deduplicate", "DeduplicateWithinWatermark", "GlobalLimit", "Tail", "Offset"}


def parse_query(spark: SparkSession, text: str) -> None:
    """Raise Spark's error for a text that is not a query, even if it is a valid command."""
    spark._jsparkSession.sessionState().sqlParser().parseQuery(text)


def check_streaming(spark: SparkSession, rows: DataFrame, mode: Literal["append", "complete"]) -> None:
    """Raise the error that Spark would raise when the query starts."""
    modes = java_class(spark, "org.apache.spark.sql.streaming.OutputMode")
    checker = java_class(spark, "org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker")
    checker.checkForStreaming(_plan(rows), modes.Append() if mode == "append" else modes.Complete())


def is_stateful(rows: DataFrame) -> bool:
    """Return True if the query remembers rows from batch to batch."""
    return _is_stateful(_plan(rows))


def columns(rows: DataFrame) -> str:
    """Return the columns as CREATE TABLE takes them, with comments. Each may be NULL: the SQL text that replaces this
    one may give NULLs where this one does not."""
    return str(rows._jdf.schema().asNullable().toDDL())


def failure(query: StreamingQuery) -> str:
    """Return what ended a query, with its causes as in a stack trace; empty for one that was stopped, or still runs.

    PySpark's own exception has the outermost message only: that a task failed, not why.
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
