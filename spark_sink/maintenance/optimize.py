"""Compacts small files (like OPTIMIZE): of dates that get no more rows, and of open dates with many small files.

A file is small below half the target size: two of them always fit in one, so each run reduces their number. While rows
still arrive, a compacted file is copied again only together with as many bytes of smaller files (`without_large`): so a
row is copied a few times instead of once per round, and replaced files, which stay until VACUUM deletes them, take a
few times the table's growth.
Rows are copied in landing order, one row group at a time, by the writer of the sink's own files. The commit changes no
rows and does not conflict with appends (`rewrites`); of two concurrent compactions of the same files the later one
fails, and its retry finds nothing to do.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

import pyarrow as pa
from pyarrow import dataset, fs

from log_shipper.spark_sink.maintenance.sizes import DATE, DateFiles, Sizes, date_of
from log_shipper.spark_sink.options.maintenance import OptimizeConfig
from log_shipper.spark_sink.storage.data_files import DataFile, FileLayout, PartFile
from log_shipper.spark_sink.storage.rewrites import StoredFile, file_layout, replace, stored_files
from log_shipper.spark_sink.storage.tables import Table, reading
from log_shipper.spark_sink.storage.writable import check_rewritable

TARGET = 1024**3  # Delta's default (spark.databricks.delta.optimize.maxFileSize)
BATCH = 16_384  # rows in memory at a time, besides those of a row group
# Read Spark's INT96 times as microseconds: nanoseconds only reach from 1677 to 2262.
_PARQUET = dataset.ParquetFileFormat(coerce_int96_timestamp_unit="us")


@dataclass(frozen=True, slots=True)
class OptimizeResult:
    """The files and bytes that one compaction removed, and those that it added."""

    files_before: int
    files_after: int
    bytes_before: int
    bytes_after: int


def target_size(config: OptimizeConfig) -> int:
    return config.target_size or TARGET


def small_size(config: OptimizeConfig) -> int:
    return target_size(config) // 2


def plan(sizes: Sizes, config: OptimizeConfig, now: datetime) -> Iterator[DateFiles]:
    """Yield the dates with enough small files, oldest first. A table that is not partitioned by date counts as one
    closed date."""
    for day in sorted(sizes.by_date, key=lambda day: day.date or date.min):
        if sizes.dated and day.date is None:
            continue  # invalid dates: few files, and no query filters by them
        closed = day.date is None or is_closed(day.date, config.closed_after, now)
        if day.max_small_in_directory >= (config.min_files if closed else config.open_min_files):
            yield day


def is_closed(day: date, after: float, now: datetime) -> bool:
    """Return True if the day ended, in UTC, at least `after` seconds ago."""
    end = datetime.combine(day, time(), UTC) + timedelta(days=1)
    return end + timedelta(seconds=after) <= now


def compact(table: Table, day: date | None, target: int, closed: bool = True) -> OptimizeResult:
    """Compact the small files of one date, or of the whole table, in one commit: a kill loses the work of one date.
    `closed`: no more rows are expected. Raises Refused if the table has unsupported features, Conflict, and other
    SinkErrors."""
    snapshot = table.snapshot()
    assert snapshot.delta is not None
    check_rewritable(table.path, snapshot.delta)
    small = [file for file in stored_files(snapshot) if file.size < target // 2 and _is_of(file, day)]
    groups = [group for group in groups_of(small if closed else without_large(small), target) if len(group) > 1]
    removed = [file for group in groups for file in group]
    if not removed:
        return OptimizeResult(0, 0, 0, 0)
    with reading(table.path, "compact"):
        layout, files = file_layout(snapshot.delta), table.location.files(snapshot.delta)
        added = [_write(files, layout, group) for group in groups]
    replace(table.location, snapshot.delta, removed, added)
    before, after = sum(file.size for file in removed), sum(file.size for file in added)
    return OptimizeResult(len(removed), len(added), before, after)


def without_large(files: Iterable[StoredFile]) -> list[StoredFile]:
    """Return the files, in their order, except those that are larger than all smaller ones of their directory together:
    the compacted rest is at least twice as large as its largest file."""
    in_order, kept, sums = list(files), set[str](), dict[str, int]()
    pending: dict[str, list[str]] = {}  # larger than the smaller ones so far: kept only if a larger file is
    for file in sorted(in_order, key=lambda file: file.size):
        smaller = sums.get(file.directory, 0)
        pending.setdefault(file.directory, []).append(file.path)
        if file.size <= smaller:
            kept.update(pending.pop(file.directory))
        sums[file.directory] = smaller + file.size
    return [file for file in in_order if file.path in kept]


def groups_of(files: Iterable[StoredFile], target: int) -> Iterator[list[StoredFile]]:
    """Yield groups of files of one directory, in their order, up to the target size."""
    groups: dict[str, list[StoredFile]] = {}
    sizes: dict[str, int] = {}
    for file in files:
        if not file.is_replaceable:
            continue
        group = groups.setdefault(file.directory, [])
        if group and sizes[file.directory] + file.size > target:
            yield group
            group = groups[file.directory] = []
        sizes[file.directory] = file.size + (sizes[file.directory] if group else 0)
        group.append(file)
    yield from groups.values()


def _is_of(file: StoredFile, day: date | None) -> bool:
    return day is None or date_of(file.partition.get(DATE)) == day


def _write(files: fs.FileSystem, layout: FileLayout, group: list[StoredFile]) -> DataFile:
    part = PartFile(files, layout, group[0].directory, group[0].partition)
    try:
        for file in group:
            rows = dataset.dataset([file.path], schema=layout.schema, filesystem=files, format=_PARQUET)
            for batch in rows.to_batches(batch_size=BATCH, batch_readahead=1, fragment_readahead=1, use_threads=False):
                part.write(pa.Table.from_batches([batch]))
        return part.close()
    except (OSError, pa.ArrowException):
        part.discard()
        raise
