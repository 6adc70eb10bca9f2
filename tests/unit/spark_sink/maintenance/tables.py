"""Tables as the sink leaves them: many small files, a commit each."""

import os
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import reduce
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_sink import delta
from spark_sink.landing.marks import COLUMNS, MARKS
from spark_sink.storage.creation import prepare
from spark_sink.storage.layout import Layout
from spark_sink.storage.locations import Location
from spark_sink.storage.tables import Table

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def at(days_ago: float) -> datetime:
    return NOW - timedelta(days=days_ago)


def make_lines(spark: SparkSession, path: Path, files: dict[str, int], dated: bool = True) -> Table:
    """So many files of two rows each under each date, by one commit after the one that makes the table."""
    table = Table(spark, str(path))
    partitioning = "PARTITIONED BY (date)" if dated else ""
    spark.sql(f"CREATE TABLE delta.`{path}` (date DATE, message STRING) USING DELTA {partitioning}")
    if files:
        _append(table, reduce(DataFrame.union, (_rows(spark, day, count) for day, count in files.items())))
    return table


def append_files(table: Table, day: str, count: int) -> None:
    _append(table, _rows(table.spark, day, count))


def _rows(spark: SparkSession, day: str, count: int) -> DataFrame:
    ids = spark.range(0, 2 * count, 1, numPartitions=count)  # a file a partition
    return ids.select(F.lit(day).cast("date").alias("date"), F.col("id").cast("string").alias("message"))


def _append(table: Table, rows: DataFrame) -> None:
    rows.write.format("delta").mode("append").save(table.path)


def make_marks(spark: SparkSession, path: Path) -> Table:
    table = Table(spark, str(path))
    prepare(Location(str(path)), Layout(MARKS, "marks"))
    return table


def append_marks(table: Table, rows: Sequence[dict[str, object]]) -> None:
    """One append, as a batch of the job does it."""
    types = ", ".join(f"`{column.name}` {column.type}" for column in MARKS)
    full = [tuple(row.get(name) for name in COLUMNS) for row in rows]
    table.spark.createDataFrame(full, types).coalesce(1).write.format("delta").mode("append").save(table.path)


def file_mark(file_id: str, landing: int, offset: int, days_ago: float = 0.0) -> dict[str, object]:
    day = at(days_ago).date()
    return {
        "kind": "file",
        "landing": landing,
        "at": at(days_ago),
        "table": "lines",
        "host": "web-1",
        "file_id": file_id,
        "offset": offset,
        "first_date": day,
        "last_date": day,
    }


def partition_mark(partition: int, landing: int, end: int, days_ago: float = 0.0) -> dict[str, object]:
    return {
        "kind": "partition",
        "landing": landing,
        "at": at(days_ago),
        "topic": "logs",
        "partition": partition,
        "end_offset": end,
    }


def age(table: Table, days: float) -> None:
    """Makes all that has happened to the table so far happen days earlier: its log says so, and its files' times."""
    earlier = round(days * 86400 * 1000)
    for log in Path(table.path, "_delta_log").glob("*.json"):
        written = re.sub(
            r'"(deletionTimestamp|modificationTime|timestamp)":(\d+)',
            lambda match: f'"{match[1]}":{int(match[2]) - earlier}',
            log.read_text(),
        )
        log.write_text(written)
    for file in Path(table.path).rglob("*"):
        if file.suffix == ".crc":
            file.unlink()  # Hadoop's own checksums, and Delta's: of what was there before
        elif file.is_file():
            then = file.stat().st_mtime - days * 86400
            os.utime(file, (then, then))
    forget_logs(table)


def forget_logs(table: Table) -> None:
    """Delta keeps what it has read of a log."""
    delta.forget_logs(table.spark)


def data_files(table: Table) -> set[str]:
    return {
        str(path.relative_to(table.path))
        for path in Path(table.path).rglob("*.parquet")
        if "_delta_log" not in path.parts
    }


def messages(table: Table) -> list[str]:
    return sorted(row["message"] for row in table.read().select("message").collect())
