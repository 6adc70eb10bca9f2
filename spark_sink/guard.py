"""Whether checkpoint and tables belong together. Asked once, before the query starts.

The checkpoint says where to go on reading, and gives each batch the name under which the tables know it (query id and
number). Two ways of losing it do harm without a word: with a new one, everything is landed a second time; with one that
was set back, its batch numbers have been used, and Delta skips what is written under them.
"""

from collections.abc import Sequence

from spark_sink.checkpoint import Checkpoint
from spark_sink.errors import Refused
from spark_sink.tables import Table


def check(checkpoint: Checkpoint, tables: Sequence[Table], topics: Sequence[str]) -> None:
    """Raises Refused, with the ways out."""
    query_id = checkpoint.query_id()
    if query_id is None:
        _check_new(checkpoint, tables, topics)
    else:
        _check_known(checkpoint, tables, query_id)


def _check_new(checkpoint: Checkpoint, tables: Sequence[Table], topics: Sequence[str]) -> None:
    for table in tables:
        if table.holds(topics):
            raise Refused(
                f"the table {table.path} has rows of {', '.join(topics)} already, but the checkpoint {checkpoint.path} "
                "is gone or new: starting would land them a second time. Either bring the checkpoint back (a backup, "
                "or the path it had before); or name a new table.path, or move the old tables away, and land "
                "everything again"
            )


def _check_known(checkpoint: Checkpoint, tables: Sequence[Table], query_id: str) -> None:
    planned = checkpoint.last_planned()
    for table in tables:
        landed = table.last_batch(query_id)
        if landed > planned:
            raise Refused(
                f"the table {table.path} has batch {landed} of this checkpoint, but {checkpoint.path} knows no batch "
                f"after {planned}: it was set back, and what it would read now would be taken for landed and skipped. "
                "Either bring back the whole checkpoint; or name a new checkpoint.path and table.path, and land "
                "everything again"
            )
