"""Creates tables that every reader supports, and adds missing columns to existing ones.

No column type needs a table feature, so tables have reader version 1 and writer version 2: Spark, deltalake, DuckDB,
Polars and Trino read them.
"""

from deltalake import DeltaTable, Field, Schema
from deltalake.schema import ArrayType, PrimitiveType, StructType

from log_shipper.runtime.disk import make_directory
from log_shipper.runtime.disk_errors import Misplaced
from log_shipper.spark_sink.errors import Refused, SinkError
from log_shipper.spark_sink.records.schema import HEADERS_TYPE, Column
from log_shipper.spark_sink.storage.commits import CommitLog
from log_shipper.spark_sink.storage.layout import STATISTICS_PROPERTY, Layout
from log_shipper.spark_sink.storage.locations import Location
from log_shipper.spark_sink.storage.tables import reading

_STRING = PrimitiveType("string")
_HEADER = StructType([Field("key", _STRING), Field("value", PrimitiveType("binary"))])
# A type in Spark SQL, in lower case -> its type in Delta's schema.
TYPES: dict[str, PrimitiveType | ArrayType] = {
    "string": _STRING,
    "boolean": PrimitiveType("boolean"),
    "int": PrimitiveType("integer"),
    "bigint": PrimitiveType("long"),
    "double": PrimitiveType("double"),
    "timestamp": PrimitiveType("timestamp"),
    "date": PrimitiveType("date"),
    "binary": PrimitiveType("binary"),
    "array<string>": ArrayType(_STRING),
    HEADERS_TYPE.lower(): ArrayType(_HEADER),
}


def prepare(location: Location, layout: Layout) -> CommitLog:
    """Create the table if it is missing, add missing columns, and return its log.

    Raises Refused if a column has another type, or the table has unsupported features; SinkError if the directory is
    unusable.
    """
    try:
        with reading(location.path, "open, create or extend"):
            log = CommitLog(location, location.open() or _create(location, layout))
            _extend(log, layout)
            return log
    except Misplaced as error:
        raise SinkError(f"cannot create the table {location.path}: {error}") from error


def _create(location: Location, layout: Layout) -> DeltaTable:
    if location.fsync and location.directory is not None:
        make_directory(location.directory)  # durable; its content becomes durable with the first append
    return DeltaTable.create(
        location.path,
        Schema([_field(column) for column in layout.columns]),
        mode="ignore",  # another process may create it at the same time
        partition_by=[layout.partition_by] if layout.partition_by else [],
        description=layout.comment,
        configuration=layout.all_properties,
        storage_options=location.storage_options,
        raise_if_key_not_exists=False,  # users may set custom properties
    )


def _extend(log: CommitLog, layout: Layout) -> None:
    """Add missing columns."""
    table = log.table
    existing = {field.name.lower(): field for field in table.schema().fields}
    for column in layout.columns:
        if column.name.lower() in existing:
            _check_type(log.location.path, column, existing[column.name.lower()])
    missing = [column for column in layout.columns if column.name.lower() not in existing]
    if missing:
        table.alter.add_columns([_field(column) for column in missing])
        _extend_statistics(table, layout, missing)
        log.refresh()


def _check_type(path: str, column: Column, existing: Field) -> None:
    if existing.type != TYPES[column.type.lower()]:
        raise Refused(
            f"the column {column.name} of the table {path} is {_shown(existing)}, but {column.type.lower()} in the "
            "configuration: a column cannot change its type. Give the new column another name under `columns`; the "
            "old one stays, and is NULL in new rows"
        )


def _shown(existing: Field) -> str:
    """Return the type in Spark SQL if it is one of TYPES, else in Delta's schema."""
    names = (name for name, kind in TYPES.items() if kind == existing.type)
    return next(names, str(existing.type))


def _extend_statistics(table: DeltaTable, layout: Layout, missing: list[Column]) -> None:
    """Add the missing columns to the table's statistics; do nothing where the user chose the statistics."""
    table.update_incremental()
    current = table.metadata().configuration.get(STATISTICS_PROPERTY)
    more = [column.name for column in missing if column.name in layout.statistics]
    if current and more and STATISTICS_PROPERTY not in layout.properties:
        table.alter.set_table_properties({STATISTICS_PROPERTY: ",".join((current, *more))})


def _field(column: Column) -> Field:
    return Field(column.name, TYPES[column.type.lower()], metadata={"comment": column.comment})
