"""One task of a batch: read a share of the ranges, and write rows and bad records to data files of their tables.

A task runs in a Python process of an executor and commits nothing: files of a task that failed, or that Spark ran
twice, are in no version of a table.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Protocol

from log_shipper.spark_sink.kafka.lost import LostRange
from log_shipper.spark_sink.kafka.offset_ranges import OffsetRange
from log_shipper.spark_sink.kafka.offsets import Partition
from log_shipper.spark_sink.landing import bad_records
from log_shipper.spark_sink.landing.bad_records import BadByCause, BadRecords
from log_shipper.spark_sink.rows.batches import (
    ByPartition,
    Converted,
    File,
    FileSummary,
    KafkaRecords,
    PartitionRecords,
    RowOptions,
    counted,
)
from log_shipper.spark_sink.rows.conversion import Conversion
from log_shipper.spark_sink.storage.data_files import DataFile, DataFileWriter, FileLayout
from log_shipper.spark_sink.storage.locations import Location


class RangeRecordReader(Protocol):
    """Reads the records of ranges. `KafkaReader` is the implementation."""

    @property
    def lost(self) -> Sequence[LostRange]:
        """The offsets of all ranges read so far that Kafka had deleted."""
        ...

    def read(self, offsets: OffsetRange) -> Iterator[KafkaRecords]:
        """Yield the records of the range, in order. Blocks. Raises SinkError."""
        ...


@dataclass(frozen=True, slots=True)
class TableFiles:
    """Where and how the files of tables are written. `partitions`: the partition column of each table that differs from
    `lines`; `options`: of the object store."""

    lines: FileLayout
    dead_letter: str
    bad: FileLayout
    partitions: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    def location(self, path: str) -> Location:
        return Location(path, self.options)

    def layout(self, path: str) -> FileLayout:
        """Return the layout of a table of lines."""
        return replace(self.lines, partition=self.partitions.get(path, self.lines.partition))


@dataclass(frozen=True, slots=True)
class TaskPlan:
    """All that a task needs. Can be pickled. `open_reader` is called in the task's process."""

    open_reader: Callable[[], RangeRecordReader]
    rows: RowOptions
    tables: TableFiles


@dataclass(frozen=True, slots=True)
class WrittenTable:
    """The data files written for one table, and a summary of each log file in them."""

    files: tuple[DataFile, ...]
    summaries: Mapping[File, FileSummary]


@dataclass(frozen=True, slots=True)
class TaskResult:
    """The data files and counts of a task. `lines`: by path of the table."""

    lines: Mapping[str, WrittenTable]
    bad: tuple[DataFile, ...]
    lost: tuple[LostRange, ...]
    causes: BadByCause = field(default_factory=dict)
    records: ByPartition = field(default_factory=dict)


def run_share(plan: TaskPlan, share: Sequence[OffsetRange]) -> TaskResult:
    """Run a task."""
    reader = plan.open_reader()
    return convert(plan, (records for offsets in share for records in reader.read(offsets)), reader)


def convert(plan: TaskPlan, runs: Iterable[KafkaRecords], reader: RangeRecordReader | None = None) -> TaskResult:
    """Convert the records, and write their rows and dead letters. Raises SinkError."""
    conversion = Conversion(plan.rows, lambda: datetime.now(UTC))
    before = len(reader.lost) if reader is not None else 0
    with ExitStack() as opened:
        writing = _Writing(plan.tables, opened)
        for records in runs:
            writing.add(conversion.convert(records))
            merge_records(writing.records, {(records.topic, records.partition): counted(records)})
        return writing.close(tuple(reader.lost[before:]) if reader is not None else ())


class _Writing:
    """The open data files of a task."""

    def __init__(self, tables: TableFiles, opened: ExitStack) -> None:
        self._tables = tables
        self._opened = opened
        self._writers: dict[str, DataFileWriter] = {}
        self._summaries: dict[str, dict[File, FileSummary]] = {}
        self._causes: dict[str, BadRecords] = {}
        self.records: dict[Partition, PartitionRecords] = {}

    def add(self, converted: Converted) -> None:
        for part in converted.parts:
            self._writer(part.table, self._tables.layout(part.table)).write(part.rows)
        if converted.bad.num_rows:
            self._writer(self._tables.dead_letter, self._tables.bad).write(converted.bad)
            bad_records.merge(self._causes, bad_records.by_cause(converted.bad))
        for path, summaries in converted.files.items():
            known = self._summaries.setdefault(path, {})
            for summary in summaries:
                merge(known, summary)

    def close(self, lost: tuple[LostRange, ...]) -> TaskResult:
        files = {path: tuple(writer.close()) for path, writer in self._writers.items()}
        bad = files.pop(self._tables.dead_letter, ())
        lines = {path: WrittenTable(written, self._summaries.get(path, {})) for path, written in files.items()}
        return TaskResult(lines, bad, lost, self._causes, self.records)

    def _writer(self, path: str, layout: FileLayout) -> DataFileWriter:
        if path not in self._writers:
            writer = DataFileWriter(self._tables.location(path), layout)
            self._writers[path] = self._opened.enter_context(writer)
        return self._writers[path]


def merge(known: dict[File, FileSummary], summary: FileSummary) -> None:
    """Add the summary to that of earlier rows of the file."""
    before = known.get(summary.file)
    known[summary.file] = summary if before is None else before.merged(summary)


def merge_records(known: dict[Partition, PartitionRecords], others: ByPartition) -> None:
    """Add the counts of other records, by partition."""
    for place, other in others.items():
        before = known.get(place)
        known[place] = other if before is None else before.merged(other)
