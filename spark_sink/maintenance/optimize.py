"""Compacts small files (OPTIMIZE): those of dates that get no more rows, and today's where they are very many.

A file is small below half the target size: two of those always fit in one, so each run that finds any leaves fewer.
OPTIMIZE changes no row, and Delta lets appends pass while it runs; of two that compact the same files the later one
fails, and finds nothing left to do when it is retried.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from pyspark.sql import SparkSession

from log_shipper.config.sink.maintenance import OptimizeConfig
from log_shipper.spark_sink.maintenance.sizes import DateFiles, Sizes
from log_shipper.spark_sink.storage.spark_tables import Table

DELTA_TARGET = 1024**3  # spark.databricks.delta.optimize.maxFileSize as Delta has it
LIMITS = ("spark.databricks.delta.optimize.minFileSize", "spark.databricks.delta.optimize.maxFileSize")


@dataclass(frozen=True, slots=True)
class OptimizeResult:
    """The files and bytes that one OPTIMIZE removed, and those that it added in their place."""

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


def plan(sizes: Sizes, config: OptimizeConfig, now: datetime) -> Iterator[DateFiles]:
    """Yield the dates whose files are worth compacting, oldest first. A table that is not partitioned by date counts as
    one date, which is compacted at any time."""
    for day in sorted(sizes.by_date, key=lambda day: day.date or date.min):
        if sizes.dated and day.date is None:
            continue  # bad dates: few, and nothing asks for them by date
        closed = day.date is None or is_closed(day.date, config.closed_after, now)
        if day.most_in_directory >= (config.min_files if closed else config.open_min_files):
            yield day


def is_closed(day: date, after: float, now: datetime) -> bool:
    """Return True if the day ended, in UTC, that many seconds ago."""
    end = datetime.combine(day, time(), UTC) + timedelta(days=1)
    return end + timedelta(seconds=after) <= now


def compact(table: Table, day: date | None) -> OptimizeResult:
    """Run OPTIMIZE on one date, or on the whole table: one commit, so that a kill loses the work of one date."""
    only = f" WHERE date = DATE'{day.isoformat()}'" if day else ""
    metrics = table.spark.sql(f"OPTIMIZE {table.name}{only}").collect()[0]["metrics"]
    return OptimizeResult(
        metrics["numFilesRemoved"],
        metrics["numFilesAdded"],
        metrics["filesRemoved"]["totalSize"] or 0,
        metrics["filesAdded"]["totalSize"] or 0,
    )
