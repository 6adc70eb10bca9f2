"""A Delta table, as far as the sink reads it. `layout` creates it, `landing.staged` writes to it."""

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from log_shipper.spark_sink.delta import DeltaLog, Snapshot


@dataclass(frozen=True, slots=True)
class Table:
    """A table at a path; a directory of any file system that Spark's Hadoop client knows. It need not exist."""

    spark: SparkSession
    path: str

    @property
    def log(self) -> DeltaLog:
        return DeltaLog(self.spark, self.path)

    def snapshot(self) -> "TableSnapshot":
        """Return the newest version. Lists the directory of the table's log: take one for all questions."""
        return TableSnapshot(self, self.log.snapshot())

    def exists(self) -> bool:
        return self.snapshot().exists

    def version(self) -> int:
        """Return the version of the newest commit, below 0 without a table."""
        return self.snapshot().version

    def last_batch(self, query_id: str) -> int:
        """Return the highest batch that this query has committed, NO_BATCH without one."""
        return self.snapshot().last_batch(query_id)

    @property
    def name(self) -> str:
        """Return the name of the table in SQL."""
        return "delta.`" + self.path.replace("`", "``") + "`"

    def read(self) -> DataFrame:
        return self.spark.read.format("delta").load(self.path)


@dataclass(frozen=True, slots=True)
class TableSnapshot:
    """A table as it was when its log was read: every answer is of the same version."""

    table: Table
    delta: Snapshot

    @property
    def exists(self) -> bool:
        return self.delta.exists

    @property
    def version(self) -> int:
        """Return the version of the newest commit; every commit is one more. Below 0 without a table."""
        return self.delta.version

    @property
    def is_empty(self) -> bool:
        """True if there is no data file; False, too, where only a replay of Delta's log could tell."""
        return self.delta.file_count == 0

    def last_batch(self, query_id: str) -> int:
        """Return the highest batch that this query has committed, NO_BATCH without one."""
        return self.delta.last_batch(query_id)

    def has_rows_of(self, topics: Sequence[str]) -> bool:
        """True if a row came from one of the topics. Reads no more files than their statistics require."""
        if not self.exists or self.is_empty:
            return False
        return not self.table.read().where(F.col("topic").isin(*topics)).limit(1).isEmpty()

    def restored_since(self, version: int) -> int | None:
        """Return the version of a RESTORE after this one, None without one."""
        newer = self.version - version
        if newer <= 0:
            return None
        history = self.table.spark.sql(f"DESCRIBE HISTORY {self.table.name} LIMIT {newer}")
        restore = history.where("operation = 'RESTORE'").select("version").first()
        return None if restore is None else int(restore.version)
