"""Keeps the marks table small: one row for each file, partition and table, and none for files that are long quiet.

The running job appends to it every second and must never fail. So the fold is a commit of its own kind: it removes
exactly the files that it has read, adds one in their place, and marks both as no change of data (as OPTIMIZE does).
Delta then lets concurrent appends pass, and they stay; only another fold of the same files is a conflict, and that one
is retried. An ordinary overwrite would remove what was appended meanwhile, and a MERGE or DELETE would lose against
every append.

A row that is folded twice, or with newer ones beside it, gives the same marks: `landing.marks.fold` takes the maximum.
"""

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from log_shipper.spark_sink.delta import DataFiles, Transaction
from log_shipper.spark_sink.landing import marks
from log_shipper.spark_sink.storage.spark_tables import Table


@dataclass(frozen=True, slots=True)
class FoldedMarks:
    """Marks that were read and folded, and await their commit. Rows that are appended meanwhile are not part of it."""

    transaction: Transaction
    files: DataFiles
    rows: int
    forgotten: int
    kept: DataFrame
    kept_rows: int

    @property
    def idle(self) -> bool:
        return self.kept_rows == self.rows and len(self.files) < 2

    def commit(self) -> None:
        """Replace the files. Raises Spark's error for a conflict where another writer has removed one of them."""
        self.transaction.replace(self.files, self.transaction.write(self.kept.coalesce(1)))


def read(table: Table, forget_before: float) -> FoldedMarks:
    """Return the marks of the table, folded. Run OPTIMIZE first where there are many files.

    `forget_before`: files without a row since then (seconds of the epoch) are left out.
    """
    transaction = table.log.start_transaction()
    files = transaction.read_all()
    rows = transaction.rows(files)
    folded = marks.fold(rows)
    # The mark's own time, not the date of its rows: a file of last year that is shipped today is new for days to come.
    quiet = (F.col("kind") == "file") & (F.col("at") < F.timestamp_seconds(F.lit(forget_before)))
    counts = folded.agg(F.count("*").alias("all"), F.count_if(quiet).alias("quiet")).collect()[0]
    kept = folded.where(~F.coalesce(quiet, F.lit(False)))
    return FoldedMarks(transaction, files, rows.count(), counts["quiet"], kept, counts["all"] - counts["quiet"])
