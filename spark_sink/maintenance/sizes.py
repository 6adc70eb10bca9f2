"""What a table consists of, from Delta's log alone: no file of the table is opened.

The log names each file with its size and, where Delta kept statistics, its number of rows. Files are counted by Spark;
to the driver comes a row a date.
"""

from dataclasses import dataclass
from datetime import date, datetime

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from spark_sink.storage.tables import Table

DATE = "date"


@dataclass(frozen=True, slots=True)
class Part:
    """The files of one date; of the whole table (`date` is None) where it is not partitioned by date."""

    date: date | None
    files: int
    small: int
    crowd: int  # the most small files that share a directory: only those can be joined
    bytes: int
    rows: int | None  # None when a file has no statistics


@dataclass(frozen=True, slots=True)
class Sizes:
    """One version of a table."""

    version: int
    committed: datetime
    dated: bool  # partitioned by date, perhaps by more
    parts: tuple[Part, ...]

    @property
    def files(self) -> int:
        return sum(part.files for part in self.parts)

    @property
    def small(self) -> int:
        return sum(part.small for part in self.parts)

    @property
    def bytes(self) -> int:
        return sum(part.bytes for part in self.parts)

    @property
    def rows(self) -> int | None:
        counts = [part.rows for part in self.parts]
        return None if None in counts else sum(count or 0 for count in counts)

    @property
    def dates(self) -> tuple[date, ...]:
        return tuple(sorted(part.date for part in self.parts if part.date is not None))


def sizes(table: Table, small: int) -> Sizes | None:
    """`small`: below how many bytes a file counts as small. None when there is no table."""
    snapshot = table.log.snapshot()
    if not snapshot.exists:
        return None
    return Sizes(
        version=snapshot.version,
        committed=snapshot.committed,
        dated=DATE in snapshot.partition_columns,
        parts=tuple(map(_part, _by_date(snapshot.files(), small).collect())),
    )


def _by_date(files: DataFrame, small: int) -> DataFrame:
    rows = F.get_json_object("stats", "$.numRecords").cast("bigint")
    directories = files.groupBy(
        F.col("partitionValues")[DATE].cast("date").alias("date"), F.to_json("partitionValues").alias("directory")
    ).agg(
        F.count("*").alias("files"),
        F.count_if(F.col("size") < small).alias("small"),
        F.sum("size").alias("bytes"),
        F.sum(rows).alias("rows"),
        F.count_if(rows.isNull()).alias("uncounted"),
    )
    return directories.groupBy("date").agg(
        F.sum("files").alias("files"),
        F.sum("small").alias("small"),
        F.max("small").alias("crowd"),
        F.sum("bytes").alias("bytes"),
        F.when(F.sum("uncounted") == 0, F.sum("rows")).alias("rows"),
    )


def _part(row: Row) -> Part:
    return Part(row["date"], row["files"], row["small"], row["crowd"], row["bytes"], row["rows"])


def readable_bytes(count: int) -> str:
    """1536 is "1.5 KiB"."""
    size = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"
