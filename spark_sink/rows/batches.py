"""Input and output of a conversion. All values can be pickled."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

import pyarrow as pa

from log_shipper.spark_sink.options.tables import ColumnConfig, DocMode
from log_shipper.spark_sink.options.template import Template
from log_shipper.spark_sink.rows.place_headers import Headers

File = tuple[str | None, str]  # host, file id


@dataclass(frozen=True, slots=True)
class RowOptions:
    """The options of the configuration about rows. `template`: of the tables' paths, at most `max_tables`."""

    template: Template
    columns: tuple[ColumnConfig, ...] = ()
    doc: DocMode = "rest"
    max_tables: int = 100


@dataclass(frozen=True, slots=True)
class KafkaRecords:
    """Records of one partition, as columns of equal length. `times`: Kafka's timestamps, in milliseconds of the epoch;
    `headers`: None for a record without headers."""

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
    """The number and age of records read from one partition. `oldest` and `newest`: Kafka's timestamps, in seconds of
    the epoch; None if no record has one."""

    count: int
    oldest: float | None = None
    newest: float | None = None

    def merged(self, other: "PartitionRecords") -> "PartitionRecords":
        oldest = [time for time in (self.oldest, other.oldest) if time is not None]
        newest = [time for time in (self.newest, other.newest) if time is not None]
        return PartitionRecords(self.count + other.count, min(oldest, default=None), max(newest, default=None))


ByPartition = Mapping[tuple[str, int], PartitionRecords]


def counted(records: KafkaRecords) -> PartitionRecords:
    """Return the number and age of the records."""
    times = records.times
    if min(times, default=0) <= 0:  # Kafka has -1 or 0 for none
        times = [time for time in times if time > 0]
    bounds = (min(times) / 1000, max(times) / 1000) if times else (None, None)
    return PartitionRecords(len(records), *bounds)


class FileSummary(NamedTuple):
    """Counts and bounds of the rows of one log file. `distinct`: number of different offsets, or a minimum of it."""

    host: str | None
    file_id: str
    placed: int  # rows with an offset
    distinct: int
    lowest: int
    highest: int
    first: date
    last: date

    @property
    def file(self) -> File:
        return self.host, self.file_id

    def merged(self, other: "FileSummary") -> "FileSummary":
        """Return the summary of both. If their ranges overlap, an offset may be in both, so one less is distinct."""
        overlap = self.lowest <= other.highest and other.lowest <= self.highest
        return FileSummary(
            self.host,
            self.file_id,
            self.placed + other.placed,
            self.distinct + other.distinct - overlap,
            min(self.lowest, other.lowest),
            max(self.highest, other.highest),
            min(self.first, other.first),
            max(self.last, other.last),
        )


SUMMARIZED = ("host", "file_id", "offset", "date")
_SUMMARY = (
    ("offset", "count"),
    ("offset", "count_distinct"),
    ("offset", "min"),
    ("offset", "max"),
    ("date", "min"),
    ("date", "max"),
)


def summaries(rows: pa.Table) -> Iterator[FileSummary]:
    """Yield a summary of each file. Rows without a file id or an offset belong to no file. `rows` have at least the
    columns of SUMMARIZED."""
    grouped = rows.select(list(SUMMARIZED)).group_by(["host", "file_id"], use_threads=False)
    table = grouped.aggregate(list(_SUMMARY))
    for row in zip(*(table.column(index).to_pylist() for index in range(table.num_columns)), strict=True):
        summary = FileSummary(*row)
        if summary.file_id is not None and summary.placed:
            yield summary


@dataclass(frozen=True, slots=True)
class RowPart:
    """The rows of one table. `rows` includes the column `date`."""

    table: str
    rows: pa.Table


@dataclass(frozen=True, slots=True)
class Converted:
    """Converted records: rows, and bad records as rows of the dead letter. `files`: summaries of the log files of each
    table, by its path."""

    parts: list[RowPart]
    bad: pa.Table
    files: Mapping[str, list[FileSummary]]
