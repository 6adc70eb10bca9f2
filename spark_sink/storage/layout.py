"""Creates tables, and lets existing ones follow a configuration that has changed.

Columns are only ever added. A column that the configuration no longer names stays, and is NULL in new rows; old files
lack the new columns, and Delta reads NULL there. A type is never changed: Delta could widen some
(`delta.enableTypeWidening`), but readers that do not support that could no longer open the table.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import Row
from pyspark.sql.types import DataType

from config.sink.model import SinkConfig
from config.sink.parts import texts
from config.sink.times import DAY
from spark_sink.errors import SPARK_ERRORS, Refused, translate
from spark_sink.records.schema import Column
from spark_sink.records.variants import sql_literal
from spark_sink.storage.tables import Table, TableSnapshot

# The columns of which Delta keeps minimum and maximum, so that a query reads few files. Not of messages: no query asks
# for a range of messages, and every entry of the log would contain two. The configured columns come behind these.
_STATISTICS = (
    "ts",
    "date",
    "host",
    "path",
    "file_id",
    "offset",
    "topic",
    "partition",
    "kafka_offset",
    "kafka_ts",
    "at",
)
_NO_STATISTICS = ("BOOLEAN", "ARRAY<STRING>")
STATISTICS_PROPERTY = "delta.dataSkippingStatsColumns"

WEEK = 7 * DAY  # Delta's own default for remembering removed files
# VACUUM LITE asks the log for all files that were removed since the last one. What that one left began `retain` before
# it; Delta cuts the log at midnight; and a `maintain` or two may not have run.
LOG_BEYOND = 3 * DAY


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns and properties of a new table. `statistics`: the columns of which Delta keeps minimum and maximum;
    without any, Delta chooses. At most one partition column, and none with `cluster_by`. `retain`: see
    `retention_properties`."""

    columns: tuple[Column, ...]
    comment: str
    partition_by: str = ""
    cluster_by: tuple[str, ...] = ()
    statistics: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    retain: float = WEEK

    @property
    def all_properties(self) -> dict[str, str]:
        chosen = {STATISTICS_PROPERTY: ",".join(self.statistics)} if self.statistics else {}
        return {**retention_properties(self.retain), **chosen, **self.properties}


def retention_properties(retain: float) -> dict[str, str]:
    """Return the properties of every table that the sink creates. `retain`: seconds for which removed files stay."""
    files = max(WEEK, retain)
    return {
        # Delta's own 10 are ten seconds of batches, and a checkpoint costs as many rows as the table has files.
        "delta.checkpointInterval": "100",
        # Delta's own 30 days are long: a commit a second makes 86,400 files a day in the log, and Delta lists them.
        "delta.logRetentionDuration": days(files + LOG_BEYOND),
        "delta.deletedFileRetentionDuration": days(files),
    }


def days(seconds: float) -> str:
    """Return an interval as a property of a table has it, in whole days, rounded up."""
    return f"interval {math.ceil(seconds / DAY)} days"


def of_lines(config: SinkConfig, columns: tuple[Column, ...]) -> Layout:
    """Return the layout of a table of lines. `columns`: those of the configuration included."""
    table = config.table
    partition_by = "" if table.partition_by == "none" else table.partition_by
    own = {column.name for column in config.columns if column.type.upper() not in _NO_STATISTICS}
    known = (column.name for column in columns if column.name in _STATISTICS or column.name in own)
    return Layout(
        columns,
        table.comment or "Lines of log files, each once",
        partition_by,
        table.cluster_by,
        tuple(name for name in known if name != partition_by),
        texts(table.properties),
        config.maintenance.vacuum.retain,
    )


@dataclass(frozen=True, slots=True)
class Prepared:
    """A table that fits its layout. `notes`: what differs from the layout and stays as it is, one sentence each."""

    snapshot: TableSnapshot
    notes: tuple[str, ...] = ()


def prepare(existing: TableSnapshot, layout: Layout) -> Prepared:
    """Create the table, or add the columns that it lacks.

    Raises Refused where a column has another type, SinkError where the path will not do.
    """
    table = existing.table
    try:
        if not existing.exists:
            table.spark.sql(_create(table, layout))
            return Prepared(table.snapshot())
        extended = _extend(existing, layout)
        return Prepared(table.snapshot() if extended else existing, tuple(_notes(existing, layout)))
    except SPARK_ERRORS as error:
        raise translate(str(error), f"cannot create the table {table.path}") from error


def _create(table: Table, layout: Layout) -> str:
    layouts = [
        ("PARTITIONED BY", [layout.partition_by] if layout.partition_by else []),
        ("CLUSTER BY", layout.cluster_by),
    ]
    return (
        f"CREATE TABLE IF NOT EXISTS {table.name} ({_definitions(layout.columns)}) USING DELTA "
        + " ".join(f"{clause} ({', '.join(f'`{name}`' for name in names)})" for clause, names in layouts if names)
        + f" COMMENT {sql_literal(layout.comment)} TBLPROPERTIES ({assignments(layout.all_properties)})"
    )


def _extend(existing: TableSnapshot, layout: Layout) -> bool:
    """Add the columns that the table lacks. Returns True if there were any."""
    table, types = existing.table, {field.name.lower(): field.dataType for field in existing.delta.schema}
    for column in layout.columns:
        if column.name.lower() in types:
            _check_type(table, column, types[column.name.lower()])
    missing = tuple(column for column in layout.columns if column.name.lower() not in types)
    if missing:
        table.spark.sql(f"ALTER TABLE {table.name} ADD COLUMNS ({_definitions(missing)})")
        _extend_statistics(table, layout, missing)
    return bool(missing)


def _check_type(table: Table, column: Column, existing: DataType) -> None:
    wanted, actual = column.type.lower(), existing.simpleString()
    if wanted != actual:
        raise Refused(
            f"the column {column.name} of the table {table.path} is {actual}, and the configuration has {wanted}: a "
            "column keeps its type. Give the new one another name under `columns`; the old one stays, and is NULL in "
            "new rows"
        )


def _extend_statistics(table: Table, layout: Layout, missing: tuple[Column, ...]) -> None:
    """Add the missing columns to the table's statistics; do nothing where the user chose the statistics."""
    current = _detail(table).properties.get(STATISTICS_PROPERTY)
    more = [column.name for column in missing if column.name in layout.statistics]
    if current and more and STATISTICS_PROPERTY not in layout.properties:
        changed = {STATISTICS_PROPERTY: ",".join((current, *more))}
        table.spark.sql(f"ALTER TABLE {table.name} SET TBLPROPERTIES ({assignments(changed)})")


def _notes(existing: TableSnapshot, layout: Layout) -> list[str]:
    table = existing.table
    partitioned = existing.delta.partition_columns
    clustered = list(_detail(table).clusteringColumns) if existing.delta.has_feature("clustering") else []
    wanted = [layout.partition_by] if layout.partition_by else []
    if partitioned == wanted and clustered == list(layout.cluster_by):
        return []
    return [
        f"the table {table.path} is {_shown(partitioned, clustered)}, and stays so: table.partition_by and "
        f"table.cluster_by ({_shown(wanted, list(layout.cluster_by))}) are for new tables"
    ]


def _shown(partitioned: list[str], clustered: list[str]) -> str:
    if partitioned:
        return f"partitioned by {', '.join(partitioned)}"
    return f"clustered by {', '.join(clustered)}" if clustered else "neither partitioned nor clustered"


def _detail(table: Table) -> Row:
    return table.spark.sql(f"DESCRIBE DETAIL {table.name}").collect()[0]


def _definitions(columns: tuple[Column, ...]) -> str:
    return ", ".join(f"`{column.name}` {column.type} COMMENT {sql_literal(column.comment)}" for column in columns)


def assignments(properties: Mapping[str, str]) -> str:
    """Return the SQL between the parentheses of TBLPROPERTIES."""
    return ", ".join(f"{sql_literal(key)} = {sql_literal(value)}" for key, value in properties.items())
