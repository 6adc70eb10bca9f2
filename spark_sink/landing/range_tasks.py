"""Runs the tasks that write a batch's ranges, and combines their results."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial

from log_shipper.spark_sink.kafka.lost import LostRange
from log_shipper.spark_sink.kafka.offset_ranges import OffsetRange, split_into_shares
from log_shipper.spark_sink.kafka.offsets import Partition
from log_shipper.spark_sink.landing import bad_records
from log_shipper.spark_sink.landing.bad_records import BadRecords
from log_shipper.spark_sink.landing.range_task import (
    RangeRecordReader,
    TableFiles,
    TaskPlan,
    TaskResult,
    convert,
    merge,
    merge_records,
    run_share,
)
from log_shipper.spark_sink.landing.tasks import Tasks
from log_shipper.spark_sink.rows.batches import File, FileSummary, KafkaRecords, PartitionRecords, RowOptions
from log_shipper.spark_sink.storage.data_files import DataFile

NewReader = Callable[[], Callable[[], RangeRecordReader]]

MIN_OFFSETS = 20_000  # offsets per task: reading fewer costs less than another task
# Offsets per task. Finished tasks show that a batch makes progress, however large it is (monitor/liveness.py).
MAX_OFFSETS = 5_000_000


def parts_of(ranges: Sequence[OffsetRange], cores: int) -> list[list[OffsetRange]]:
    """Return the ranges of each task of a batch: one task per core, or more for a very large batch."""
    return split_into_shares(list(ranges), max(cores, -(-sum(map(len, ranges)) // MAX_OFFSETS)), MIN_OFFSETS)


@dataclass(slots=True)
class BatchLines:
    """The rows that a batch has written for one table. `summaries`: by host and file id."""

    files: list[DataFile] = field(default_factory=list)
    summaries: dict[File, FileSummary] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)


@dataclass(slots=True)
class WrittenBatch:
    """The combined results of a batch's tasks. `lines`: by path of the table."""

    lines: dict[str, BatchLines] = field(default_factory=dict)
    bad: list[DataFile] = field(default_factory=list)
    lost: list[LostRange] = field(default_factory=list)
    causes: dict[str, BadRecords] = field(default_factory=dict)
    records: dict[Partition, PartitionRecords] = field(default_factory=dict)

    def add(self, result: TaskResult) -> None:
        for path, written in result.lines.items():
            table = self.lines.setdefault(path, BatchLines())
            table.files += written.files
            for summary in written.summaries.values():
                merge(table.summaries, summary)
        self.bad += result.bad
        self.lost += result.lost
        bad_records.merge(self.causes, result.causes)
        merge_records(self.records, result.records)


@dataclass(frozen=True, slots=True)
class RangeTasks:
    """Writes the rows of a batch. `new_reader` is called once per batch, and its result once per task."""

    tasks: Tasks
    new_reader: NewReader
    rows: RowOptions
    tables: TableFiles

    def write(self, ranges: Sequence[OffsetRange]) -> WrittenBatch:
        """Write the records of these ranges. Raises the error of a task."""
        batch = WrittenBatch()
        for result in self.tasks.run(partial(run_share, self._plan()), parts_of(ranges, self.tasks.cores)):
            batch.add(result)
        return batch

    def write_records(self, records: Iterable[KafkaRecords]) -> WrittenBatch:
        """Write the rows of records that this process has read."""
        batch = WrittenBatch()
        batch.add(convert(self._plan(), records))
        return batch

    def _plan(self) -> TaskPlan:
        return TaskPlan(self.new_reader(), self.rows, self.tables)
