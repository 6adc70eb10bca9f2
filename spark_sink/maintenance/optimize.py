"""Joins the small files of dates that get no more rows (OPTIMIZE). Today's stay as they are: more will come to them.

A file is small below half the size that joined ones shall have: two of those always fit in one, so each run that finds
any leaves fewer. OPTIMIZE changes no row, and Delta lets appends pass while it runs; of two that join the same files
the later one fails, and finds nothing left to do when it tries again.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from pyspark.sql import SparkSession

from config.sink.maintenance import OptimizeConfig
from spark_sink.maintenance.sizes import Part, Sizes
from spark_sink.storage.tables import Table

DELTA_TARGET = 1024**3  # spark.databricks.delta.optimize.maxFileSize as Delta has it
LIMITS = ("spark.databricks.delta.optimize.minFileSize", "spark.databricks.delta.optimize.maxFileSize")


@dataclass(frozen=True, slots=True)
class Joined:
    """Files and bytes that one OPTIMIZE took away and put in their place."""

    files_before: int
    files_after: int
    bytes_before: int
    bytes_after: int


def small_size(config: OptimizeConfig) -> int:
    return (config.target_size or DELTA_TARGET) // 2


def set_target(spark: SparkSession, config: OptimizeConfig) -> None:
    if config.target_size is not None:
        for name in LIMITS:
            spark.conf.set(name, str(config.target_size))


def plan(found: Sizes, config: OptimizeConfig, now: datetime) -> Iterator[Part]:
    """Return the parts worth joining, oldest first. A table without dates is one part, and never closed: it goes as it
    is."""
    for part in sorted(found.parts, key=lambda part: part.date or date.min):
        closed = not found.dated or (part.date is not None and is_closed(part.date, config.closed_after, now))
        if closed and part.crowd >= config.min_files:
            yield part


def is_closed(day: date, after: float, now: datetime) -> bool:
    """Return True if the day ended, in UTC, that many seconds ago."""
    end = datetime.combine(day, time(), UTC) + timedelta(days=1)
    return end + timedelta(seconds=after) <= now


def join(table: Table, day: date | None) -> Joined:
    """One commit; a date each, so that a kill between two of them loses the work of one."""
    only = f" WHERE date = DATE'{day.isoformat()}'" if day else ""
    metrics = table.spark.sql(f"OPTIMIZE {table.name}{only}").collect()[0]["metrics"]
    return Joined(
        metrics["numFilesRemoved"],
        metrics["numFilesAdded"],
        metrics["filesRemoved"]["totalSize"] or 0,
        metrics["filesAdded"]["totalSize"] or 0,
    )
