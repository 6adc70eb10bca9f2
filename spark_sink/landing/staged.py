"""Staged rows: their files are in the table's directory, and they are in the table only when they are committed.

Parsing and writing are what a batch costs, and repeats are known only when the rows are parsed. So the rows are written
first, as a Delta write does it, and examined while they are columns in parquet files, where that is cheap. Then they
are committed as they are, or written once more without the repeats. A process that is killed in between leaves files
that no version of the table names: no one reads them, and a full VACUUM deletes them.
"""

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from pyspark.sql import DataFrame

from spark_sink.delta import DataFiles, Transaction, TxnId
from spark_sink.errors import Refused
from spark_sink.storage.tables import Table


class Unnamed(Enum):
    """The reason why a commit does not have the name of a batch."""

    NOT_A_BATCH = "the rows are not a batch of the query: a repair, or what an earlier run had read beyond its bounds"
    NAME_IS_USED = "a killed run of the same batch has committed a part of it under the name, and this is the remainder"


# The name of a commit in Delta's log. Of two commits with the same TxnId the second one fails.
CommitName: TypeAlias = TxnId | Unnamed


@dataclass(frozen=True, slots=True)
class Staged:
    """Files of one table that await their commit."""

    table: Table
    transaction: Transaction
    files: DataFiles

    @property
    def empty(self) -> bool:
        return len(self.files) == 0

    @property
    def version(self) -> int:
        """The table's version when the rows were written."""
        return self.transaction.snapshot.version

    @property
    def count(self) -> int:
        """Rows, by the files' own statistics."""
        return self.files.rows

    def rows(self) -> DataFrame:
        """Return what is in the files, with the table's columns."""
        return self.transaction.rows(self.files)

    def commit(self, name: CommitName) -> int:
        """Commit the rows, and return the table's new version.

        Raises Refused where the table has the named batch already, or a later one: Delta itself would silently skip
        such a write. Of two jobs that commit the same batch at the same time, one fails.
        """
        if isinstance(name, Unnamed):
            return self.transaction.append(self.files, None)
        known = self.transaction.last_batch(name.query_id)
        if known >= name.batch:
            raise Refused(
                f"the table {self.table.path} has batch {known} of this checkpoint already, but not the rows of "
                f"batch {name.batch}: a second job runs with the same checkpoint, or the checkpoint was set "
                "back. Stop the other job; or bring back the whole checkpoint; or move that one away and set "
                "start: table"
            )
        return self.transaction.append(self.files, name)

    def discard(self) -> None:
        """Delete the files, best effort: no version of the table names them."""
        self.transaction.delete(self.files)


def stage(table: Table, rows: DataFrame) -> Staged:
    """Write the rows, which must have the table's columns in its order. No reader sees them yet."""
    transaction = table.log.start_transaction()
    return Staged(table, transaction, transaction.write(rows))
