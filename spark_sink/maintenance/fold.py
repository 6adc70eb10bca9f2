"""Keeps the marks table small: one row for each file, partition and table, and none for files that are long quiet.

The running job appends to it every second and must never fail. So the fold is a commit of its own kind: it takes out
exactly the files that it has read, puts one in their place, and says of both that no data changed (as OPTIMIZE does).
Delta then lets appends pass that came meanwhile, and they stay; only another fold of the same files is a conflict, and
that one tries again. An ordinary overwrite takes out what came meanwhile, and a MERGE or DELETE loses against every
append.

A row that is folded twice, or with newer ones beside it, gives the same marks: `landing.marks.fold` is a maximum.
"""

import time
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_sink.landing import marks
from spark_sink.platform.jvm import java_class, listed, nothing
from spark_sink.storage.tables import Table


@dataclass(frozen=True, slots=True)
class Folding:
    """Read, and not yet written. What is appended from now on is not part of it."""

    table: Table
    transaction: Any
    files: Any  # a Scala Seq of AddFile
    rows: int
    forgotten: int
    kept: DataFrame
    kept_rows: int

    @property
    def idle(self) -> bool:
        return self.kept_rows == self.rows and self.files.size() < 2

    def commit(self) -> None:
        """Raises Spark's error for a conflict when another has taken out one of the files."""
        spark, none = self.table.spark, nothing(self.table.spark)
        added = self.transaction.writeFiles(self.kept.coalesce(1)._jdf)
        actions, now = self.files.toBuffer().clone(), round(time.time() * 1000)
        actions.clear()
        for each in listed(self.files):
            actions.append(each.removeWithTimestamp(now, False))
        for each in listed(added):
            actions.append(_same_data(each))
        # Of Delta's own (delta-spark 4.0.1): OptimisticTransaction's filterFiles, writeFiles and commit, the actions
        # AddFile and RemoveFile, DeltaLog.createDataFrame, DeltaOperations.Write.
        overwrite = java_class(spark, "org.apache.spark.sql.SaveMode").Overwrite
        write = java_class(spark, "org.apache.spark.sql.delta.DeltaOperations$Write")
        self.transaction.commit(actions.toList(), write(overwrite, none, none, none))


def read(table: Table, forget_before: float) -> Folding:
    """`forget_before`: files without a row since then (seconds of the epoch) go. A few files a call: OPTIMIZE first."""
    none = nothing(table.spark)
    log = table.log()
    transaction = log.startTransaction(none, none)
    files = transaction.filterFiles()
    rows = DataFrame(log.createDataFrame(transaction.snapshot(), files, False, none), table.spark)
    folded = marks.fold(rows)
    # The mark's own time, not the date of its rows: a file of last year that is shipped today is news for days to come.
    quiet = (F.col("kind") == "file") & (F.col("at") < F.timestamp_seconds(F.lit(forget_before)))
    counts = folded.agg(F.count("*").alias("all"), F.count_if(quiet).alias("quiet")).collect()[0]
    kept = folded.where(~F.coalesce(quiet, F.lit(False)))
    return Folding(table, transaction, files, rows.count(), counts["quiet"], kept, counts["all"] - counts["quiet"])


def _same_data(added: Any) -> Any:
    return added.copy(
        added.path(), added.partitionValues(), added.size(), added.modificationTime(), False, added.stats(),
        added.tags(), added.deletionVector(), added.baseRowId(), added.defaultRowCommitVersion(),
        added.clusteringProvider(),
    )  # fmt: skip
