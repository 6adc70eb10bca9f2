"""A Delta table, as far as the sink needs to know it: it is made here, and asked what it holds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_sink.errors import SPARK_ERRORS, translate
from spark_sink.schema import Column

NEVER = -1  # below every batch id


@dataclass(frozen=True, slots=True)
class Table:
    """A table at a path; a directory of any file system that Spark's Hadoop client knows."""

    spark: SparkSession
    path: str

    def create(self, columns: tuple[Column, ...], comment: str, partitioned_by: str | None = None) -> None:
        """Does nothing when it is there. Raises SinkError where the path will not do."""
        partitioning = f"PARTITIONED BY ({partitioned_by})" if partitioned_by else ""
        definitions = ", ".join(f"`{column.name}` {column.type} COMMENT {_text(column.comment)}" for column in columns)
        try:
            if not self.exists():
                self.spark.sql(
                    f"CREATE TABLE IF NOT EXISTS {self._name} ({definitions}) USING DELTA {partitioning} "
                    f"COMMENT {_text(comment)}"
                )
        except SPARK_ERRORS as error:
            raise translate(str(error), f"cannot make the table {self.path}") from error

    def exists(self) -> bool:
        return bool(self._log().tableExists())

    def append(self, rows: DataFrame, writer: str, batch: int) -> None:
        """One commit. A second with the same writer and batch, or a lower one, is skipped by Delta in silence."""
        options = {"txnAppId": writer, "txnVersion": str(batch)}
        rows.write.format("delta").mode("append").options(**options).save(self.path)

    def last_batch(self, writer: str) -> int:
        """The highest batch that this writer has committed, NEVER when there is none."""
        if not self.exists():
            return NEVER
        committed = self._log().unsafeVolatileSnapshot().transactions().get(writer)
        return int(committed.get()) if committed.isDefined() else NEVER

    def holds(self, topics: Sequence[str]) -> bool:
        """Whether a row came from one of the topics. Reads no more files than their statistics make it."""
        if not self.exists():
            return False
        rows = self.spark.read.format("delta").load(self.path)
        return not rows.where(F.col("topic").isin(*topics)).limit(1).isEmpty()

    @property
    def _name(self) -> str:
        return "delta.`" + self.path.replace("`", "``") + "`"

    def _log(self) -> Any:
        # Delta's public interface tells no batch numbers; this is where its own writes look them up.
        assert self.spark._jvm is not None
        log = self.spark._jvm.org.apache.spark.sql.delta.DeltaLog.forTable(self.spark._jsparkSession, self.path)
        none = self.spark._jvm.scala.Option.empty()
        log.update(False, none, none)
        return log


def _text(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
