"""Replaces data files of a table with others that have the same rows, concurrently with appends.

Like OPTIMIZE, the commit removes exactly the files that were read, adds the new ones, and marks both `dataChange:
false`: streaming readers skip it, and concurrent appends stay. It follows the version that was read (`commits`), so
this module alone decides what a conflict is: another process has removed one of the files, deleted rows in one, or
changed the schema or the table features.
"""

import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any
from urllib.parse import unquote
from uuid import uuid4

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable
from deltalake.exceptions import DeltaError
from deltalake.transaction import AddAction, RemoveAction

from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.storage.commits import COMMIT_ID, NO_HOOKS, TRIES, version_of
from log_shipper.spark_sink.storage.data_files import UNIQUE, DataFile, FileLayout
from log_shipper.spark_sink.storage.layout import STATISTICS_PROPERTY
from log_shipper.spark_sink.storage.locations import Location
from log_shipper.spark_sink.storage.power_cuts import sync_files
from log_shipper.spark_sink.storage.tables import TableSnapshot, reading

INDEXED = 32  # columns with statistics, where the table does not name them (delta.dataSkippingNumIndexedCols)
# Delta's Java and deltalake escape other characters in paths differently: one cannot remove files that the other has
# added.
_SAME_ESCAPES = re.compile(r"(?:[\w=./-]|%2[05])*", re.ASCII)


# The types of a partition column whose values have a unique text -> the function that makes the text.
_TEXTS: Mapping[type, Callable[[Any], str | None]] = {
    str: str,
    int: str,
    bool: lambda value: str(value).lower(),
    date: date.isoformat,
    type(None): lambda _: None,
}


class Conflict(SinkError):
    """Raised if a concurrent commit conflicts: repeat the operation from the beginning."""


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A data file of a version of a table. `path`: relative to the table; `partition`: the text of each partition
    column, by name. `is_removable`: False if deltalake would escape its path differently than the log;
    `is_replaceable`: False also if the type of a partition column or a deletion vector prevents it."""

    path: str
    size: int
    partition: Mapping[str, str | None]
    is_replaceable: bool = True
    is_removable: bool = True

    @property
    def directory(self) -> str:
        return self.path.rpartition("/")[0]


def stored_files(snapshot: TableSnapshot) -> Iterator[StoredFile]:
    """Yield the data files, oldest first. Raises SinkError."""
    assert snapshot.delta is not None
    listed = snapshot.files().sort_by([("modification_time", "ascending"), ("path", "ascending")])
    names = [name for name in listed.column_names if name.startswith("partition.")]
    with reading(snapshot.path):
        vectors = _with_deletion_vectors(snapshot.delta)
    for row in listed.select(["path", "size_bytes", *names]).to_pylist():
        path, values = unquote(row["path"]), {name.removeprefix("partition."): row[name] for name in names}
        texts = {name: _TEXTS[type(value)](value) for name, value in values.items() if type(value) in _TEXTS}
        removable = _SAME_ESCAPES.fullmatch(row["path"]) is not None
        replaceable = removable and len(texts) == len(values) and _name(path) not in vectors
        yield StoredFile(path, row["size_bytes"], texts, replaceable, removable)


def file_layout(table: DeltaTable) -> FileLayout:
    """Return the layout of the table's files: all columns except partition columns, with the table's statistics."""
    metadata = table.metadata()
    columns = [field for field in pa.schema(table.schema().to_arrow()) if field.name not in metadata.partition_columns]
    named = metadata.configuration.get(STATISTICS_PROPERTY)
    counted = named.split(",") if named else [field.name for field in columns[:INDEXED]]
    unzoned = {field.name for field in columns if pa.types.is_timestamp(field.type) and field.type.tz is None}
    statistics = tuple(field.name for field in columns if field.name in counted and field.name not in unzoned)
    return FileLayout(pa.schema(columns), statistics=statistics, unique=UNIQUE)


def replace(location: Location, read: DeltaTable, old: Collection[StoredFile], new: Sequence[DataFile]) -> int:
    """Commit `new` in place of `old`, files of the version `read`, and return the table's new version.

    Raises Conflict, also if other processes committed first TRIES times; SinkError if the commit cannot be written.
    """
    commit_id, error = uuid4().hex, None
    with reading(location.path, "rewrite files of"):
        if location.fsync and (directory := location.directory) is not None:
            sync_files(directory, (file.path for file in new))
        actions: list[RemoveAction | AddAction] = [*_removed(old), *_added(new)]
        for _ in range(TRIES):
            newest = location.open()
            _check_conflict(location.path, read, newest, old)
            assert newest is not None
            try:
                _commit(newest, actions, commit_id)
            except (DeltaError, OSError) as failed:
                error = failed
                latest = location.open() or newest
                if latest.version() == newest.version():
                    raise SinkError(f"cannot write the Delta log of the table {location.path}: {error}") from error
                versions = range(newest.version() + 1, latest.version() + 1)
                if (own := version_of(location.files(), commit_id, versions)) is not None:
                    return own
            else:
                return newest.version() + 1
    raise Conflict(f"the table {location.path}: other programs committed first, {TRIES} times in a row") from error


def _check_conflict(path: str, read: DeltaTable, newest: DeltaTable | None, old: Collection[StoredFile]) -> None:
    if newest is None or _state(newest) != _state(read):
        raise Conflict(f"the table {path} was changed or re-created during the rewrite")
    if newest.version() == read.version():
        return
    current = {unquote(raw) for raw in pa.table(newest.get_add_actions()).column("path").to_pylist()}
    vectors = _with_deletion_vectors(newest)
    if lost := [file.path for file in old if file.path not in current or _name(file.path) in vectors]:
        raise Conflict(f"the table {path}: another process removed or changed {lost[0]} during the rewrite")


def _state(table: DeltaTable) -> object:
    return table.protocol(), table.metadata().id, table.metadata().configuration, table.schema().to_json()


def _with_deletion_vectors(table: DeltaTable) -> set[str]:
    """Return the names of the files with deletion vectors: the files alone still contain the deleted rows."""
    if "deletionVectors" not in (table.protocol().reader_features or ()):
        return set()
    return {_name(uri) for uri in pa.table(table.deletion_vectors().read_all()).column("filepath").to_pylist()}


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _removed(files: Collection[StoredFile]) -> Iterator[RemoveAction]:
    now = round(time.time() * 1000)
    for file in files:
        yield RemoveAction(file.path, False, now, file.size, dict(file.partition))


def _added(files: Sequence[DataFile]) -> Iterator[AddAction]:
    now = round(time.time() * 1000)
    for file in files:
        yield AddAction(file.path, file.size, file.partition, now, False, file.statistics)


def _commit(table: DeltaTable, actions: list[RemoveAction | AddAction], commit_id: str) -> None:
    """Write the version after the table's. Raises deltalake's error if that version exists."""
    table.create_write_transaction(
        actions,
        "append",
        table.schema(),
        table.metadata().partition_columns,
        commit_properties=CommitProperties(
            {"isBlindAppend": False, "isolationLevel": "SnapshotIsolation", COMMIT_ID: commit_id}, max_commit_retries=0
        ),
        post_commithook_properties=NO_HOOKS,
    )
