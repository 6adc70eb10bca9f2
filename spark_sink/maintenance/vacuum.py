"""Deletes the files that no version of the last days needs (VACUUM).

`full` lists the directory, and so also finds the files that no version ever named, those of a batch that was killed.
`lite` finds the removed files in the log, and lists no directory. It needs the log back to the last VACUUM LITE: Delta
deletes its own log after `delta.logRetentionDuration`, and then refuses with DELTA_CANNOT_VACUUM_LITE.

A file of a batch in flight looks like one of a batch that was killed: it is in no version either. Only its age tells
them apart. So no file is deleted that was written after the first pending batch was planned, however long ago that is
(`kept_for`): its process may have been suspended, and would commit files that are missing. Ages are the difference of
two clocks, this host's and the file system's, so the difference between them counts, too (`clock_ahead`).

Delta records in `_last_vacuum_info` up to which version a LITE has deleted. A FULL empties that record, after which no
LITE would ever work again in a table whose log was cleaned once. So after a FULL the version that it has reached is
written there.
"""

import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import uuid4

import pyarrow as pa
from pyspark.sql import SparkSession

from log_shipper.spark_sink.errors import Refused, SinkError
from log_shipper.spark_sink.platform.spark_errors import SPARK_ERRORS
from log_shipper.spark_sink.storage.locations import Location
from log_shipper.spark_sink.storage.spark_tables import Table

# Delta lists a directory, however small, in this many tasks: Spark's default is 10,000, which takes minutes.
LISTING = "spark.sql.sources.parallelPartitionDiscovery.parallelism"
TASKS_A_CORE = 4
CHECK = "spark.databricks.delta.retentionDurationCheck.enabled"
SHORTEST = 3600.0
CLOCKS_DIFFER = 60.0  # seconds; an object store reports whole ones, and an hour is rounded up to anyway
LISTED = 1000  # a dry run of Delta lists no more files


class LogTooShort(Exception):
    """Raised where the log does not go back to the last VACUUM LITE, so not all removed files are known."""


@dataclass(frozen=True, slots=True)
class Deleted:
    """The files and bytes that a VACUUM deleted; None on a file system where Delta does not record that in the log."""

    files: int | None
    bytes: int | None


def clock_ahead(location: Location, now: Callable[[], float] = time.time) -> float:
    """Return by how many seconds this host's clock is ahead of the file system's; 0 where they agree to a minute, or
    the file system's is ahead. Writes an empty file and deletes it. Raises SinkError where it may not."""
    name = f"_spark_sink_clock_{uuid4().hex}"  # a name that begins with _ is no data file to anyone
    try:
        files = location.files()
        before = now()
        with files.open_output_stream(name):
            pass
        modified = files.get_file_info(name).mtime_ns
        files.delete_file(name)
    except (OSError, pa.ArrowException) as error:
        raise SinkError(f"cannot compare the clocks: no file can be written to {location.path}: {error}") from error
    ahead = before - modified / 1e9
    return ahead if ahead > CLOCKS_DIFFER else 0.0


def kept_for(retain: float, uncommitted_since: float, ahead: float) -> float:
    """Return for how many seconds files are kept, so that none of a batch in flight is deleted.

    `uncommitted_since`: no file that is to be committed was written before (seconds of the epoch); `ahead`: as of
    `clock_ahead`.
    """
    return max(retain, time.time() - uncommitted_since) + ahead


def candidates(table: Table, lite: bool, retain: float) -> int:
    """Return how many files and empty directories would be deleted; LISTED stands for that many or more.

    Raises LogTooShort.
    """
    return _vacuum(table, lite, retain, " DRY RUN")


def vacuum(table: Table, lite: bool, retain: float) -> Deleted:
    """Delete the files. `retain` is at least SHORTEST, as the configuration demands. Raises LogTooShort."""
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
    # is shorter than the table's property is intended.
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
