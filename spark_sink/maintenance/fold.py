"""Keeps the marks table small: one row for each file, partition and table, and none for files that are long quiet.

The running job appends to it every second and must never fail. So the fold is a commit that replaces exactly the files
that it has read and changes no data (`rewrites`): concurrent appends pass, and they stay; only another fold of the same
files is a conflict, and that one is retried. An ordinary overwrite would remove what was appended meanwhile, and a
MERGE or DELETE would lose against every append.

A row that is folded twice, or with newer ones beside it, gives the same marks: `landing.marks.fold` takes the maximum.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import pyarrow as pa
from deltalake import DeltaTable
from pyarrow import compute

from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.landing import marks
from log_shipper.spark_sink.storage.data_files import DataFileWriter
from log_shipper.spark_sink.storage.locations import Location
from log_shipper.spark_sink.storage.rewrites import StoredFile, file_layout, replace, stored_files
from log_shipper.spark_sink.storage.tables import Table, reading
from log_shipper.spark_sink.storage.writable import check_rewritable


@dataclass(frozen=True, slots=True)
class FoldedMarks:
    """Marks that were read and folded, and await their commit. Rows that are appended meanwhile are not part of it."""

    location: Location
    read: DeltaTable
    files: Sequence[StoredFile]
    rows: int
    forgotten: int
    kept: pa.Table

    @property
    def kept_rows(self) -> int:
        return int(self.kept.num_rows)

    @property
    def idle(self) -> bool:
        return self.kept_rows == self.rows and len(self.files) < 2

    def commit(self) -> None:
        """Replace the files. Raises Conflict where another writer has removed one of them, and other SinkErrors."""
        with reading(self.location.path, "fold"), DataFileWriter(self.location, file_layout(self.read)) as writer:
            writer.write(self.kept)
            written = writer.close()
        replace(self.location, self.read, self.files, written)


def read(table: Table, forget_before: float) -> FoldedMarks:
    """Return the marks of the table, folded. Raises SinkError.

    `forget_before`: files without a row since then (seconds of the epoch) are left out.
    """
    snapshot = table.snapshot()
    assert snapshot.delta is not None
    check_rewritable(table.path, snapshot.delta)
    listed = list(stored_files(snapshot))
    if not all(file.is_replaceable for file in listed):
        raise SinkError(
            f"the table {table.path} has deletion vectors: the marks cannot be folded. Run REORG TABLE ... APPLY "
            "(PURGE) in Spark, and do not delete marks"
        )
    with reading(table.path, "fold"):
        files, others = marks.fold(table.location.parts(snapshot.delta))
        rows = compute.sum(snapshot.files().column("num_records")).as_py() or 0
    # The mark's own time, not the date of its rows: a file of last year that is shipped today is new for days to come.
    lately = compute.greater_equal(files.column("at"), datetime.fromtimestamp(forget_before, UTC))
    kept = files.filter(compute.fill_null(lately, True))
    kept = kept.append_column("kind", pa.repeat("file", kept.num_rows))
    forgotten = files.num_rows - kept.num_rows
    schema = file_layout(snapshot.delta).schema
    folded = pa.concat_tables([_with_all_columns(part, schema) for part in (kept, others)])
    return FoldedMarks(table.location, snapshot.delta, listed, rows, forgotten, folded)


def _with_all_columns(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return the rows with the columns of the table, in its order, which are NULL where they do not count."""
    empty = pa.nulls(rows.num_rows)
    columns = [rows.column(name) if name in rows.column_names else empty for name in schema.names]
    return pa.table([column.cast(kind) for column, kind in zip(columns, schema.types, strict=True)], schema=schema)
