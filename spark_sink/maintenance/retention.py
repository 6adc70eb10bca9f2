"""Deletes the rows that are older than a table's retention.

In a table partitioned by date whole dates are deleted, which only changes the log; VACUUM deletes the files. Elsewhere
the files that contain both old rows and others are rewritten.

A DELETE conflicts with each append that happens while it runs, if what is appended may have old rows: Delta's only
isolation level, Serializable, demands that of blind appends, too. Spark's takes seconds, and takes every row of a table
without partitions for one that may be old, so beside a running stream it could lose again and again. deltalake's takes
some 20 ms, and looks at the statistics of what was appended.
"""

from dataclasses import dataclass
from datetime import date, datetime, timedelta

from deltalake import DeltaTable, PostCommitHookProperties
from deltalake.exceptions import DeltaError

from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.maintenance.known import KnownTable
from log_shipper.spark_sink.maintenance.sizes import Sizes
from log_shipper.spark_sink.storage.locations import Location
from log_shipper.spark_sink.storage.spark_tables import Table

# The protocol of a table that needs no table feature: deltalake writes to those as Spark does.
PLAIN = (1, 2)
DATE = "date"


class NoDate(Exception):
    """Raised for a view without the column `date`: nothing shows how old its rows are."""


@dataclass(frozen=True, slots=True)
class ExpiredRows:
    """The rows from before a day; their number and that of their files as far as they are known without reading the
    table. `column`: what shows their age, a date or a time."""

    column: str
    first_kept: date
    rows: int | None = None
    files: int | None = None

    @property
    def condition(self) -> str:
        """The condition as Spark has it."""
        if self.column == DATE:
            return f"date < DATE'{self.first_kept.isoformat()}'"
        return f"{self.column} < TIMESTAMP'{self.first_kept.isoformat()} 00:00:00Z'"

    @property
    def predicate(self) -> str:
        """The condition as deltalake has it, which compares statistics only with constants of the very same type."""
        if self.column == DATE:
            return self.condition
        midnight = f"arrow_cast('{self.first_kept.isoformat()}T00:00:00Z', 'Timestamp(Microsecond, Some(\"UTC\"))')"
        return f"{self.column} < {midnight}"


def plan(known_table: KnownTable, sizes: Sizes, now: datetime) -> ExpiredRows | None:
    """Return the rows to delete; None where the table has no retention, or no old rows. Raises NoDate."""
    if known_table.keep is None or known_table.rewritten:
        return None
    first_kept = (now - timedelta(seconds=known_table.keep)).date()
    if known_table.role == "dead letter":
        return ExpiredRows("at", first_kept)
    if "date" not in known_table.table.read().columns:
        raise NoDate
    if not sizes.dated:
        return ExpiredRows(DATE, first_kept)
    expired = [day for day in sizes.by_date if day.date is not None and day.date < first_kept]
    if not expired:
        return None
    rows = [day.rows for day in expired]
    known_rows = None if None in rows else sum(count or 0 for count in rows)
    return ExpiredRows(DATE, first_kept, known_rows, sum(day.files for day in expired))


def count(table: Table, expired: ExpiredRows) -> int:
    """Return how many rows would be deleted. Reads them where the log does not have the number."""
    return table.read().where(expired.condition).count() if expired.rows is None else expired.rows


def delete(table: Table, expired: ExpiredRows) -> int:
    """Delete the rows, by deltalake where it can. Returns how many they were. Raises SinkError or Spark's error, for
    a conflict with another writer too."""
    if (plain := _open_plain(table)) is not None:
        return delete_from(plain, expired)
    return int(table.spark.sql(f"DELETE FROM {table.name} WHERE {expired.condition}").collect()[0][0])


def _open_plain(table: Table) -> DeltaTable | None:
    """Return the table where it needs no table feature. A view may: it has whatever types its SQL has."""
    try:
        opened = Location(table.path).open()
    except DeltaError:
        return None
    if opened is None:
        return None
    protocol = opened.protocol()
    return opened if (protocol.min_reader_version, protocol.min_writer_version) <= PLAIN else None


def delete_from(table: DeltaTable, expired: ExpiredRows) -> int:
    """Delete the rows of a table as it was read, and return how many they were. Raises SinkError, also where another
    writer has added old rows since."""
    hooks = PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)  # `run` does both
    try:
        metrics = table.delete(expired.predicate, post_commithook_properties=hooks)
    except DeltaError as error:
        raise SinkError(f"cannot delete old rows of {table.table_uri}: {error}") from error
    return int(metrics.get("num_deleted_rows", expired.rows or 0))
