"""Deletes the rows that are older than a table's retention.

In a table partitioned by date whole dates are deleted, which only changes the log; VACUUM deletes the files. Elsewhere
Delta rewrites the files that contain both old rows and others.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from spark_sink.maintenance.known import KnownTable
from spark_sink.maintenance.sizes import Sizes
from spark_sink.storage.tables import Table


class NoDate(Exception):
    """Raised for a view without the column `date`: nothing shows how old its rows are."""


@dataclass(frozen=True, slots=True)
class ExpiredRows:
    """The rows to delete; their number and that of their files as far as they are known without reading the table."""

    condition: str
    rows: int | None = None
    files: int | None = None


def plan(known_table: KnownTable, sizes: Sizes, now: datetime) -> ExpiredRows | None:
    """Return the rows to delete; None where the table has no retention, or no old rows. Raises NoDate."""
    if known_table.keep is None or known_table.rewritten:
        return None
    first_kept = (now - timedelta(seconds=known_table.keep)).date()
    if known_table.role == "dead letter":
        # A sink of version 0.1 did not write `at`; a lost range has no time of Kafka's.
        times = [name for name in ("at", "kafka_ts") if name in known_table.table.read().columns]
        return ExpiredRows(f"coalesce({', '.join(times)}) < TIMESTAMP'{first_kept.isoformat()} 00:00:00Z'")
    if "date" not in known_table.table.read().columns:
        raise NoDate
    condition = f"date < DATE'{first_kept.isoformat()}'"
    if not sizes.dated:
        return ExpiredRows(condition)
    expired = [day for day in sizes.by_date if day.date is not None and day.date < first_kept]
    if not expired:
        return None
    rows = [day.rows for day in expired]
    return ExpiredRows(
        condition, None if None in rows else sum(count or 0 for count in rows), sum(day.files for day in expired)
    )


def count(table: Table, expired: ExpiredRows) -> int:
    """Return how many rows would be deleted. Reads them where the log does not have the number."""
    return table.read().where(expired.condition).count() if expired.rows is None else expired.rows


def delete(table: Table, expired: ExpiredRows) -> int:
    """Delete the rows. Returns how many they were."""
    return int(table.spark.sql(f"DELETE FROM {table.name} WHERE {expired.condition}").collect()[0][0])
