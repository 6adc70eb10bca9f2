"""Deletes the files that no recent version needs (VACUUM): deltalake lists them, and this module deletes them.

`full` lists the directory, and so also finds uncommitted files, of killed batches. `lite` deletes the removed files in
the log. Checkpoints of the log drop them after `delta.deletedFileRetentionDuration`, so with `lite` the sink creates
tables with a longer value than `retain`.

A file of a pending batch looks like one of a killed batch: no version has it. Only their ages differ. So all files
written since the oldest pending batch was planned are kept, however long ago that is (`kept_for`): its process may have
been suspended, and would commit deleted files. An age is the difference of two clocks, this host's and the file
system's, so it is corrected by their difference (`clock_ahead`).

Checkpoints of the log are thinned out. Each lists all data files, and those removed within a week: with a batch every
five seconds, the checkpoints of ten days took gigabytes. The newest version needs only the last checkpoint, an older
version any earlier one and the commits since. So after an hour only the last one of each hour is kept, and after a day
only the last one of each day.

deltalake's own deletion would also delete deletion vectors that are in use, and in each round make two commits that
report the same removed files again, as long as the log has them.
"""

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from uuid import uuid4

import pyarrow as pa
from deltalake.exceptions import DeltaError
from pyarrow import fs

from log_shipper.config.text.spans import DAY, HOUR
from log_shipper.spark_sink.errors import Refused, SinkError
from log_shipper.spark_sink.storage.locations import Location
from log_shipper.spark_sink.storage.tables import TableSnapshot, reading

MIN_RETENTION = HOUR
CHECKPOINT = re.compile(r"_delta_log/(\d{20})\.checkpoint\.parquet")  # the sink's form
CLOCKS_DIFFER = 60.0  # seconds; object stores report whole seconds, and deltalake takes whole hours anyway
AT_A_TIME = 8  # concurrent requests to an object store


@dataclass(frozen=True, slots=True)
class UnneededFile:
    path: str
    size: int


def clock_ahead(location: Location, now: Callable[[], float] = time.time) -> float:
    """Return by how many seconds this host's clock is ahead of the file system's; 0 if by less than a minute. Writes an
    empty file and deletes it. Raises SinkError if that fails."""
    name = f"_spark_sink_clock_{uuid4().hex}"  # readers ignore names that begin with _
    try:
        files = location.files()
        before = now()
        with files.open_output_stream(name):
            pass
        modified = files.get_file_info(name).mtime_ns
        files.delete_file(name)
    except (DeltaError, OSError, pa.ArrowException) as error:
        raise SinkError(f"cannot compare the clocks: cannot write to {location.path}: {error}") from error
    ahead = before - modified / 1e9
    return ahead if ahead > CLOCKS_DIFFER else 0.0


def kept_for(retain: float, uncommitted_since: float, ahead: float) -> float:
    """Return how many seconds files are kept, so that no file of a pending batch is deleted.

    `uncommitted_since`: all uncommitted files of pending batches are newer (seconds of the epoch); `ahead`: from
    `clock_ahead`.
    """
    return max(retain, time.time() - uncommitted_since) + ahead


def unneeded(snapshot: TableSnapshot, lite: bool, retain: float) -> list[UnneededFile]:
    """Return the files to delete; `retain` is in seconds, at least MIN_RETENTION (as configured). Raises SinkError."""
    if retain < MIN_RETENTION:
        raise Refused(
            f"maintenance.vacuum.retain is {retain:g} s: less than an hour would delete files of the batch in progress"
        )
    assert snapshot.delta is not None
    with reading(snapshot.path, "vacuum"):
        # deltalake's check is against typing errors. The configuration warns of less than seven days, and a `retain`
        # shorter than the table's property is intended.
        paths = snapshot.delta.vacuum(
            _whole_hours(retain), dry_run=True, enforce_retention_duration=False, full=not lite
        )
        return list(_existing(snapshot.table.location.files(), {path for path in paths if not _is_vector(path)}))


def delete(location: Location, unneeded: Sequence[UnneededFile]) -> None:
    """Delete the files; ignore those that another process has deleted meanwhile. Raises SinkError."""
    with reading(location.path, "vacuum"), ThreadPoolExecutor(AT_A_TIME) as threads:
        delete_one = partial(_delete_one, location.files())
        list(threads.map(delete_one, (file.path for file in unneeded)))


def _delete_one(files: fs.FileSystem, path: str) -> None:
    with suppress(FileNotFoundError):
        files.delete_file(path)


def _existing(files: fs.FileSystem, paths: set[str]) -> Iterator[UnneededFile]:
    """Yield the files that still exist, by listing their directories."""
    for directory in sorted({path.rpartition("/")[0] for path in paths}):
        for info in files.get_file_info(fs.FileSelector(directory, allow_not_found=True)):
            if info.path in paths and info.is_file:
                yield UnneededFile(info.path, info.size)


def checkpoints(location: Location, now: float) -> list[UnneededFile]:
    """Return the checkpoints of the log that are not the last one of their hour or day. Raises SinkError."""
    with reading(location.path, "vacuum"):
        infos = location.files().get_file_info(fs.FileSelector("_delta_log", allow_not_found=True))
    return list(_not_last(infos, now))


def _not_last(infos: Iterable[fs.FileInfo], now: float) -> Iterator[UnneededFile]:
    followed: set[tuple[float, float]] = set()
    for info in sorted(
        (info for info in infos if CHECKPOINT.fullmatch(info.path)), key=attrgetter("path"), reverse=True
    ):
        written = info.mtime_ns / 1e9
        span = DAY if now - written > DAY else HOUR
        period = (span, written // span)
        if now - written > HOUR and period in followed:
            yield UnneededFile(info.path, info.size)
        followed.add(period)


def _is_vector(path: str) -> bool:
    """Return True for a file of deletion vectors: only Delta's Java can tell whether they are in use."""
    return path.rpartition("/")[2].startswith("deletion_vector_")


def _whole_hours(seconds: float) -> int:
    return -int(-seconds // 3600)
