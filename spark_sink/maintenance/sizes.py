"""The files, bytes and rows of a table, from Delta's log alone: no data file is opened. Rows come from statistics."""

from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa
from pyarrow import compute

from log_shipper.spark_sink.storage.tables import Table, TableSnapshot, read_commits, reading

DATE = "date"
# Opening a table takes 50 ms with this number of files, 0.2 s with 100,000; so does each commit to an object store.
MANY_FILES = 20_000


@dataclass(frozen=True, slots=True)
class DateFiles:
    """The files of one date; of the whole table (`date` is None) if it is not partitioned by date."""

    date: date | None
    files: int
    small: int
    max_small_in_directory: int  # of small files: only files of one directory can be compacted together
    bytes: int
    rows: int | None  # None if a file has no statistics


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes of one version of a table."""

    version: int
    committed: datetime | None  # None if the commit has no timestamp, or is no longer in the log
    dated: bool  # partitioned by date, perhaps by more
    by_date: tuple[DateFiles, ...]

    @property
    def files(self) -> int:
        return sum(day.files for day in self.by_date)

    @property
    def small(self) -> int:
        return sum(day.small for day in self.by_date)

    @property
    def bytes(self) -> int:
        return sum(day.bytes for day in self.by_date)

    @property
    def rows(self) -> int | None:
        counts = [day.rows for day in self.by_date]
        return None if None in counts else sum(count or 0 for count in counts)

    @property
    def dates(self) -> tuple[date, ...]:
        return tuple(sorted(day.date for day in self.by_date if day.date is not None))


def read_sizes(table: Table, small: int) -> Sizes | None:
    """Return the sizes of the newest version; None without a table. `small`: files below this many bytes count as
    small. Raises SinkError."""
    snapshot = table.snapshot()
    return sizes_of(snapshot, small) if snapshot.exists else None


def sizes_of(snapshot: TableSnapshot, small: int) -> Sizes:
    """Return the sizes of this version of a table."""
    by_date: dict[date | None, list[dict[str, Any]]] = {}
    for directory in _directories(snapshot.files(), small):
        by_date.setdefault(date_of(directory.get(f"partition.{DATE}")), []).append(directory)
    return Sizes(
        version=snapshot.version,
        committed=_committed(snapshot),
        dated=DATE in snapshot.partition_columns,
        by_date=tuple(_date_files(day, directories) for day, directories in by_date.items()),
    )


def _directories(files: pa.Table, small: int) -> list[dict[str, Any]]:
    """Return the totals of each directory."""
    if not files.num_rows:
        return []
    sizes = files.column("size_bytes")
    rows = files.column("num_records") if "num_records" in files.column_names else pa.nulls(len(files), pa.int64())
    counted = files.select([name for name in files.column_names if name.startswith("partition.")])
    counted = counted.append_column("bytes", sizes).append_column("rows", rows)
    counted = counted.append_column("small", compute.less(sizes, small).cast(pa.int64()))
    keys = counted.column_names[:-3]
    uncounted = ("rows", "count", compute.CountOptions("only_null"))
    sums = [("bytes", "count"), ("small", "sum"), ("bytes", "sum"), ("rows", "sum"), uncounted]
    names = ["files", "small", "bytes", "rows", "uncounted"]
    directories: list[dict[str, Any]] = (
        counted.group_by(keys).aggregate(sums).rename_columns([*keys, *names]).to_pylist()
    )
    return directories


def date_of(value: object) -> date | None:
    """Return the date of a partition column's value, which may be a text in a view."""
    if not isinstance(value, str):
        return value if isinstance(value, date) else None
    try:
        return date.fromisoformat(value)
    except ValueError:
        return None


def _date_files(day: date | None, directories: list[dict[str, Any]]) -> DateFiles:
    def total(name: str) -> int:
        return sum(directory[name] or 0 for directory in directories)

    max_small = max(directory["small"] for directory in directories)
    rows = None if total("uncounted") else total("rows")
    return DateFiles(day, total("files"), total("small"), max_small, total("bytes"), rows)


def _committed(snapshot: TableSnapshot) -> datetime | None:
    with reading(snapshot.path):
        commits = read_commits(snapshot.table.location.files(), range(snapshot.version, snapshot.version + 1))
        written = next(commits, {}).get("timestamp")
    return None if written is None else datetime.fromtimestamp(written / 1000, UTC)
