"""What goes into a conversion and what comes out of it. All of it can be sent to another process."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

import pyarrow as pa

from log_shipper.spark_sink.options.tables import ColumnConfig, DocMode
from log_shipper.spark_sink.options.template import Template
from log_shipper.spark_sink.rows.place_headers import Headers


@dataclass(frozen=True, slots=True)
class RowOptions:
    """What the configuration says about rows. `template`: of the tables' path, of which there may be `max_tables`;
    `by_date`: the rows of each date are a part of their own."""

    template: Template
    columns: tuple[ColumnConfig, ...] = ()
    doc: DocMode = "rest"
    by_date: bool = True
    max_tables: int = 100


@dataclass(frozen=True, slots=True)
class KafkaRecords:
    """Records of one partition, as columns of equal length. `times`: Kafka's, in milliseconds of the epoch; `headers`:
    None for a record without any."""

    topic: str
    partition: int
    offsets: Sequence[int]
    times: Sequence[int]
    keys: Sequence[bytes | None]
    values: Sequence[bytes | None]
    headers: Sequence[Headers | None]

    def __len__(self) -> int:
        return len(self.offsets)


@dataclass(frozen=True, slots=True)
class PartitionRecords:
    """Records of one partition that were read. `oldest` and `newest`: by Kafka's times, in seconds of the epoch; None
    where no record has a time."""

    count: int
    oldest: float | None = None
    newest: float | None = None

    def merged(self, other: "PartitionRecords") -> "PartitionRecords":
        oldest = [time for time in (self.oldest, other.oldest) if time is not None]
        newest = [time for time in (self.newest, other.newest) if time is not None]
        return PartitionRecords(self.count + other.count, min(oldest, default=None), max(newest, default=None))


ByPartition = Mapping[tuple[str, int], PartitionRecords]


def counted(records: KafkaRecords) -> PartitionRecords:
    """Return how many the records are, and of what time."""
    times = records.times
    if min(times, default=0) <= 0:  # Kafka has -1 or 0 where there is none
        times = [time for time in times if time > 0]
    bounds = (min(times) / 1000, max(times) / 1000) if times else (None, None)
    return PartitionRecords(len(records), *bounds)


class FileSummary(NamedTuple):
    """The rows of one file among others of a table. `rows` counts those without an offset too; `distinct`: different
    offsets, or fewer where it is not known that they differ."""

    host: str | None
    file_id: str
    rows: int
    placed: int  # with an offset
    distinct: int
    lowest: int
    highest: int
    first: date
    last: date

    def merged(self, other: "FileSummary") -> "FileSummary":
        """Return the summary of both. Where their offsets overlap, one may be in both."""
        overlap = self.lowest <= other.highest and other.lowest <= self.highest
        return FileSummary(
            self.host,
            self.file_id,
            self.rows + other.rows,
            self.placed + other.placed,
            self.distinct + other.distinct - overlap,
            min(self.lowest, other.lowest),
            max(self.highest, other.highest),
            min(self.first, other.first),
            max(self.last, other.last),
        )


SUMMARIZED = ("host", "file_id", "offset", "date")
_SUMMARY: tuple[tuple[str | list[str], str], ...] = (
    ([], "count_all"),
    ("offset", "count"),
    ("offset", "count_distinct"),
    ("offset", "min"),
    ("offset", "max"),
    ("date", "min"),
    ("date", "max"),
)


def summaries(rows: pa.Table) -> Iterator[FileSummary]:
    """Yield a summary of each file. Rows without a file id or an offset are no lines of a file. `rows`: with at least
    the columns of SUMMARIZED."""
    grouped = rows.select(list(SUMMARIZED)).group_by(["host", "file_id"], use_threads=False)
    table = grouped.aggregate(list(_SUMMARY))
    for row in zip(*(table.column(index).to_pylist() for index in range(table.num_columns)), strict=True):
        summary = FileSummary(*row)
        if summary.file_id is not None and summary.placed:
            yield summary


@dataclass(frozen=True, slots=True)
class RowPart:
    """Rows of one table, of one date if it is partitioned by it. `rows` has all columns, `date` included."""

    table: str
    date: date | None
    rows: pa.Table


@dataclass(frozen=True, slots=True)
class Converted:
    """All records of a run: those that are rows, and those that are not (`bad`, as rows of the dead letter). `files`:
    of each table, the files that its rows came from."""

    parts: list[RowPart]
    bad: pa.Table
    files: Mapping[str, list[FileSummary]]
