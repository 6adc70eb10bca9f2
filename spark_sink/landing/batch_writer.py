"""Lands one micro-batch: new rows in their tables, bad records in the dead letter, then the marks.

Spark retries a batch if the process ended before the batch's `commits/N` was written. What is on disk then:

    offsets/N │ rows of each table │ bad records │ marks │ commits/N
              1                    2             3       4

1: nothing. 2, 3: rows beyond the marks; `orphaned_rows` finds them, and the retry does not write them again. 4: the
marks have the end of the batch; nothing below it is read again. In each table a batch has at most one commit, whose
transaction id is the query's id and the batch's number: a second job with the same checkpoint fails instead of writing
the same rows.

Every batch begins at the marks' ends. Only the first batch of a run may be a retry: if its marks have landed, the
remainder is committed without the used transaction id (`BatchHandler`). A partition that ends before its start was
re-created, and is read from 0 (`ranges_between`).
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pyarrow as pa

from log_shipper.spark_sink.kafka.lost import LostRange
from log_shipper.spark_sink.kafka.offset_ranges import OffsetRange
from log_shipper.spark_sink.kafka.offsets import Partition
from log_shipper.spark_sink.landing.bad_records import TOMBSTONE, BadByCause
from log_shipper.spark_sink.landing.guard import check_unknown, check_version
from log_shipper.spark_sink.landing.marks import REPAIRING, Mark, Marks, rows_of
from log_shipper.spark_sink.landing.orphaned_rows import OrphanedRows
from log_shipper.spark_sink.landing.range_tasks import BatchLines, RangeTasks, WrittenBatch
from log_shipper.spark_sink.landing.repeats import RepeatSearch, exact, mark_of, suspects
from log_shipper.spark_sink.landing.sink_tables import SinkTables
from log_shipper.spark_sink.landing.staged import Staged
from log_shipper.spark_sink.landing.stages import Stage, Stopwatch
from log_shipper.spark_sink.platform.jvm import Garbage
from log_shipper.spark_sink.rows.batches import SUMMARIZED, ByPartition, File, FileSummary, summaries
from log_shipper.spark_sink.rows.schema import BAD_SCHEMA
from log_shipper.spark_sink.storage.tables import NO_BATCH, CommitName, TxnId, Unnamed


@dataclass(frozen=True, slots=True)
class BatchResult:
    """The result of a batch. Rows that an earlier attempt of the batch landed are not counted again."""

    batch: int = NO_BATCH  # Spark's batch id
    rows: int = 0
    bad: int = 0
    tombstones: int = 0  # records without a value, normal in a compacted topic: in the dead letter, but not bad
    repeats: int = 0  # rows left out because they had landed
    suspects: int = 0  # files that were looked up
    lost: int = 0  # offsets that Kafka deleted before they were read
    files: int = 0  # files in the marks
    tables: int = 0  # tables that got rows
    ends: Mapping[Partition, int] = field(default_factory=dict)
    repeated: bool = False  # the whole batch had landed before the process was killed
    causes: BadByCause = field(default_factory=dict)  # of the bad records, as counted by the tasks
    stages: Mapping[Stage, float] = field(default_factory=dict)  # seconds
    records: ByPartition = field(default_factory=dict)  # records read


@dataclass(frozen=True, slots=True)
class TableResult:
    """The result of a batch for one table of lines. `version`: of its commit, None without one."""

    path: str
    rows: int = 0
    repeats: int = 0
    suspects: int = 0
    files: tuple[tuple[str, File, Mark], ...] = ()  # with the path of the table
    version: int | None = None


@dataclass(slots=True)
class BatchWriter:
    """Lands batches. `land` may be called again with the same batch: its rows land once. Used by one thread only."""

    tables: SinkTables
    ranges: RangeTasks
    marks: Marks
    orphaned: OrphanedRows
    clock: Callable[[], float] = time.time
    garbage: Garbage = field(default_factory=Garbage)
    stopwatch: Stopwatch = field(default_factory=Stopwatch)

    def land(self, ranges: Sequence[OffsetRange], ends: Mapping[Partition, int], name: CommitName) -> BatchResult:
        """Write the records of the ranges to their tables, and return what landed.

        `ends`: the end of the batch in each partition; `name`: the transaction id of its commits.
        """
        with self.stopwatch.measure("tasks"):
            written = self.ranges.write(ranges)
        return self.commit(written, ends, name)

    def commit(self, written: WrittenBatch, ends: Mapping[Partition, int], name: CommitName) -> BatchResult:
        """Commit the files that the tasks have written, without rows that have landed before.

        Raises Refused if another process has appended to the marks since this process read them: rows of that process
        would land twice.
        """
        with self.stopwatch.measure("commit"):
            self.tables.log(self.tables.config.state_path).check_turn(self.marks.next_turn)
            self._register_tables(list(written.lines), sorted({topic for topic, _ in ends}))
        landed = [self._commit_lines(path, lines, name) for path, lines in sorted(written.lines.items())]
        with self.stopwatch.measure("commit"):
            bad = self._commit_bad_records(written, name)
        with self.stopwatch.measure("marks"):
            self._save_results(landed, ends, name)
        self.orphaned.forget_passed(ends)
        self.marks.forget(self.clock() - self.tables.config.dedupe.forget_after)
        self.garbage.collect()
        causes = dict(written.causes)
        tombstones = min(bad, causes.pop(TOMBSTONE).count) if TOMBSTONE in causes else 0
        return BatchResult(
            rows=sum(result.rows for result in landed),
            bad=bad - tombstones,
            tombstones=tombstones,
            repeats=sum(result.repeats for result in landed),
            suspects=sum(result.suspects for result in landed),
            lost=sum(lost_range.count for lost_range in written.lost),
            files=self.marks.count,
            tables=sum(result.version is not None for result in landed),
            ends=ends,
            causes=causes,
            stages=self.stopwatch.take_times(),
            records=written.records,
        )

    def discard(self, written: WrittenBatch) -> None:
        """Delete the files that the tasks have written for a count only, best effort."""
        for path, lines in written.lines.items():
            self.tables.staged(path, lines.files).discard()
        self.tables.staged(self.tables.dead_letter.path, written.bad).discard()

    def has_landed(self, name: TxnId) -> bool:
        """Return True if the batch's last write was done."""
        return self.tables.marks.snapshot().last_batch(name.query_id) >= name.batch

    def begin_at(self, starts: Mapping[Partition, int]) -> None:
        """Save where the first batch of a new checkpoint begins, before Spark plans it: a retry must begin there."""
        versions = {table.path: self.tables.log(table.path).version for table in self.tables.known(self.marks)}
        self._save_marks([], versions, {**self.marks.ends, **starts}, Unnamed.NOT_A_BATCH)

    def begin_repair(self) -> None:
        """Record that a repair has begun: until `finish_repair`, `spark-sink run` refuses to start."""
        versions = {table.path: REPAIRING for table in self.tables.known(self.marks)}
        self._save_marks([], versions, {}, Unnamed.NOT_A_BATCH)

    def finish_repair(self, ends: Mapping[Partition, int]) -> None:
        """Save the current versions of all tables, and these ends: the repair is complete."""
        versions = {table.path: self.tables.log(table.path).refresh() for table in self.tables.known(self.marks)}
        self.marks.versions.clear()
        self._save_marks([], versions, ends, Unnamed.NOT_A_BATCH)

    def _register_tables(self, paths: Sequence[str], topics: list[str]) -> None:
        """Save the path of each new table of a template in the marks, before the table's first row.

        Only the marks name these tables: the orphaned rows of a batch killed here could not be found otherwise. So a
        table with rows of these topics that is missing from the marks proves that marks were lost: raises Refused.
        Raises SinkError for too many tables."""
        if not self.tables.config.has_template:
            return
        new = [path for path in paths if path not in self.marks.versions]
        self.tables.check_number([*(table.path for table in self.tables.known(self.marks)), *new])
        check_unknown([self.tables.table(path) for path in new], topics, self.tables.marks)
        if new:
            versions = {path: self.tables.log(path).version for path in new}
            self._save_marks([], versions, {}, Unnamed.NOT_A_BATCH)

    def _commit_lines(self, path: str, lines: BatchLines, name: CommitName) -> TableResult:
        staged = self.tables.staged(path, lines.files)
        self._check_unchanged(staged)
        with self.stopwatch.measure("repeats"):
            staged, files = self._remove_orphaned(staged, lines)
            asked = suspects(files, self.marks.of_table(path)) if self.tables.config.dedupe.enabled else []
            now, count = self.clock(), staged.count
            if asked:
                staged = self._remove_repeats(staged, asked, now)
        with self.stopwatch.measure("commit"):
            version = self._committed(staged, name) if staged.files else None
        return TableResult(
            path,
            rows=staged.count,
            repeats=count - staged.count,
            suspects=len(asked),
            # Also with dedupe off: else the marks would lack these rows once dedupe is on again.
            files=tuple((path, summary.file, mark_of(summary, now)) for summary in files),
            version=version,
        )

    def _check_unchanged(self, staged: Staged) -> None:
        """Raise Refused if another program has restored or re-created the table since our last commit: later checks
        look for a RESTORE only after the commit of this batch."""
        known = self.marks.versions.get(staged.path)
        if known is not None and known not in (self.tables.log(staged.path).refresh(), REPAIRING):
            check_version(self.tables.table(staged.path).snapshot(), known)

    def _remove_orphaned(self, staged: Staged, lines: BatchLines) -> tuple[Staged, list[FileSummary]]:
        """Return the rows that no killed attempt of the batch has committed, and summaries of their files."""
        if not len(self.orphaned.places):
            return staged, exact(staged, lines.summaries.values())
        staged = staged.without(self.orphaned.places, self.ranges.tasks)
        return staged, list(summaries(staged.rows(SUMMARIZED))) if staged.files else []

    def _committed(self, staged: Staged, name: CommitName) -> int:
        return self.tables.commit(staged, self._name_of_commit(staged, name))

    def _name_of_commit(self, staged: Staged, name: CommitName) -> CommitName:
        """Return the name; NAME_IS_USED if a killed attempt of the batch has landed a part of it in the table, under
        other bounds or another configuration."""
        if (
            isinstance(name, TxnId)
            and staged.path in self.orphaned.tables
            and self.tables.log(staged.path).last_batch(name.query_id) == name.batch
        ):
            return Unnamed.NAME_IS_USED
        return name

    def _remove_repeats(self, staged: Staged, asked: list[FileSummary], now: float) -> Staged:
        """Return the rows that are new."""
        today = datetime.fromtimestamp(now, UTC)
        forgotten = today - timedelta(seconds=self.tables.config.dedupe.forget_after) + timedelta(days=1)
        search = RepeatSearch(asked, self.marks.of_table(staged.path), forgotten.date(), today.date())
        repeats = search.repeats(staged, self.tables.newest(staged.path))
        return staged.without(repeats, self.ranges.tasks)

    def _commit_bad_records(self, written: WrittenBatch, name: CommitName) -> int:
        """Commit bad records and lost ranges. Returns the number of bad records."""
        files = list(written.bad)
        if written.lost:
            files += self.tables.stage_bad(lost_rows(written.lost, self.clock())).files
        staged = self.tables.staged(self.tables.dead_letter.path, files)
        staged = staged.without(self.orphaned.places, self.ranges.tasks)
        if staged.files:
            self._committed(staged, name)
        return staged.count if not written.lost else self._count_bad(staged)

    def _count_bad(self, staged: Staged) -> int:
        """Return the number of rows that are records, not lost ranges."""
        return staged.rows(["last_offset"]).column(0).null_count if staged.files else 0

    def _save_results(self, landed: list[TableResult], ends: Mapping[Partition, int], name: CommitName) -> None:
        versions = {result.path: result.version for result in landed if result.version is not None}
        self._save_marks([file for result in landed for file in result.files], versions, ends, name)

    def _save_marks(
        self,
        files: Iterable[tuple[str, File, Mark]],
        versions: Mapping[str, int],
        ends: Mapping[Partition, int],
        name: CommitName,
    ) -> None:
        """Append the marks, the last write of a batch: from here on the batch has landed."""
        changed = list(self.orphaned.files)
        for path, file, mark in files:
            self.marks.note_file(path, file, mark)
            changed.append((path, file))
        self.marks.ends.update(ends)
        versions = {path: now for path, now in versions.items() if self.marks.versions.get(path) != REPAIRING}
        self.marks.versions.update(versions)
        for path, version in versions.items():
            if version != REPAIRING:
                self.tables.log(path).sync(version)  # the marks must not name a version that a power cut removes
        rows = rows_of(self.marks, dict.fromkeys(changed), ends, versions, self.clock())
        turn = self.marks.next_turn
        self.tables.commit(self.tables.stage_marks(rows), name, turn)
        self.orphaned.files.clear()
        self.marks.new_topics.clear()
        self.marks.appends = turn


def lost_rows(missing: Sequence[LostRange], seconds: float) -> pa.Table:
    """Return the dead-letter rows that record lost offsets, as of `seconds` of the epoch."""
    now = datetime.fromtimestamp(seconds, UTC)
    return pa.Table.from_pylist([{**_lost_row(lost), "at": now} for lost in missing], BAD_SCHEMA)


def _lost_row(lost: LostRange) -> dict[str, str | int]:
    return {
        "reason": f"lost before being read: {lost}",
        "topic": lost.topic,
        "partition": lost.partition,
        "kafka_offset": lost.first,
        "last_offset": lost.last,
    }
