"""Reads tables with deltalake, without Java. Its engine supports partitions, statistics and deletion vectors.

`layout` describes a table, `creation` creates it, and `commits` writes to it.
"""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder
from deltalake.exceptions import DeltaError
from pyarrow import fs

from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.storage.locations import Location
from log_shipper.spark_sink.storage.power_cuts import damage

NO_BATCH = -1  # below every batch number
NO_TABLE = -1  # below every version
# For object stores, with slow requests: by default, files of together less than 10 MB are read one after the other.
# With a smaller minimum they would be split into pieces hardly larger than a footer, which is read for each piece.
_FOR_STORES = {
    "datafusion.execution.target_partitions": "16",
    "datafusion.optimizer.repartition_file_min_size": "65536",
}


@dataclass(frozen=True, slots=True)
class TxnId:
    """The transaction id of a batch's commit: Delta's txnAppId is the query's id, its txnVersion the batch's number."""

    query_id: str
    batch: int


class Unnamed(Enum):
    """The reason why a commit has no transaction id of a batch."""

    NOT_A_BATCH = "the rows are not a batch of the query: a repair, or what an earlier run had read beyond its bounds"
    NAME_IS_USED = "a killed run of the same batch has committed a part of it under the name, and this is the remainder"


# The transaction id of a commit, or why it has none. Of two commits with the same TxnId the second one fails.
CommitName: TypeAlias = TxnId | Unnamed


@dataclass(frozen=True, slots=True)
class Table:
    """A table at a location. It need not exist."""

    location: Location

    @property
    def path(self) -> str:
        return self.location.path

    def snapshot(self) -> "TableSnapshot":
        """Return the newest version. Reads the log: use one snapshot for all reads. Raises SinkError."""
        with reading(self.path):
            return TableSnapshot(self, self.location.open())

    def exists(self) -> bool:
        return self.snapshot().exists

    def version(self) -> int:
        """Return the version of the newest commit, NO_TABLE without a table."""
        return self.snapshot().version


@dataclass(frozen=True, slots=True)
class TableSnapshot:
    """One version of a table; `delta` is None if the table is missing. Every method may raise SinkError."""

    table: Table
    delta: DeltaTable | None

    @property
    def path(self) -> str:
        return self.table.path

    @property
    def exists(self) -> bool:
        return self.delta is not None

    @property
    def version(self) -> int:
        """The version of the newest commit, NO_TABLE without a table."""
        return NO_TABLE if self.delta is None else self.delta.version()

    @property
    def is_empty(self) -> bool:
        """True if there is no data file."""
        return self.delta is None or not self.delta.file_uris()

    @property
    def columns(self) -> list[str]:
        return [] if self.delta is None else [field.name for field in self.delta.schema().fields]

    @property
    def partition_columns(self) -> list[str]:
        return [] if self.delta is None else list(self.delta.metadata().partition_columns)

    def last_batch(self, query_id: str) -> int:
        """Return the highest batch that this query has committed, NO_BATCH without one."""
        batch = None if self.delta is None else self.delta.transaction_version(query_id)
        return NO_BATCH if batch is None else batch

    def files(self) -> pa.Table:
        """Return the data files with their bounds, in deltalake's columns (path, size_bytes, num_records, min.ts,
        partition.date ...). The table must exist."""
        assert self.delta is not None
        with reading(self.path):
            return pa.table(self.delta.get_add_actions(flatten=True))

    def select(self, query: str) -> pa.Table:
        """Return the result of a SQL query (DataFusion's) on the table, which must exist. Its name in the query is
        `stored`. Columns named like SQL keywords need quotes: "offset"."""
        with reading(self.path):
            return self._reader(query).read_all()

    def stream(self, query: str) -> Iterator[pa.RecordBatch]:
        """Yield the result of a SQL query in batches, while it is read."""
        with reading(self.path):
            yield from self._reader(query)

    def _reader(self, query: str) -> pa.RecordBatchReader:
        assert self.delta is not None
        settings = _FOR_STORES if self.table.location.directory is None else None
        answer = QueryBuilder(settings).register("stored", self.delta).execute(query)
        rows = pa.RecordBatchReader.from_stream(answer)
        # The engine returns string views, which few of Arrow's functions support.
        return rows.cast(pa.schema([field.with_type(_plain(field.type)) for field in rows.schema]))

    def has_rows_of(self, topics: Iterable[str]) -> bool:
        """Return True if a row came from one of the topics. Skips files by their statistics."""
        names = ", ".join(map(literal, topics))
        if self.is_empty or not names:
            return False
        return bool(self.select(f"SELECT 1 FROM stored WHERE topic IN ({names}) LIMIT 1").num_rows)

    def restored_since(self, version: int) -> int | None:
        """Return the version of the first RESTORE after `version`, None without one."""
        with reading(self.path):
            commits = read_commits(self.table.location.files(), range(version + 1, self.version + 1))
            return next((int(commit["version"]) for commit in commits if commit.get("operation") == "RESTORE"), None)


def read_commits(files: fs.FileSystem, versions: range) -> Iterator[dict[str, Any]]:
    """Yield the `commitInfo` of each version, with its number as `version`, and with `examine` True if it changes
    protocol or metadata; versions that the log lacks are left out. `files`: of the table's directory. May raise OSError
    and ValueError.

    deltalake's `history` numbers the newest commits down from the version that was read: all numbers are too low if
    another process has committed meanwhile."""
    for version in versions:
        try:
            with files.open_input_stream(f"_delta_log/{version:020}.json") as stream:
                actions = list(map(json.loads, bytes(stream.read()).splitlines()))
                yield {
                    **next((action["commitInfo"] for action in actions if "commitInfo" in action), {}),
                    "version": version,
                    "examine": any("metaData" in action or "protocol" in action for action in actions),
                }
        except FileNotFoundError:
            continue


def literal(text: str) -> str:
    """Return the text as a SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def quoted(name: str) -> str:
    """Return the column name as a quoted SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


@contextmanager
def reading(path: str, doing: str = "read") -> Iterator[None]:
    """Translate errors of deltalake and Arrow to SinkError, and name a damaged file of the log, which they do not.
    `doing`: the verb of the message."""
    try:
        yield
    except (DeltaError, OSError, pa.ArrowException, ValueError) as error:  # ValueError: invalid JSON
        raise SinkError(f"cannot {doing} the table {path}: {damage(path) or error}") from error


def _plain(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_binary_view(kind):
        return pa.binary()
    if pa.types.is_list(kind):
        return pa.list_(_plain(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_plain(field.type)) for field in kind])
    return kind
