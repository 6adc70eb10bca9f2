"""Lands one batch: its rows in their tables without what has landed before, its bad records in the dead letter.

Spark runs a batch again when the process ended before the batch's commit was written. What is on disk then:

    offsets/N │ rows of each table │ bad records │ marks │ commits/N
              1                    2             3       4

1: nothing. 2, 3: rows that no mark knows; `leftovers` finds them, and they are not written again. 4: the marks name the
end of the batch; what is below it is not read again. In each table a batch has at most one commit, named by the query's
id and the batch's number, so that a second job with the same checkpoint fails instead of writing the same rows.

The first batch of a run is the only one that may have been begun before: what lies below the marks' ends is left out of
that one alone. A topic that was deleted and made anew begins at 0 again, and its rows must not be taken for old ones.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from spark_sink.delta import NO_BATCH, TxnId
from spark_sink.kafka.lost import Lost
from spark_sink.kafka.offsets import Partition
from spark_sink.landing.guard import check_unknown, check_version
from spark_sink.landing.lake import Lake
from spark_sink.landing.leftovers import Leftovers
from spark_sink.landing.marks import MARKS, REPAIRING, File, Mark, Marks, rows_of
from spark_sink.landing.repeats import PLACE, FileSummary, Search, summarize, suspects
from spark_sink.landing.staged import CommitName, Staged, Unnamed, stage
from spark_sink.platform.jvm import Garbage
from spark_sink.records import unparsed as rest
from spark_sink.records.local_rows import Value, local_rows
from spark_sink.records.schema import BAD_RECORDS
from spark_sink.records.transform import REASON, Transform
from spark_sink.storage.tables import Table


@dataclass(frozen=True, slots=True)
class Landed:
    """What a batch brought. Rows that an earlier run of the same batch landed are not counted again."""

    batch: int = NO_BATCH  # the query's number for it
    rows: int = 0
    bad: int = 0
    repeats: int = 0  # rows left out because they had landed
    suspects: int = 0  # files that were looked up
    lost: int = 0  # offsets that Kafka deleted before they were read
    files: int = 0  # that are remembered
    tables: int = 0  # that rows went to
    ends: Mapping[Partition, int] = field(default_factory=dict)
    repeated: bool = False  # all of it had landed before the process was killed


@dataclass(slots=True)
class Lander:
    """`land` may be called again with the same batch: it lands once. One thread only."""

    lake: Lake
    transform: Transform
    marks: Marks
    leftovers: Leftovers
    clock: Callable[[], float] = time.time
    garbage: Garbage = field(default_factory=Garbage)

    def land(
        self,
        records: DataFrame,
        ends: Mapping[Partition, int],
        name: CommitName,
        lost: Callable[[], list[Lost]] = list,
    ) -> Landed:
        """`records` as Spark's Kafka source gives them; `ends`: where they end in each partition; `lost`: what Kafka
        had deleted, asked when they have been read.

        `name`: of the batch's commits.
        """
        parsed = self.transform.parse(records)
        routed = self.lake.config.has_template
        found = self._routed(parsed, ends, name) if routed else self._unrouted(parsed, name)
        missing = lost()
        if found.bad or missing:
            parsed = self.transform.parse(rest.without(records, found.good))
            found.bad = self._bad(self.transform.bad(parsed), missing, name)
        self._save(found, ends, name)
        self.leftovers.passed(ends)
        self.marks.forget(self.clock() - self.lake.config.dedupe.forget_after)
        self.garbage.collect()
        return Landed(
            NO_BATCH, found.rows, found.bad, found.repeats, found.suspects,
            sum(each.count for each in missing), self.marks.count, found.tables, ends,
        )  # fmt: skip

    def has_landed(self, name: TxnId) -> bool:
        """Whether the batch's last write was done."""
        return self.lake.state.last_batch(name.query_id) >= name.batch

    def begin(self) -> None:
        """Write down what a first start has found, before its first batch. Else the next start would make the marks up
        from the tables again, and take a part of a batch that was killed for the whole."""
        versions = {table.path: table.version() for table in self.lake.known(self.marks) if table.exists()}
        self._save(_Found(versions=versions), self.marks.ends, Unnamed.NOT_A_BATCH)

    def begin_repair(self) -> None:
        """From now on `run` is refused, whatever else is landed; until `settle`."""
        versions = {table.path: REPAIRING for table in self.lake.known(self.marks)}
        self._save(_Found(versions=versions), {}, Unnamed.NOT_A_BATCH)

    def settle(self, ends: Mapping[Partition, int]) -> None:
        """Note the versions of all tables as they are, and these ends: what they hold is what has landed."""
        versions = {table.path: self.lake.lines(table.path).version() for table in self.lake.known(self.marks)}
        self.marks.versions.clear()
        self._save(_Found(versions=versions), ends, Unnamed.NOT_A_BATCH)

    def _unrouted(self, parsed: DataFrame, name: CommitName) -> "_Found":
        seen = Observation("batch")
        # Observing also keeps the filter behind it from being pushed below the parsing, which would then be done twice.
        counted = parsed.observe(seen, F.count(REASON).alias("bad"))
        found = _Found()
        self._table(self.lake.config.table.path, self.transform.good(counted), name, found)
        found.bad = int(seen.get["bad"])
        return found

    def _routed(self, parsed: DataFrame, ends: Mapping[Partition, int], name: CommitName) -> "_Found":
        parsed = parsed.persist()
        try:
            paths, bad = self.transform.tables(parsed, [table.path for table in self.lake.known(self.marks)])
            found = _Found(bad=bad)
            self._announce(paths, sorted({topic for topic, _ in ends}))
            for path in paths:
                self._table(path, self.transform.good(parsed.where(F.col("table") == path)), name, found)
            return found
        finally:
            parsed.unpersist()

    def _announce(self, paths: list[str], topics: list[str]) -> None:
        """The marks name a table before its first row: a batch that is killed here may be looked for where no
        configuration says that there is a table. So one that has rows of these topics, and no mark, is of marks that
        were lost. Raises Refused."""
        new = [path for path in paths if path not in self.marks.versions]
        check_unknown([Table(self.lake.spark, path) for path in new], topics, self.lake.state)
        if new:
            self._save(
                _Found(versions={path: self.lake.lines(path).version() for path in new}), {}, Unnamed.NOT_A_BATCH
            )

    def _table(self, path: str, rows: DataFrame, name: CommitName, found: "_Found") -> None:
        staged = stage(self.lake.lines(path), self.leftovers.without(rows))
        if staged.empty:
            return
        self._check_unchanged(staged)
        staged, count = self._deduplicated(staged, found)
        if not staged.empty:
            found.versions[path] = staged.commit(self._unused(staged.table, name))
            found.good.append(staged.rows())
        found.rows += count
        found.tables += 1

    def _check_unchanged(self, staged: Staged) -> None:
        """Raises Refused where somebody has restored the table, or made it anew, since our last commit: this one would
        become the version from which on that is looked for. One that comes after this look makes our commit fail."""
        known = self.marks.versions.get(staged.table.path)
        if known is not None and known not in (staged.version, REPAIRING):
            check_version(staged.table, known)

    def _unused(self, table: Table, name: CommitName) -> CommitName:
        """Return the name, or that it is used: a killed run of the same batch landed a part in the table, with other
        bounds, or another configuration, than this one."""
        if (
            isinstance(name, TxnId)
            and table.path in self.leftovers.rows
            and table.last_batch(name.query_id) == name.batch
        ):
            return Unnamed.NAME_IS_USED
        return name

    def _deduplicated(self, staged: Staged, found: "_Found") -> tuple[Staged, int]:
        """What is to be committed, and how many rows. The files are noted with dedupe off, too: marks that stayed
        behind would tell nothing of these rows when it is on again."""
        path, now = staged.table.path, self.clock()
        files, count = summarize(staged.rows())
        asked = suspects(files, self.marks.of(path)) if self.lake.config.dedupe.enabled else []
        found.suspects += len(asked)
        if asked:
            staged, left_out = self._without_repeats(staged, asked, now)
            count, found.repeats = count - left_out, found.repeats + left_out
        found.files += [(path, each.file, each.mark(now)) for each in files]
        return staged, count

    def _without_repeats(self, staged: Staged, asked: list[FileSummary], now: float) -> tuple[Staged, int]:
        """The rows that are news, and how many are not."""
        day = datetime.fromtimestamp(now - self.lake.config.dedupe.forget_after, UTC) + timedelta(days=1)
        rows = staged.rows()
        search = Search(asked, self.marks.of(staged.table.path), day.date())
        repeats = search.repeats(rows, staged.table.read()).localCheckpoint()
        if not (left_out := repeats.count()):
            return staged, 0
        fresh = stage(staged.table, rows.join(repeats, list(PLACE), "leftanti").select(*rows.columns))
        staged.discard()
        return fresh, left_out

    def _bad(self, rows: DataFrame, missing: list[Lost], name: CommitName) -> int:
        """One commit for both; the bad records alone are counted."""
        table, ranges = self.lake.dead_letter, 0
        rows = self.leftovers.without(rows)
        if missing:
            lost = self.leftovers.without(_lost_rows(self.lake.spark, missing))
            rows, ranges = rows.unionByName(lost), lost.count()
        staged = stage(table, rows)
        if not staged.empty:
            staged.commit(self._unused(table, name))
        return staged.count - ranges

    def _save(self, found: "_Found", ends: Mapping[Partition, int], name: CommitName) -> None:
        """The batch's last write: from now on it has landed."""
        for path, file, mark in found.files:
            self.marks.note_file(path, file, mark)
        self.marks.ends.update(ends)
        versions = {path: now for path, now in found.versions.items() if self.marks.versions.get(path) != REPAIRING}
        self.marks.versions.update(versions)
        changed = [*self.leftovers.files, *((path, file) for path, file, _ in found.files)]
        rows = rows_of(self.marks, dict.fromkeys(changed), ends, versions, self.clock())
        state = self.lake.state
        stage(state, local_rows(self.lake.spark, MARKS, rows)).commit(name)
        self.leftovers.files.clear()
        self.marks.new_topics.clear()
        self.marks.landing += 1


def _lost_rows(spark: SparkSession, missing: list[Lost]) -> DataFrame:
    said: list[dict[str, Value]] = [
        {
            "reason": f"lost before it was read: {each}", "topic": each.topic, "partition": each.partition,
            "kafka_offset": each.first, "last_offset": each.last,
        }
        for each in missing
    ]  # fmt: skip
    columns = [column for column in BAD_RECORDS if column.name != "at"]
    rows = [tuple(each.get(column.name) for column in columns) for each in said]
    return local_rows(spark, columns, rows).selectExpr("*", "current_timestamp() AS at")


@dataclass(slots=True)
class _Found:
    rows: int = 0
    bad: int = 0
    repeats: int = 0
    suspects: int = 0
    tables: int = 0
    good: list[DataFrame] = field(default_factory=list)  # what was committed, of each table
    files: list[tuple[str, File, Mark]] = field(default_factory=list)
    versions: dict[str, int] = field(default_factory=dict)
