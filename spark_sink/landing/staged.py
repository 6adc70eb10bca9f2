"""Rows that are in a table's directory already, and in the table only when they are committed.

Writing a batch is what costs; whether it holds repeats can only be told when its rows are parsed. So the rows are
written first, as a Delta write does it, and looked at while they are columns in parquet files, where a look is cheap.
Then they are committed as they are, or written once more without what has to go. A process that is killed in between
leaves files that no version of the table names: nobody reads them, and a full VACUUM takes them away.

Delta's public interface writes and commits in one step. Used here instead, all of Delta's own (delta-spark 4.0.1):
`DeltaLog.forTable`, `DeltaLog.startTransaction`, `OptimisticTransaction.writeFiles`, `.readTxn`, `.commit`, and
`DeltaLog.createDataFrame`, which reads files that are not committed; `Snapshot.checksumOpt` in `tables`.
"""

import time
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame

from spark_sink.errors import Refused
from spark_sink.platform.jvm import java_class, listed, nothing
from spark_sink.storage.tables import Table, batch_in


@dataclass(frozen=True, slots=True)
class Writer:
    """Who commits: the query's id, and the batch, whose numbers rise."""

    query_id: str
    batch: int


@dataclass(frozen=True, slots=True)
class Staged:
    """Files of one table that wait for their commit."""

    table: Table
    transaction: Any
    files: Any  # a Scala Seq of AddFile

    @property
    def empty(self) -> bool:
        return bool(self.files.isEmpty())

    @property
    def version(self) -> int:
        """The table's, when the rows were written."""
        return int(self.transaction.snapshot().version())

    @property
    def count(self) -> int:
        """Rows, by the files' own statistics."""
        return sum(int(each.numLogicalRecords().get()) for each in listed(self.files))

    def rows(self) -> DataFrame:
        """What is in the files, with the table's columns."""
        log, none = self.transaction.deltaLog(), nothing(self.table.spark)
        return DataFrame(log.createDataFrame(self.transaction.snapshot(), self.files, False, none), self.table.spark)

    def commit(self, writer: Writer | None) -> int:
        """The rows are in the table when this returns. The table's new version.

        With a writer it raises Refused where the table knows the batch, or a later one, already: Delta would skip such
        a write in silence. Two jobs that commit the same batch at the same time: one of them fails.
        """
        actions = self.files.toBuffer()
        if writer is not None:
            # The commit fails if another names this writer meanwhile.
            self.transaction.readTxn().addOne(writer.query_id)
            known = batch_in(self.transaction.snapshot(), writer.query_id)
            if known >= writer.batch:
                raise Refused(
                    f"the table {self.table.path} has batch {known} of this checkpoint already, but not the rows of "
                    f"batch {writer.batch}: a second job runs with the same checkpoint, or the checkpoint was set "
                    "back. Stop the other job; or bring back the whole checkpoint; or move that one away and set "
                    "start: table"
                )
            actions.append(self._set_transaction(writer))
        return int(self.transaction.commit(actions.toList(), self._append()))

    def discard(self) -> None:
        """The files go away, best effort: no version of the table names them."""
        paths = [each.absolutePath(self.transaction.deltaLog()) for each in listed(self.files)]
        for path in paths:
            path.getFileSystem(self.table.spark._jsparkSession.sessionState().newHadoopConf()).delete(path, False)

    def _set_transaction(self, writer: Writer) -> Any:
        now = java_class(self.table.spark, "scala.Option").apply(round(time.time() * 1000))
        action = java_class(self.table.spark, "org.apache.spark.sql.delta.actions.SetTransaction")
        return action(writer.query_id, writer.batch, now)

    def _append(self) -> Any:
        none = nothing(self.table.spark)
        write = java_class(self.table.spark, "org.apache.spark.sql.delta.DeltaOperations$Write")
        return write(java_class(self.table.spark, "org.apache.spark.sql.SaveMode").Append, none, none, none)


def stage(table: Table, rows: DataFrame) -> Staged:
    """Write the rows, which must have the table's columns in its order. Nobody sees them yet."""
    none = nothing(table.spark)
    transaction = table.handle().startTransaction(none, none)
    return Staged(table, transaction, transaction.writeFiles(rows._jdf))
