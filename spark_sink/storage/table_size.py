"""The size of a table, from its log alone: no data file is opened."""

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa
from deltalake import DeltaTable
from pyarrow import compute

from log_shipper.spark_sink.storage.data_files import DataFile


@dataclass(frozen=True, slots=True)
class TableSize:
    rows: int | None  # None where a file has no statistics
    files: int
    bytes: int

    def __add__(self, other: "TableSize") -> "TableSize":
        rows = None if self.rows is None or other.rows is None else self.rows + other.rows
        return TableSize(rows, self.files + other.files, self.bytes + other.bytes)


def size_of(files: Iterable[DataFile]) -> TableSize:
    """Return the size of these files."""
    listed = list(files)
    return TableSize(sum(file.rows for file in listed), len(listed), sum(file.size for file in listed))


def count(table: DeltaTable) -> TableSize:
    """Return the size of the table's version. Slow for many files."""
    files = pa.table(table.get_add_actions(flatten=True))
    if not files.num_rows:
        return TableSize(0, 0, 0)
    size = compute.sum(files.column("size_bytes")).as_py()
    if "num_records" not in files.column_names or files.column("num_records").null_count:
        return TableSize(None, files.num_rows, size)
    return TableSize(compute.sum(files.column("num_records")).as_py(), files.num_rows, size)
