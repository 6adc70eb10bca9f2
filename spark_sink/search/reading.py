"""Reads pieces of data files, as rows with the columns of their table.

First only the columns of the selection are read, then the other columns of the selected rows. So a search for a rare
word reads little more than the messages.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event
from typing import Any

import pyarrow as pa
from pyarrow import compute, parquet

from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.search.query import NUMBER, Selection
from log_shipper.spark_sink.search.sealed import ConditionFilter
from log_shipper.spark_sink.search.tables import SearchedFile

BATCH = 16_384  # rows in memory per thread, which fit into a CPU cache
_MAX_BYTES = 64 * 1024 * 1024  # of rows that are read at a time, without repeated values
_AT_ONCE = 1000  # rows
# Newest row first; for equal times the last row of a file first.
_ORDER = (("ts", "descending"), ("host", "ascending"), ("file_id", "ascending"), ("offset", "descending"))
SMALL = 8 * 1024 * 1024  # bytes; files up to this size are one piece

Row = dict[str, Any]
Question = Callable[[pa.RecordBatchReader], pa.Table]


class MissingFile(SinkError):
    """Raised if a data file was deleted."""


@dataclass(frozen=True, slots=True)
class FilePiece:
    """A unit of reading: a row group of a data file, or a whole small file (`group` is None). `oldest`, `newest`:
    bounds of `ts`; `rows`: number of rows if all have a `ts`; None if unknown."""

    file: SearchedFile
    oldest: int | None
    newest: int | None
    rows: int | None = None
    group: int | None = None
    footer: parquet.FileMetaData | None = None

    @property
    def is_large(self) -> bool:
        """True for a file that must be split before it is read."""
        return self.group is None and self.file.size > SMALL


def piece_of(file: SearchedFile) -> FilePiece:
    return FilePiece(file, file.oldest, file.newest, file.rows)


def split(piece: FilePiece) -> list[FilePiece]:
    """Return a piece for each row group of a file, by its footer. Raises SinkError."""
    with _opened(piece) as source:
        footer = source.metadata
    names = [footer.schema.column(index).path for index in range(footer.num_columns)]
    time = piece.file.table.stored.get("ts", "ts")
    index = names.index(time) if time in names else None
    return [_group(piece, footer, number, index) for number in range(footer.num_row_groups)]


def read(piece: FilePiece, selection: Selection, judge: ConditionFilter, over: Event) -> pa.Table:
    """Return the selected rows of a piece, with all columns of the table, newest first; fewer once `over` is set.
    Raises SinkError."""
    schema = piece.file.table.schema
    with _opened(piece) as source:
        hits = _asked(source, piece, selection.columns, over, lambda rows: judge.chosen(rows, selection))
        hits = hits.sort_by(NUMBER)
        if not hits.num_rows:
            return schema.empty_table()
        others = [name for name in schema.names if name not in selection.columns]
        rest = _at(source, piece, others, hits.column(NUMBER))
    for name in others:
        hits = hits.append_column(schema.field(name), rest.column(name))
    order = [(name, direction) for name, direction in _ORDER if name in schema.names]
    return hits.select(schema.names).sort_by(order)


def rows_of(rows: pa.Table) -> Iterator[Row]:
    """Yield the rows as Python objects, which are several times larger: not all at once."""
    for batch in rows.to_batches(_AT_ONCE):
        yield from batch.to_pylist()


def ask(piece: FilePiece, columns: Sequence[str], over: Event, question: Question) -> pa.Table:
    """Return the result of a query on the rows of a piece, with these columns and NUMBER. Raises SinkError."""
    with _opened(piece) as source:
        return _asked(source, piece, columns, over, question)


def coded(piece: FilePiece, column: str, over: Event) -> Iterator[tuple[pa.Array, pa.DictionaryArray | None]]:
    """Yield the times of the rows, in microseconds since 1970, and the dictionary codes of a text column, if one is
    named: counting codes takes a fifth of the time of counting texts. Raises SinkError."""
    stored = piece.file.table.stored
    times, values = stored.get("ts", "ts"), stored.get(column, column)
    with _opened(piece, values or "") as source, _reading(piece):
        names = [name for name in source.schema_arrow.names if name in (times, values)]
        for batch in _stored(source, piece, names, 8 * BATCH):
            if over.is_set():
                return
            codes = None
            if column:
                is_coded = values in names and pa.types.is_dictionary(batch.schema.field(values).type)
                codes = batch.column(values) if is_coded else _column(batch, column, piece).dictionary_encode()
            yield _column(batch, "ts", piece).cast(pa.int64()), codes


def _asked(
    source: parquet.ParquetFile, piece: FilePiece, columns: Sequence[str], over: Event, question: Question
) -> pa.Table:
    errors: list[SinkError] = []

    def batches() -> Iterator[pa.RecordBatch]:
        first = 0
        try:
            for batch in _batches(source, piece, columns):
                if over.is_set():
                    return
                yield batch.append_column(NUMBER, pa.arange(first, first + batch.num_rows))
                first += batch.num_rows
        except SinkError as error:  # DuckDB would turn it into its own error
            errors.append(error)

    schema = _schema(piece, columns).append(pa.field(NUMBER, pa.int64()))
    answer = question(pa.RecordBatchReader.from_batches(schema, batches()))
    if errors:
        raise errors[0]
    return answer


def _at(source: parquet.ParquetFile, piece: FilePiece, columns: Sequence[str], numbers: pa.ChunkedArray) -> pa.Table:
    """Return these columns of the rows with these numbers, which are sorted."""
    parts, first = [], 0
    for batch in _batches(source, piece, columns):
        end = first + batch.num_rows
        here = compute.and_(compute.greater_equal(numbers, first), compute.less(numbers, end))
        parts.append(batch.take(compute.subtract(numbers.filter(here).combine_chunks(), first)))
        first = end
    return pa.Table.from_batches(parts, _schema(piece, columns))


def _batches(source: parquet.ParquetFile, piece: FilePiece, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a piece in their order, with these columns of the table. Raises SinkError."""
    stored, named = set(source.schema_arrow.names), piece.file.table.stored
    names = list({name for name in (named.get(name, name) for name in columns) if name is not None and name in stored})
    with _reading(piece):
        for batch in _stored(source, piece, names):
            yield pa.record_batch([_column(batch, name, piece) for name in columns], schema=_schema(piece, columns))


def _stored(
    source: parquet.ParquetFile, piece: FilePiece, columns: Sequence[str], limit: int = BATCH
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a piece with the file's columns, at most `limit` at a time; fewer if they are large."""
    groups = list(range(source.metadata.num_row_groups)) if piece.group is None else [piece.group]
    sizes = [source.metadata.row_group(number) for number in groups]
    size = max((group.total_byte_size / max(group.num_rows, 1) for group in sizes), default=1)
    yield from source.iter_batches(min(limit, int(_MAX_BYTES / max(size, 1)) + 1), row_groups=groups, columns=columns)


@contextmanager
def _reading(piece: FilePiece) -> Iterator[None]:
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        raise _unreadable(piece, error) from error


def _column(batch: pa.RecordBatch, name: str, piece: FilePiece) -> pa.Array:
    """Return a column in the table's type. A file older than the column has NULL; partition values are in the path."""
    kind = piece.file.table.schema.field(name).type
    if name in piece.file.partition:
        value = pa.scalar(piece.file.partition[name], pa.string()).cast(kind)
        return pa.repeat(value, batch.num_rows)
    stored = piece.file.table.stored.get(name, name)
    if stored not in batch.schema.names:
        return pa.nulls(batch.num_rows, kind)
    column = batch.column(stored)
    if column.type == kind:
        return column
    if pa.types.is_binary(column.type) and pa.types.is_string(kind):
        texts = (None if value is None else value.decode(errors="backslashreplace") for value in column.to_pylist())
        return pa.array(texts, kind)
    return column.cast(kind)


def _schema(piece: FilePiece, columns: Sequence[str]) -> pa.Schema:
    return pa.schema([piece.file.table.schema.field(name) for name in columns])


def _group(piece: FilePiece, footer: parquet.FileMetaData, number: int, index: int | None) -> FilePiece:
    """Return the piece of a row group, with the bounds of the file if the row group has none."""
    oldest, newest, rows = piece.oldest, piece.newest, None
    bounds = footer.row_group(number).column(index).statistics if index is not None else None
    if bounds is not None and bounds.has_min_max and isinstance(bounds.min_raw, int):
        unit = footer.schema.column(index).logical_type.to_json()
        if "micro" in unit:
            oldest, newest = bounds.min_raw, bounds.max_raw
            rows = footer.row_group(number).num_rows if bounds.null_count == 0 else None
    return FilePiece(piece.file, oldest, newest, rows, number, footer)


@contextmanager
def _opened(piece: FilePiece, coded: str = "") -> Iterator[parquet.ParquetFile]:
    """Open the file of a piece. `coded`: a column to read as dictionary codes if it has texts."""
    try:
        stored = piece.file.table.store.open_input_file(piece.file.path)
        footer = piece.footer or parquet.read_metadata(stored)
        columns = footer.schema
        is_text = coded in columns.names and columns.column(columns.names.index(coded)).logical_type.type == "STRING"
        # Spark writes times as INT96 by default. Arrow would read them as nanoseconds, which end in 2262.
        source = parquet.ParquetFile(
            stored,
            metadata=footer,
            read_dictionary=[coded] if is_text else [],
            coerce_int96_timestamp_unit="us",
            pre_buffer=True,
        )
    except (OSError, pa.ArrowException) as error:
        raise _unreadable(piece, error) from error
    with stored, source:
        yield source


def _unreadable(piece: FilePiece, error: Exception) -> SinkError:
    place = f"{piece.file.table.location.path.rstrip('/')}/{piece.file.path}"
    if isinstance(error, FileNotFoundError):
        return MissingFile(f"the data file {place} is missing (deleted by vacuum?)")
    return SinkError(f"cannot read the data file {place}: {error}")
