"""Keeps the marks table small: one row for each file, partition, topic and table; none for files without recent rows.

The running job appends to the table every second and must never fail. So the fold only replaces the files that it has
read (`rewrites`): concurrent appends succeed and stay; only another fold of the same files conflicts, and is retried.
An ordinary overwrite would remove concurrent appends, and a MERGE or DELETE would conflict with every append.

Folding a row twice, or beside newer rows, gives the same marks: the maximum counts for a file, otherwise the last row.
SQL does the folding, so a million marks are in memory only once, in the engine's form.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyarrow import compute

from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.landing.marks import query_of_files, query_of_others
from log_shipper.spark_sink.storage.data_files import DataFileWriter
from log_shipper.spark_sink.storage.rewrites import StoredFile, file_layout, replace, stored_files
from log_shipper.spark_sink.storage.tables import Table, TableSnapshot, reading
from log_shipper.spark_sink.storage.writable import check_rewritable


@dataclass(frozen=True, slots=True)
class MarksFolding:
    """The read marks, which `commit` folds. Concurrently appended rows are not part of it. `queries`: select the rows
    to keep."""

    snapshot: TableSnapshot
    files: Sequence[StoredFile]
    queries: tuple[str, str]
    rows: int
    kept_rows: int
    forgotten: int

    @property
    def idle(self) -> bool:
        return self.kept_rows == self.rows and len(self.files) < 2

    def commit(self) -> None:
        """Replace the files. Raises Conflict if another writer has removed one of them, and other SinkErrors."""
        location, read = self.snapshot.table.location, self.snapshot.delta
        assert read is not None
        layout = file_layout(read)
        with reading(location.path, "fold"), DataFileWriter(location, layout) as writer:
            for query in self.queries:
                for batch in self.snapshot.stream(query):
                    writer.write(pa.Table.from_batches([batch]).cast(layout.schema))
            written = writer.close()
        replace(location, read, self.files, written)


def read(table: Table, forget_before: float) -> MarksFolding:
    """Read the marks of the table. Raises SinkError.

    `forget_before`: files without a newer row (seconds of the epoch) are left out.
    """
    snapshot = table.snapshot()
    assert snapshot.delta is not None
    check_rewritable(table.path, snapshot.delta)
    files = list(stored_files(snapshot))
    if not all(file.is_replaceable for file in files):
        raise SinkError(
            f"the marks table {table.path} has deletion vectors, because rows were deleted in Spark, and "
            f"cannot be compacted. Landing continues. Run REORG TABLE delta.`{table.path}` APPLY (PURGE) in Spark (on "
            "S3 stop spark-sink run before), and never delete marks"
        )
    with reading(table.path, "fold"):
        rows = compute.sum(snapshot.files().column("num_records")).as_py() or 0
    folded, others = query_of_files(snapshot.columns), query_of_others(snapshot.columns)
    # The time of the mark, not the date of its rows: a file of last year that is shipped today must be kept.
    cutoff = f"arrow_cast({round(forget_before * 1e6)}, 'Timestamp(Microsecond, Some(\"UTC\"))')"
    recent = f"SELECT * FROM ({folded}) WHERE at IS NULL OR at >= {cutoff}"
    all_files, old_files = _counts(snapshot, f"count(*), count(*) FILTER (WHERE at < {cutoff}) FROM ({folded})")
    (other_rows,) = _counts(snapshot, f"count(*) FROM ({others})")
    return MarksFolding(snapshot, files, (recent, others), rows, all_files - old_files + other_rows, old_files)


def _counts(snapshot: TableSnapshot, query: str) -> list[int]:
    return [column[0].as_py() for column in snapshot.select(f"SELECT {query}").columns]
