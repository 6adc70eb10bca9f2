"""Deletes the rows that are older than a table's retention.

In a table partitioned by date, whole dates are deleted, which only changes the log; VACUUM deletes the files. In other
tables, files with both old and newer rows are rewritten.

A DELETE conflicts with concurrent appends that may contain old rows: Delta's only isolation level, Serializable,
requires that for blind appends, too. deltalake's DELETE takes about 20 ms, and checks the statistics of appended files.
"""

from dataclasses import dataclass
from datetime import date, datetime, timedelta

from deltalake.exceptions import CommitFailedError, DeltaError
from deltalake.schema import PrimitiveType

from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.maintenance.known import KnownTable
from log_shipper.spark_sink.maintenance.sizes import DATE, Sizes
from log_shipper.spark_sink.storage.commits import NO_HOOKS
from log_shipper.spark_sink.storage.rewrites import Conflict, stored_files
from log_shipper.spark_sink.storage.tables import TableSnapshot


class NoDate(Exception):
    """Raised for a view without the column `date`: the age of its rows is unknown."""


@dataclass(frozen=True, slots=True)
class ExpiredRows:
    """The rows before a day. `rows` and `files`: their numbers, None if the log does not have them. `column`: a time or
    a date; `is_text`: the date is stored as a text."""

    column: str
    first_kept: date
    rows: int | None = None
    files: int | None = None
    is_text: bool = False

    @property
    def condition(self) -> str:
        """The condition in Spark SQL, for messages."""
        if self.column == DATE:
            return f"date < DATE'{self.first_kept.isoformat()}'"
        return f"{self.column} < TIMESTAMP'{self.first_kept.isoformat()} 00:00:00Z'"

    @property
    def predicate(self) -> str:
        """The condition for deltalake, which uses statistics only if the constant has exactly the column's type."""
        if self.is_text:
            return f"date < '{self.first_kept.isoformat()}'"
        if self.column == DATE:
            return self.condition
        midnight = f"arrow_cast('{self.first_kept.isoformat()}T00:00:00Z', 'Timestamp(Microsecond, Some(\"UTC\"))')"
        return f"{self.column} < {midnight}"


def plan(known_table: KnownTable, snapshot: TableSnapshot, sizes: Sizes, now: datetime) -> ExpiredRows | None:
    """Return the rows to delete; None if the table has no retention, or no old rows. Raises NoDate."""
    if known_table.keep is None or known_table.rewritten:
        return None
    first_kept = (now - timedelta(seconds=known_table.keep)).date()
    if known_table.role == "dead letter":
        return ExpiredRows("at", first_kept)
    if DATE not in snapshot.columns:
        raise NoDate
    if not sizes.dated:
        return ExpiredRows(DATE, first_kept, is_text=_is_text(snapshot))
    expired = [day for day in sizes.by_date if day.date is not None and day.date < first_kept]
    if not expired:
        return None
    rows = [day.rows for day in expired]
    known_rows = None if None in rows else sum(count or 0 for count in rows)
    return ExpiredRows(DATE, first_kept, known_rows, sum(day.files for day in expired), _is_text(snapshot))


def count(snapshot: TableSnapshot, expired: ExpiredRows) -> int:
    """Return the number of rows to delete. Reads the rows if the log lacks the number. Raises SinkError."""
    if expired.rows is not None:
        return expired.rows
    counted = snapshot.select(f"SELECT count(*) AS rows FROM stored WHERE {expired.predicate}")
    return int(counted.column("rows")[0].as_py())


def delete(snapshot: TableSnapshot, expired: ExpiredRows) -> int:
    """Delete the rows from the snapshot, and return their number. Raises Conflict, also if another writer has added old
    rows since, and SinkError, also for tables that only Spark can delete from."""
    table = snapshot.delta
    assert table is not None
    if kept := next((file.path for file in stored_files(snapshot) if not file.is_removable), None):
        raise SinkError(
            f"cannot delete old rows of {snapshot.path}: Spark wrote the path {kept} into the log in a form that "
            f"deltalake does not support. Run in Spark: DELETE FROM delta.`{snapshot.path}` WHERE {expired.condition}"
        )
    try:
        metrics = table.delete(expired.predicate, post_commithook_properties=NO_HOOKS)
    except DeltaError as error:
        text = f"cannot delete old rows of {table.table_uri}: {error}"
        conflicts = isinstance(error, CommitFailedError) and "features" not in str(error)
        raise (Conflict(text) if conflicts else SinkError(text)) from error
    return int(metrics.get("num_deleted_rows", expired.rows or 0))


def _is_text(snapshot: TableSnapshot) -> bool:
    assert snapshot.delta is not None
    return snapshot.delta.schema().fields[snapshot.columns.index(DATE)].type == PrimitiveType("string")
