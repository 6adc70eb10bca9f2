"""Writes rows to parquet files of a table, one per date, and describes each file; `commits` commits them.

Uncommitted files are in the table's directory, but in no version of the table: no one reads them, and a full VACUUM
deletes them.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from types import TracebackType
from uuid import uuid4

import pyarrow as pa
from pyarrow import compute, fs, parquet

from log_shipper.runtime.disk import make_directory
from log_shipper.runtime.disk_errors import Misplaced
from log_shipper.spark_sink.errors import translate
from log_shipper.spark_sink.storage.file_statistics import statistics
from log_shipper.spark_sink.storage.locations import Location

# Maximum rows and bytes of a row group: the unit that readers skip, and that a writer keeps in memory.
ROW_GROUP = 131_072
ROW_GROUP_BYTES = 32 << 20
# Spark 3 refuses times before 1900 in files without this entry: it marks the calendar of Spark 3.0 and later, Arrow's.
_CALENDAR = {"org.apache.spark.version": "4.0.0"}
# Columns whose values are rarely equal.
UNIQUE = ("message", "doc", "value")
NO_DATE = "__HIVE_DEFAULT_PARTITION__"  # the name that Hive gave to the directory of NULL


@dataclass(frozen=True, slots=True)
class FileLayout:
    """The layout of a table's data files.

    `partition`: the DATE column that the table is partitioned by, empty without one; only the path has its value.
    `statistics`: the columns with minimum, maximum and number of NULLs. `unique`: columns whose values are rarely
    equal, written without a dictionary.
    """

    schema: pa.Schema
    partition: str = ""
    statistics: tuple[str, ...] = ()
    unique: tuple[str, ...] = ()

    @property
    def stored(self) -> pa.Schema:
        """The columns in a file."""
        if not self.partition:
            return self.schema
        return self.schema.remove(self.schema.get_field_index(self.partition))


@dataclass(frozen=True, slots=True)
class DataFile:
    """A written file. `path`: relative to the table; `partition`: the text of each partition column, by name;
    `statistics`: by `file_statistics`."""

    path: str
    size: int
    rows: int
    partition: Mapping[str, str | None] = field(default_factory=dict)
    statistics: str = "{}"


class DataFileWriter:
    """Writes rows to one file per date. A context manager: an error within it deletes the files."""

    def __init__(self, location: Location, layout: FileLayout) -> None:
        self._location = location
        self._layout = layout
        self._store = location.files()
        self._open: dict[date | None, PartFile] = {}

    def write(self, rows: pa.Table) -> None:
        """Write rows with the layout's columns, in its order. Some stay in memory until `close`. Raises SinkError."""
        with self._writing():
            for day, part in self._parts(rows):
                if day not in self._open:
                    self._open[day] = self._new_file(day)
                self._open[day].write(part)

    def close(self) -> list[DataFile]:
        """Complete the files, and return their descriptions. Raises SinkError."""
        with self._writing():
            return [opened.close() for opened in self._open.values()]

    def discard(self) -> None:
        """Delete the files, best effort."""
        for opened in self._open.values():
            opened.discard()
        self._open.clear()

    def __enter__(self) -> "DataFileWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self.discard()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except (OSError, Misplaced) as error:
            raise translate(str(error), f"cannot write to {self._location.path}") from error

    def _new_file(self, day: date | None) -> "PartFile":
        if (table := self._location.directory) is not None:
            make_directory(table)  # durable: the first files of a template's table come before its log
        column, text = self._layout.partition, None if day is None else day.isoformat()
        if not column:
            return PartFile(self._store, self._layout)
        directory = f"{column}={text or NO_DATE}"
        self._store.create_dir(directory)
        return PartFile(self._store, self._layout, directory, {column: text})

    def _parts(self, rows: pa.Table) -> Iterator[tuple[date | None, pa.Table]]:
        """Yield the rows of each date, without the date."""
        if not self._layout.partition:
            if rows.num_rows:
                yield None, rows
            return
        dates, stored = rows.column(self._layout.partition), rows.drop_columns([self._layout.partition])
        days = dates.unique().to_pylist()
        for day in days:
            if len(days) == 1:
                yield day, stored
            else:
                same = compute.is_null(dates) if day is None else compute.equal(dates, day)
                yield day, stored.filter(same)


class PartFile:
    """One open file in an existing directory of the table, with the pending rows of its next row group. `store`: the
    file system rooted at the table's directory; `partition`: the text of each partition column, by name."""

    def __init__(
        self,
        store: fs.FileSystem,
        layout: FileLayout,
        directory: str = "",
        partition: Mapping[str, str | None] | None = None,
    ) -> None:
        self._store = store
        self._layout = layout
        self._pending: list[pa.Table] = []
        self._pending_rows = self._pending_bytes = 0
        self._partition = partition or {}
        self._path = "/".join(filter(None, (directory, f"part-{uuid4()}.zstd.parquet")))
        self._sink = store.open_output_stream(self._path)
        self._writer = parquet.ParquetWriter(
            self._sink,
            layout.stored,
            compression="zstd",
            use_dictionary=list(_dictionaries(layout)) or False,
            column_encoding=dict.fromkeys(_numbers(layout), "DELTA_BINARY_PACKED") or None,
            write_statistics=[name for name in layout.statistics if name != layout.partition] or False,
            store_schema=False,  # a kilobyte per file that only pyarrow reads
        )

    def write(self, rows: pa.Table) -> None:
        self._pending.append(rows)
        self._pending_rows += rows.num_rows
        self._pending_bytes += rows.nbytes
        if self._pending_rows >= ROW_GROUP or self._pending_bytes >= ROW_GROUP_BYTES:
            self._flush()

    def close(self) -> DataFile:
        self._flush()
        self._writer.add_key_value_metadata(_CALENDAR)
        self._writer.close()
        self._sink.close()
        size = self._store.get_file_info(self._path).size
        footer: parquet.FileMetaData = self._writer.writer.metadata
        text = statistics(footer, self._layout.stored)
        return DataFile(self._path, size, footer.num_rows, self._partition, text)

    def discard(self) -> None:
        try:
            self._writer.close()
            self._sink.close()
            self._store.delete_file(self._path)
        except (OSError, pa.ArrowException):  # VACUUM deletes it later
            return

    def _flush(self) -> None:
        if self._pending_rows:
            self._writer.write_table(pa.concat_tables(self._pending), row_group_size=ROW_GROUP)
        self._pending.clear()
        self._pending_rows = self._pending_bytes = 0


def _dictionaries(layout: FileLayout) -> Iterator[str]:
    """Yield the columns with a dictionary, by their parquet names."""
    others = {*layout.unique, *_numbers(layout)}
    for column in layout.stored:
        if column.name not in others:
            yield f"{column.name}.list.element" if pa.types.is_list(column.type) else column.name


def _numbers(layout: FileLayout) -> Iterator[str]:
    """Yield the delta-encoded columns: offsets and times rise, so a file of lines is a quarter smaller than with
    dictionaries, and takes a quarter less time to write."""
    for column in layout.stored:
        if pa.types.is_integer(column.type) or pa.types.is_timestamp(column.type):
            yield column.name
