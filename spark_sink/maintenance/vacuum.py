"""Deletes the files that no version of the last days needs (VACUUM).

`lite` asks the log which files were taken out, and lists no directory. It needs the log back to the last VACUUM LITE:
Delta deletes its own log after `delta.logRetentionDuration`, and then refuses with DELTA_CANNOT_VACUUM_LITE.
`full` lists the directory, and so finds also what no version ever named: the files of a batch that was killed.

Delta notes in `_last_vacuum_info` how far a LITE has come, and a FULL empties that note, after which no LITE would ever
work again in a table whose log was cleaned once. So after a FULL the note is written as that FULL has earned it.
"""

import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark.sql import SparkSession

from spark_sink.errors import SPARK_ERRORS, Refused
from spark_sink.storage.tables import Table

# Delta cuts the listing of a directory, however small, into as many tasks: Spark's default is 10,000, which is minutes.
LISTING = "spark.sql.sources.parallelPartitionDiscovery.parallelism"
TASKS_A_CORE = 4
CHECK = "spark.databricks.delta.retentionDurationCheck.enabled"
SHORTEST = 3600.0
LISTED = 1000  # a dry run of Delta lists no more files


class LogTooShort(Exception):
    """VACUUM LITE does not find in the log what was taken out since the last one."""


@dataclass(frozen=True, slots=True)
class Deleted:
    """None: this file system's VACUUM is not noted in the log."""

    files: int | None
    bytes: int | None


def candidates(table: Table, lite: bool, retain: float) -> int:
    """Return how many files and empty directories would be deleted; LISTED means that many or more. Raises
    LogTooShort."""
    return _vacuum(table, lite, retain, " DRY RUN")


def vacuum(table: Table, lite: bool, retain: float) -> Deleted:
    """Raises LogTooShort. `retain` is what the configuration allows: at least SHORTEST."""
    before = table.version()
    reached = None if lite else table.log.version_at(time.time() - _whole_hours(retain) * 3600)
    _vacuum(table, lite, retain, "")
    if reached is not None:
        table.log.note_vacuumed(reached)
    return _deleted(table, before)


def _vacuum(table: Table, lite: bool, retain: float, suffix: str) -> int:
    if retain < SHORTEST:
        raise Refused(
            f"maintenance.vacuum.retain is {retain:g} s: less than an hour would delete files of the batch in progress"
        )
    mode, cores = "LITE" if lite else "FULL", table.spark.sparkContext.defaultParallelism
    # Delta's check is for a mistyped number. The configuration has warned of less than seven days, and a `retain` that
    # was made shorter is meant, though the table's property says more.
    with _settings(table.spark, {CHECK: "false", LISTING: str(TASKS_A_CORE * cores)}):
        try:
            return table.spark.sql(f"VACUUM {table.name} {mode} RETAIN {_whole_hours(retain)} HOURS{suffix}").count()
        except SPARK_ERRORS as error:
            if re.search("DELTA_CANNOT_VACUUM_LITE|cannot delete all eligible files", str(error)):
                raise LogTooShort from error
            raise


@contextmanager
def _settings(spark: SparkSession, values: Mapping[str, str]) -> Iterator[None]:
    before = {name: spark.conf.get(name, None) for name in values}
    for name, value in values.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            spark.conf.unset(name) if old is None else spark.conf.set(name, old)


def _whole_hours(seconds: float) -> int:
    return -int(-seconds // 3600)


def _deleted(table: Table, before: int) -> Deleted:
    history = table.spark.sql(f"DESCRIBE HISTORY {table.name} LIMIT 50").where(f"version > {before}")
    metrics: dict[str, str] = {}
    for row in history.where("operation LIKE 'VACUUM%'").select("operationMetrics").collect():
        metrics |= row["operationMetrics"] or {}
    files, size = metrics.get("numDeletedFiles"), metrics.get("sizeOfDataToDelete")
    return Deleted(None if files is None else int(files), None if size is None else int(size))
