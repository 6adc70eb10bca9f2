"""Lands one batch: its rows in their tables, without what has landed before, and its bad records in the dead letter.

Spark runs a batch again when the process ended before the batch's commit was written. What is on disk then:

    offsets/N │ rows of each table │ bad records │ marks │ commits/N
              1                    2             3       4

1: nothing. 2, 3: rows that are not in the marks; `orphaned_rows` finds them, and they are not written again. 4: the
marks have the end of the batch; what is below it is not read again. In each table a batch has at most one commit, named
by the query's id and the batch's number, so that a second job with the same checkpoint fails instead of writing the
same rows.

The first batch of a run is the only one that may have been begun before: what lies below the marks' ends is left out of
that one alone. A topic that was deleted and re-created begins at 0 again, and its rows must not be taken for old ones.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from spark_sink.delta import NO_BATCH, TxnId
from spark_sink.kafka.lost import Lost
from spark_sink.kafka.offsets import Partition
from spark_sink.landing.guard import check_unknown, check_version
from spark_sink.landing.marks import MARKS, REPAIRING, File, Mark, Marks, rows_of
from spark_sink.landing.orphaned_rows import OrphanedRows
from spark_sink.landing.repeats import PLACE, FileSummary, Search, summarize, suspects
from spark_sink.landing.sink_tables import SinkTables
from spark_sink.landing.staged import CommitName, Staged, Unnamed, stage
from spark_sink.platform.jvm import Garbage
from spark_sink.records.local_rows import Value, local_rows
from spark_sink.records.reasons import without_rows
from spark_sink.records.schema import BAD_RECORDS
from spark_sink.records.transform import REASON, Transform
from spark_sink.storage.tables import Table


@dataclass(frozen=True, slots=True)
class BatchResult:
    """The result of a batch. Rows that an earlier run of the same batch landed are not counted again."""

    batch: int = NO_BATCH  # the query's number for it
    rows: int = 0
    bad: int = 0
    repeats: int = 0  # rows left out because they had landed
    suspects: int = 0  # files that were looked up
    lost: int = 0  # offsets that Kafka deleted before they were read
    files: int = 0  # files in the marks
    tables: int = 0  # tables that got rows
    ends: Mapping[Partition, int] = field(default_factory=dict)
    repeated: bool = False  # all of it had landed before the process was killed


@dataclass(frozen=True, slots=True)
class TableResult:
    """The result of a batch for one table of lines. `good` and `version`: what was committed, None without a commit."""

    path: str
    rows: int = 0
    repeats: int = 0
    suspects: int = 0
    files: tuple[tuple[str, File, Mark], ...] = ()  # by path of the table
    good: DataFrame | None = None
    version: int | None = None


@dataclass(slots=True)
class BatchWriter:
    """Lands batches. `land` may be called again with the same batch: its rows land once. Used by one thread only."""

    tables: SinkTables
    transform: Transform
    marks: Marks
    orphaned: OrphanedRows
    clock: Callable[[], float] = time.time
    garbage: Garbage = field(default_factory=Garbage)

    def land(
        self,
        records: DataFrame,
        ends: Mapping[Partition, int],
        name: CommitName,
        lost: Callable[[], list[Lost]] = list,
    ) -> BatchResult:
        """Write the batch to its tables, and return what landed.

        `records` as Spark's Kafka source gives them; `ends`: where they end in each partition; `name`: of the batch's
        commits; `lost`: returns what Kafka had deleted, called when the records have been read.
        """
        parsed = self.transform.parse(records)
        landed, bad = self._write_routed(parsed, ends, name) if self._has_template else self._write_lines(parsed, name)
        missing = lost()
        if bad or missing:
            good = [result.good for result in landed if result.good is not None]
            bad = self._write_bad_records(
                self.transform.bad(self.transform.parse(without_rows(records, good))), missing, name
            )
        self._save_results(landed, ends, name)
        self.orphaned.forget_passed(ends)
        self.marks.forget(self.clock() - self.tables.config.dedupe.forget_after)
        self.garbage.collect()
        return BatchResult(
            rows=sum(result.rows for result in landed),
            bad=bad,
            repeats=sum(result.repeats for result in landed),
            suspects=sum(result.suspects for result in landed),
            lost=sum(lost_range.count for lost_range in missing),
            files=self.marks.count,
            tables=len(landed),
            ends=ends,
        )

    def has_landed(self, name: TxnId) -> bool:
        """True if the batch's last write was done."""
        return self.tables.marks.last_batch(name.query_id) >= name.batch

    def save_first(self, versions: Mapping[str, int]) -> None:
        """Save what the start has found, and the versions of the tables, before the first batch."""
        self._save_marks([], versions, self.marks.ends, Unnamed.NOT_A_BATCH)

    def begin_repair(self) -> None:
        """Record that a repair has begun: `run` is refused until `settle`, whatever lands meanwhile."""
        versions = {table.path: REPAIRING for table in self.tables.known(self.marks)}
        self._save_marks([], versions, {}, Unnamed.NOT_A_BATCH)

    def settle(self, ends: Mapping[Partition, int]) -> None:
        """Save the versions of all tables as they are now, and these ends: the repair has ended."""
        versions = {table.path: self.tables.lines(table.path).version() for table in self.tables.known(self.marks)}
        self.marks.versions.clear()
        self._save_marks([], versions, ends, Unnamed.NOT_A_BATCH)

    @property
    def _has_template(self) -> bool:
        return self.tables.config.has_template

    def _write_lines(self, parsed: DataFrame, name: CommitName) -> tuple[list[TableResult], int]:
        """Land the rows of the one table. Returns what it got, and how many records are bad."""
        seen = Observation("batch")
        # The observation is also a fence: a filter that Spark pushed below the parsing would do it twice.
        counted = parsed.observe(seen, F.count(REASON).alias("bad"))
        result = self._write_table(self.tables.config.table.path, self.transform.good(counted), name)
        return [result] if result else [], int(seen.get["bad"])

    def _write_routed(
        self, parsed: DataFrame, ends: Mapping[Partition, int], name: CommitName
    ) -> tuple[list[TableResult], int]:
        """Land the rows of each table of the template. Returns what each got, and how many records are bad."""
        parsed = parsed.persist()
        try:
            paths, bad = self.transform.tables(parsed, [table.path for table in self.tables.known(self.marks)])
            self._register_tables(paths, sorted({topic for topic, _ in ends}))
            rows = ((path, self.transform.good(parsed.where(F.col("table") == path))) for path in paths)
            landed = [result for path, good in rows if (result := self._write_table(path, good, name))]
            return landed, bad
        finally:
            parsed.unpersist()

    def _register_tables(self, paths: list[str], topics: list[str]) -> None:
        """Save the path of each new table in the marks before its first row, because the configuration does not name
        it: the orphaned rows of a batch that is killed here could not be found otherwise. So a table that has rows of
        these topics, and is not in the marks, proves that marks were lost. Raises Refused."""
        new = [path for path in paths if path not in self.marks.versions]
        check_unknown([Table(self.tables.spark, path) for path in new], topics, self.tables.marks)
        if new:
            versions = {path: self.tables.lines(path).version() for path in new}
            self._save_marks([], versions, {}, Unnamed.NOT_A_BATCH)

    def _write_table(self, path: str, rows: DataFrame, name: CommitName) -> TableResult | None:
        """Return None where no row is new to the table."""
        staged = stage(self.tables.lines(path), self.orphaned.remove_from(rows))
        if staged.empty:
            return None
        self._check_unchanged(staged)
        files, count = summarize(staged.rows())
        asked = suspects(files, self.marks.of(path)) if self.tables.config.dedupe.enabled else []
        now = self.clock()
        staged, repeats = self._remove_repeats(staged, asked, now) if asked else (staged, 0)
        committed = not staged.empty
        return TableResult(
            path,
            rows=count - repeats,
            repeats=repeats,
            suspects=len(asked),
            # With dedupe off, too: else the marks would lack these rows when it is on again.
            files=tuple((path, file.file, file.mark(now)) for file in files),
            version=staged.commit(self._name_of_commit(staged.table, name)) if committed else None,
            good=staged.rows() if committed else None,
        )

    def _check_unchanged(self, staged: Staged) -> None:
        """Raise Refused where another program has restored or re-created the table since our last commit: later checks
        look for a RESTORE only behind this commit. A RESTORE after this check makes the commit fail."""
        known = self.marks.versions.get(staged.table.path)
        if known is not None and known not in (staged.version, REPAIRING):
            check_version(staged.table.snapshot(), known)

    def _name_of_commit(self, table: Table, name: CommitName) -> CommitName:
        """Return the name; NAME_IS_USED where a killed run of the same batch has landed a part of it in the table, with
        other bounds or another configuration."""
        if (
            isinstance(name, TxnId)
            and table.path in self.orphaned.rows
            and table.last_batch(name.query_id) == name.batch
        ):
            return Unnamed.NAME_IS_USED
        return name

    def _remove_repeats(self, staged: Staged, asked: list[FileSummary], now: float) -> tuple[Staged, int]:
        """Return the rows that are new, and the number of repeats."""
        day = datetime.fromtimestamp(now - self.tables.config.dedupe.forget_after, UTC) + timedelta(days=1)
        rows = staged.rows()
        search = Search(asked, self.marks.of(staged.table.path), day.date())
        repeats = search.repeats(rows, staged.table.read()).localCheckpoint()
        if not (count := repeats.count()):
            return staged, 0
        new = stage(staged.table, rows.join(repeats, list(PLACE), "leftanti").select(*rows.columns))
        staged.discard()
        return new, count

    def _write_bad_records(self, rows: DataFrame, missing: list[Lost], name: CommitName) -> int:
        """Write bad records and lost ranges by one commit. Returns the number of bad records."""
        table, ranges = self.tables.dead_letter, 0
        rows = self.orphaned.remove_from(rows)
        if missing:
            lost = self.orphaned.remove_from(_lost_rows(self.tables.spark, missing))
            rows, ranges = rows.unionByName(lost), lost.count()
        staged = stage(table, rows)
        if not staged.empty:
            staged.commit(self._name_of_commit(table, name))
        return staged.count - ranges

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
        """Append the marks, which is the last write of a batch: from now on it has landed."""
        changed = list(self.orphaned.files)
        for path, file, mark in files:
            self.marks.note_file(path, file, mark)
            changed.append((path, file))
        self.marks.ends.update(ends)
        versions = {path: now for path, now in versions.items() if self.marks.versions.get(path) != REPAIRING}
        self.marks.versions.update(versions)
        rows = rows_of(self.marks, dict.fromkeys(changed), ends, versions, self.clock())
        stage(self.tables.marks, local_rows(self.tables.spark, MARKS, rows)).commit(name)
        self.orphaned.files.clear()
        self.marks.new_topics.clear()
        self.marks.appends += 1


def _lost_rows(spark: SparkSession, missing: list[Lost]) -> DataFrame:
    columns = [column for column in BAD_RECORDS if column.name != "at"]
    rows = [tuple(_lost_row(lost).get(column.name) for column in columns) for lost in missing]
    return local_rows(spark, columns, rows).selectExpr("*", "current_timestamp() AS at")


def _lost_row(lost: Lost) -> dict[str, Value]:
    return {
        "reason": f"lost before it was read: {lost}",
        "topic": lost.topic,
        "partition": lost.partition,
        "kafka_offset": lost.first,
        "last_offset": lost.last,
    }
