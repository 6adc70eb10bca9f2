"""The tables to search: the configured ones, with their columns and the bounds of each data file from Delta's log."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any, Protocol
from urllib.parse import unquote

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError
from pyarrow import compute, fs

from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.options.model import SinkConfig
from log_shipper.spark_sink.options.paths import normal_pattern, normalized
from log_shipper.spark_sink.search.query import Query, is_literal
from log_shipper.spark_sink.storage.locations import Location, location_of
from log_shipper.spark_sink.storage.power_cuts import damage

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = 86_400_000_000
_ALWAYS = {"path", "size_bytes", "num_records", "null_count.ts"}
# Other writers than the sink round the bounds of times down to milliseconds.
_ROUNDED = 1000
# Reader features that can be ignored without wrong rows.
_HARMLESS = {"v2Checkpoint", "timestampNtz", "vacuumProtocolCheck"}


class NoTable(SinkError):
    """Raised if a table does not exist (yet)."""


@dataclass(frozen=True, slots=True)
class SearchedFile:
    """A data file. `oldest`, `newest`: bounds of its `ts`, in microseconds since 1970; None if the log has none.
    `rows`: their number; None if the log lacks it, or some rows have no `ts`."""

    table: "SearchedTable"
    path: str
    size: int
    partition: Mapping[str, str | None]
    oldest: int | None
    newest: int | None
    rows: int | None = None


class HasBounds(Protocol):
    @property
    def oldest(self) -> int | None: ...
    @property
    def newest(self) -> int | None: ...


@dataclass(slots=True, eq=False)
class SearchedTable:
    """A table at one version. `stored`: the table's own columns that are read as `ts` and `message`; None for a column
    without values."""

    location: Location
    delta: DeltaTable
    schema: pa.Schema
    stored: Mapping[str, str | None] = field(default_factory=dict)
    store: fs.FileSystem = field(init=False)

    def __post_init__(self) -> None:
        self.store = self.location.files(self.delta)

    def files(self, query: Query) -> Iterator[SearchedFile]:
        """Yield the files that may have a matching row, by the query's times, hosts and paths."""
        actions = pa.table(self.delta.get_add_actions(flatten=True))
        actions = _recent(_times(actions, self.stored.get("ts", "ts")), query.since)
        for row in actions.select(_described(actions.column_names)).to_pylist():
            file = self._file(row)
            if overlaps(file, query.since, query.until) and all(
                _may_contain(row, column, globs) for column, globs in (("host", query.hosts), ("path", query.paths))
            ):
                yield file

    def _file(self, row: dict[str, Any]) -> SearchedFile:
        partition = {name.removeprefix("partition."): row[name] for name in row if name.startswith("partition.")}
        oldest, newest = row.get("min.ts"), row.get("max.ts")
        day = partition.get("date")
        if isinstance(day, date):
            midnight = (day - EPOCH.date()).days * _DAY
            oldest = midnight if oldest is None else oldest
            newest = midnight + _DAY if newest is None else newest + _ROUNDED
        elif newest is not None:
            newest += _ROUNDED
        texts = {name: None if value is None else str(value) for name, value in partition.items()}
        rows = row.get("num_records") if row.get("null_count.ts") == 0 else None
        return SearchedFile(self, unquote(row["path"]), row["size_bytes"], texts, oldest, newest, rows)


def locations(config: SinkConfig) -> list[Location]:
    """Return the sorted locations of the tables of lines. Raises SinkError if a template has no table yet."""
    if not config.has_template:
        return [location_of(config, config.table.path)]
    template = config.table.template
    pattern = re.compile(normal_pattern(template, ()))
    root = normalized(template.directory)
    depth = config.table.path.rstrip("/").count("/") - template.directory.count("/")
    try:
        paths = sorted(_directories(location_of(config, root).files(), "", depth))
    except OSError as error:
        raise SinkError(f"cannot list the tables below {root}: {error}") from error
    tables = [f"{root}/{path}" for path in paths if pattern.fullmatch(f"{root}/{path}")]
    if not tables:
        raise SinkError(f"there is no table below {root} yet (table.path: {config.table.path})")
    return [location_of(config, path) for path in tables]


def open_table(location: Location) -> SearchedTable:
    """Return the table at its newest version. Raises SinkError."""
    delta, schema = _opened(location)
    for name, is_ours in (("ts", pa.types.is_timestamp), ("message", pa.types.is_string)):
        if name not in schema.names or not is_ours(schema.field(name).type):
            columns = ", ".join(schema.names)
            raise SinkError(
                f"{location.path} is not a table of lines: its column {name} is missing or of another type; "
                f"its columns are {columns}"
            )
    return SearchedTable(location, delta, schema)


def open_other(location: Location) -> SearchedTable:
    """Return a table of dead letters or of a view at its newest version. If it lacks `ts`, that is `at` or its first
    time; if it lacks `message`, that is the value of a bad record. Raises SinkError."""
    delta, schema = _opened(location)
    times = [column.name for column in schema if pa.types.is_timestamp(column.type)]
    stored: dict[str, str | None] = {}
    if "ts" not in times:
        stored["ts"] = "at" if "at" in times else next(iter(times), None)
    if "message" not in schema.names or not pa.types.is_string(schema.field("message").type):
        stored["message"] = "value" if "value" in schema.names and _is_bytes(schema.field("value").type) else None
    others = [column for column in schema if column.name not in stored]
    kinds = {"ts": pa.timestamp("us", "UTC"), "message": pa.string()}
    read = [pa.field(name, kinds[name]) for name in stored]
    return SearchedTable(location, delta, pa.schema([*read, *others]), stored)


def _opened(location: Location) -> tuple[DeltaTable, pa.Schema]:
    try:
        delta = location.open()
        if delta is None:
            raise NoTable(f"there is no table at {location.path}")
        _check_readable(location.path, delta)
        schema = pa.schema(delta.schema().to_arrow())
        for place, column in enumerate(schema):
            if pa.types.is_timestamp(column.type):  # times without a zone are UTC
                schema = schema.set(place, column.with_type(pa.timestamp("us", "UTC")))
        return delta, schema
    except (DeltaError, OSError, pa.ArrowException) as error:
        raise SinkError(f"cannot read the table {location.path}: {damage(location.path) or error}") from error


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def combine(tables: Sequence[SearchedTable]) -> None:
    """Give all tables the columns of all of them; missing ones are NULL. Raises SinkError if a column has two types."""
    fields: dict[str, pa.Field] = {}
    for table in tables:
        for column in table.schema:
            other = fields.setdefault(column.name, column)
            if other.type != column.type:
                raise SinkError(
                    f"the column {column.name} of {table.location.path} is {column.type}, but {other.type} in the "
                    "previous table: search each table separately with --table"
                )
    for table in tables:
        table.schema = pa.schema(list(fields.values()))


def overlaps(part: HasBounds, since: datetime | None, until: datetime | None) -> bool:
    """Return True if `part` may have a row within these times."""
    too_old = since is not None and part.newest is not None and part.newest < micros(since)
    too_new = until is not None and part.oldest is not None and part.oldest > micros(until)
    return not too_old and not too_new


def micros(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(microseconds=1)


def _directories(store: fs.FileSystem, above: str, depth: int) -> Iterator[str]:
    """Yield the Delta tables at this depth."""
    if depth == 0:
        if store.get_file_info(f"{above}/_delta_log").type == fs.FileType.Directory:
            yield above
        return
    for info in store.get_file_info(fs.FileSelector(above, allow_not_found=True)):
        if info.type == fs.FileType.Directory and not info.base_name.startswith("_"):
            yield from _directories(store, f"{above}/{info.base_name}".lstrip("/"), depth - 1)


def _times(actions: pa.Table, column: str | None) -> pa.Table:
    """Return the files, with the bounds of the time column as those of `ts`, in microseconds since 1970."""
    bounds = {f"{bound}.ts": f"{bound}.{column}" for bound in ("min", "max", "null_count")}
    times = {name: actions.column(stored) for name, stored in bounds.items() if stored in actions.column_names}
    actions = actions.drop_columns([name for name in bounds if name in actions.column_names])
    for name, values in times.items():
        if pa.types.is_timestamp(values.type):
            values = values.cast(pa.timestamp("us", values.type.tz)).cast(pa.int64())
        actions = actions.append_column(name, values)
    return actions


def _recent(actions: pa.Table, since: datetime | None) -> pa.Table:
    """Return the files that may have rows since then, without a loop over all files of a large table."""
    if since is None or "max.ts" not in actions.column_names:
        return actions
    newest = actions.column("max.ts")
    bound = pa.scalar(micros(since) - _ROUNDED, pa.int64())
    return actions.filter(compute.or_kleene(compute.is_null(newest), compute.greater_equal(newest, bound)))


def _described(names: Sequence[str]) -> list[str]:
    """Return the needed columns of the log's description: wide tables have hundreds."""
    bounds = {f"{bound}.{column}" for bound in ("min", "max") for column in ("ts", "host", "path")}
    return [name for name in names if name in bounds | _ALWAYS or name.startswith("partition.")]


def _may_contain(row: dict[str, Any], column: str, globs: Sequence[str]) -> bool:
    low, high = row.get(f"min.{column}"), row.get(f"max.{column}")
    if low is None or high is None or not globs or not all(map(is_literal, globs)):
        return True
    if column == "path" and not all("/" in glob for glob in globs):
        return True
    return any(low <= glob <= high for glob in globs)


def _check_readable(path: str, delta: DeltaTable) -> None:
    protocol, properties = delta.protocol(), delta.metadata().configuration
    features = set(protocol.reader_features or ()) - _HARMLESS
    if properties.get("delta.columnMapping.mode", "none") == "none":
        features.discard("columnMapping")
    else:
        features.add("columnMapping")
    if features:
        raise SinkError(
            f"the table {path} has {', '.join(sorted(features))}, which search does not support; query it with Spark "
            "(docs/guides/querying.md)"
        )
