"""A Delta table, as far as the sink needs to know it. `layout` makes it, `landing.staged` writes to it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_sink.platform.jvm import java_class, listed, nothing

NEVER = -1  # below every batch id


@dataclass(frozen=True, slots=True)
class Table:
    """A table at a path; a directory of any file system that Spark's Hadoop client knows."""

    spark: SparkSession
    path: str

    def exists(self) -> bool:
        return bool(self.log().tableExists())

    def last_batch(self, writer: str) -> int:
        """The highest batch that this writer has committed, NEVER when there is none."""
        if not self.exists():
            return NEVER
        return batch_in(self.log().unsafeVolatileSnapshot(), writer)

    def partition_columns(self) -> list[str]:
        return [str(name) for name in listed(self.log().unsafeVolatileSnapshot().metadata().partitionColumns())]

    def has_feature(self, name: str) -> bool:
        """True if the table's protocol names this table feature of Delta."""
        return bool(self.log().unsafeVolatileSnapshot().protocol().writerFeatureNames().contains(name))

    def is_empty(self) -> bool:
        """True if the newest version has no data file; False, too, where only a replay of Delta's log could tell."""
        checksum = self.log().unsafeVolatileSnapshot().checksumOpt()
        return checksum.isDefined() and int(checksum.get().numFiles()) == 0

    def holds(self, topics: Sequence[str]) -> bool:
        """Whether a row came from one of the topics. Reads no more files than their statistics make it."""
        if not self.exists() or self.is_empty():
            return False
        return not self.read().where(F.col("topic").isin(*topics)).limit(1).isEmpty()

    @property
    def name(self) -> str:
        return "delta.`" + self.path.replace("`", "``") + "`"

    def read(self) -> DataFrame:
        return self.spark.read.format("delta").load(self.path)

    def version(self) -> int:
        """Of the newest commit; every commit is one more. NEVER when the table is not there."""
        return int(self.log().unsafeVolatileSnapshot().version())

    def restored_since(self, version: int) -> int | None:
        """The version of a RESTORE after this one; None when there was none."""
        newer = self.version() - version
        if newer <= 0:
            return None
        history = self.spark.sql(f"DESCRIBE HISTORY {self.name} LIMIT {newer}")
        found = history.where("operation = 'RESTORE'").select("version").first()
        return None if found is None else int(found.version)

    def handle(self) -> Any:
        """Delta's own view of the table, as it was when this process last looked."""
        log = java_class(self.spark, "org.apache.spark.sql.delta.DeltaLog")
        return log.forTable(self.spark._jsparkSession, self.path)

    def log(self) -> Any:
        """The same, as it is now: Delta's public interface tells neither versions nor batches."""
        log, none = self.handle(), nothing(self.spark)
        log.update(False, none, none)
        return log


def batch_in(snapshot: Any, writer: str) -> int:
    """The highest batch of this writer that a snapshot of Delta's knows, NEVER when there is none.

    The checksum file of a version names all writers. Without it, Spark has to replay the log, which costs more than a
    small batch; `OptimisticTransaction.txnVersion` always does.
    """
    checksum = snapshot.checksumOpt()
    if checksum.isDefined() and (named := checksum.get().setTransactions()).isDefined():
        return max((int(each.version()) for each in listed(named.get()) if each.appId() == writer), default=NEVER)
    found = snapshot.transactions().get(writer)
    return int(found.get()) if found.isDefined() else NEVER
