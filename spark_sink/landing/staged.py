"""Staged rows: written to data files in the table's directory, and not committed yet.

Parsing and writing are the cost of a batch, and repeats are known only once the rows are parsed. So the tasks write the
rows first, and report from which files of which hosts they came. Then the files are committed, or first rewritten
without the repeats. A process killed in between leaves files that no version of the table names: no one reads them, and
a full VACUUM deletes them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain

import pyarrow as pa
from pyarrow import dataset

from log_shipper.spark_sink.landing.places import PLACE, Places
from log_shipper.spark_sink.landing.tasks import Tasks
from log_shipper.spark_sink.storage.data_files import DataFile, DataFileWriter, FileLayout
from log_shipper.spark_sink.storage.locations import Location


@dataclass(frozen=True, slots=True)
class Staged:
    """Data files of a table that await their commit. The table need not exist."""

    location: Location
    layout: FileLayout
    files: tuple[DataFile, ...]

    @property
    def path(self) -> str:
        return self.location.path

    @property
    def count(self) -> int:
        return sum(file.rows for file in self.files)

    def rows(self, columns: Sequence[str], where: dataset.Expression | None = None) -> pa.Table:
        """Return these columns of the rows."""
        return _read(self.location, self.layout, self.files, columns, where)

    def without(self, places: Places, tasks: Tasks) -> "Staged":
        """Return the rows at other places: files that have rows at these places are rewritten without them."""
        if not len(places):
            return self
        left = tasks.run(partial(_without, self.location, self.layout, places), self.files)
        staged = Staged(self.location, self.layout, tuple(chain.from_iterable(left)))
        written_again = tuple(file for file in self.files if file not in staged.files)
        Staged(self.location, self.layout, written_again).discard()
        return staged

    def discard(self) -> None:
        """Delete the files, best effort: no version of the table names them."""
        store = self.location.files()
        for file in self.files:
            try:
                store.delete_file(file.path)
            except OSError:  # VACUUM deletes it later
                continue


def stage(location: Location, layout: FileLayout, rows: pa.Table) -> Staged:
    """Write a few rows on the driver."""
    with DataFileWriter(location, layout) as writer:
        writer.write(rows)
        return Staged(location, layout, tuple(writer.close()))


def _without(location: Location, layout: FileLayout, left_out: Places, file: DataFile) -> list[DataFile]:
    """Return the file, or a new one with its rows at other places. Runs in a task."""
    places = _read(location, layout, [file], PLACE)
    if not left_out.select(places).num_rows:
        return [file]
    kept = left_out.others(_read(location, layout, [file], layout.schema.names))
    return list(stage(location, layout, kept).files)


def _read(
    location: Location,
    layout: FileLayout,
    files: Iterable[DataFile],
    columns: Sequence[str],
    where: dataset.Expression | None = None,
) -> pa.Table:
    paths = [file.path for file in files]
    rows = dataset.dataset(paths, schema=layout.schema, filesystem=location.files(), partitioning="hive")
    return rows.to_table(columns=list(columns), filter=where)
