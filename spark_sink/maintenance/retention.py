"""Deletes what is older than a table keeps.

In a table partitioned by date whole dates go, which only changes the log; the files go with VACUUM. Elsewhere Delta
rewrites the files that contain both old rows and others.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from spark_sink.maintenance.known import Known
from spark_sink.maintenance.sizes import Sizes
from spark_sink.storage.tables import Table


class NoDate(Exception):
    """A view without the column `date`: nothing shows how old its rows are."""


@dataclass(frozen=True, slots=True)
class Old:
    """What to delete; `rows` and `files` as far as they are known without reading the table."""

    condition: str
    rows: int | None = None
    files: int | None = None


def plan(known: Known, found: Sizes, now: datetime) -> Old | None:
    """Return None when nothing is deleted from this table, or nothing is old. Raises NoDate."""
    if known.keep is None or known.rewritten:
        return None
    first_kept = (now - timedelta(seconds=known.keep)).date()
    if known.role == "dead letter":
        # A sink of version 0.1 did not write `at`; a lost range has no time of Kafka's.
        times = [name for name in ("at", "kafka_ts") if name in known.table.read().columns]
        return Old(f"coalesce({', '.join(times)}) < TIMESTAMP'{first_kept.isoformat()} 00:00:00Z'")
    if "date" not in known.table.read().columns:
        raise NoDate
    condition = f"date < DATE'{first_kept.isoformat()}'"
    if not found.dated:
        return Old(condition)
    old = [part for part in found.parts if part.date is not None and part.date < first_kept]
    if not old:
        return None
    rows = [part.rows for part in old]
    return Old(condition, None if None in rows else sum(r or 0 for r in rows), sum(part.files for part in old))


def count(table: Table, old: Old) -> int:
    """Return how many rows would be deleted; reads them where the log does not have the number."""
    return table.read().where(old.condition).count() if old.rows is None else old.rows


def delete(table: Table, old: Old) -> int:
    """Return how many rows were deleted."""
    return int(table.spark.sql(f"DELETE FROM {table.name} WHERE {old.condition}").collect()[0][0])
