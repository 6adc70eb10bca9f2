"""How a table is made, and what becomes of one that is there when the configuration has changed.

Columns are only ever added. One that the configuration does not name any more stays, and is NULL in new rows; old files
lack the new ones, and Delta reads NULL there. A type is never changed: Delta could widen some
(`delta.enableTypeWidening`), but readers that do not know of it could not open the table any more.
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
from spark_sink.records.variants import text
from spark_sink.storage.tables import Table

# What Delta keeps minimum and maximum of, so that a query reads few files. A message has none: nobody asks for a range
# of messages, and every entry of the log would hold two. Own columns come behind these.
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
_STATISTICS_PROPERTY = "delta.dataSkippingStatsColumns"

WEEK = 7 * DAY  # for which Delta itself remembers which files were taken out
# VACUUM LITE asks the log for all that was taken out since the last one. What that one left began `retain` before it;
# Delta cuts the log at midnight; and a `maintain` or two may not have run.
LOG_BEYOND = 3 * DAY


@dataclass(frozen=True, slots=True)
class Layout:
    """What a new table looks like. `statistics`: the columns that Delta keeps minimum and maximum of; none says Delta's
    own choice. One partition column at most, and none with `cluster_by`. `retain`: see `kept`."""

    columns: tuple[Column, ...]
    comment: str
    partition_by: str = ""
    cluster_by: tuple[str, ...] = ()
    statistics: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    retain: float = WEEK

    @property
    def all_properties(self) -> dict[str, str]:
        chosen = {_STATISTICS_PROPERTY: ",".join(self.statistics)} if self.statistics else {}
        return {**kept(self.retain), **chosen, **self.properties}


def kept(retain: float) -> dict[str, str]:
    """Properties of every table that the sink makes. `retain`: seconds for which files stay that were taken out."""
    files = max(WEEK, retain)
    return {
        # Delta's own 10 are ten seconds of batches, and a checkpoint costs as many rows as the table has files.
        "delta.checkpointInterval": "100",
        # Delta's own 30 days are long: a commit a second makes 86,400 files a day in the log, and Delta lists them.
        "delta.logRetentionDuration": days(files + LOG_BEYOND),
        "delta.deletedFileRetentionDuration": days(files),
    }


def days(seconds: float) -> str:
    """As a table's property, rounded up."""
    return f"interval {math.ceil(seconds / DAY)} days"


def of_lines(config: SinkConfig, columns: tuple[Column, ...]) -> Layout:
    """Of the tables of lines. `columns`: all of them."""
    table = config.table
    partition_by = "" if table.partition_by == "none" else table.partition_by
    own = {each.name for each in config.columns if each.type.upper() not in _NO_STATISTICS}
    known = (each.name for each in columns if each.name in _STATISTICS or each.name in own)
    return Layout(
        columns,
        table.comment or "Lines of log files, each once",
        partition_by,
        table.cluster_by,
        tuple(name for name in known if name != partition_by),
        texts(table.properties),
        config.maintenance.vacuum.retain,
    )


def prepare(table: Table, layout: Layout) -> list[str]:
    """Make the table, or add the columns that it lacks. What differs from the layout and stays as it is, in words.

    Raises Refused where a column has another type, SinkError where the path will not do.
    """
    try:
        if not table.exists():
            table.spark.sql(_create(table, layout))
            return []
        _extend(table, layout)
        return _notes(table, layout)
    except SPARK_ERRORS as error:
        raise translate(str(error), f"cannot make the table {table.path}") from error


def _create(table: Table, layout: Layout) -> str:
    layouts = [
        ("PARTITIONED BY", [layout.partition_by] if layout.partition_by else []),
        ("CLUSTER BY", layout.cluster_by),
    ]
    return (
        f"CREATE TABLE IF NOT EXISTS {table.name} ({_definitions(layout.columns)}) USING DELTA "
        + " ".join(f"{words} ({', '.join(f'`{name}`' for name in names)})" for words, names in layouts if names)
        + f" COMMENT {text(layout.comment)} TBLPROPERTIES ({assignments(layout.all_properties)})"
    )


def _extend(table: Table, layout: Layout) -> None:
    there = {each.name.lower(): each.dataType for each in table.read().schema}
    for column in layout.columns:
        if column.name.lower() in there:
            _check_type(table, column, there[column.name.lower()])
    missing = tuple(each for each in layout.columns if each.name.lower() not in there)
    if missing:
        table.spark.sql(f"ALTER TABLE {table.name} ADD COLUMNS ({_definitions(missing)})")
        _extend_statistics(table, layout, missing)


def _check_type(table: Table, column: Column, there: DataType) -> None:
    wanted, found = column.type.lower(), there.simpleString()
    if wanted != found:
        raise Refused(
            f"the column {column.name} of the table {table.path} is {found}, and shall be {wanted}: a column keeps its "
            "type. Give the new one another name under `columns`; the old one stays, and is NULL in new rows"
        )


def _extend_statistics(table: Table, layout: Layout, missing: tuple[Column, ...]) -> None:
    """Nothing where the statistics are not of our choice."""
    kept = _detail(table).properties.get(_STATISTICS_PROPERTY)
    more = [each.name for each in missing if each.name in layout.statistics]
    if kept and more and _STATISTICS_PROPERTY not in layout.properties:
        changed = {_STATISTICS_PROPERTY: ",".join((kept, *more))}
        table.spark.sql(f"ALTER TABLE {table.name} SET TBLPROPERTIES ({assignments(changed)})")


def _notes(table: Table, layout: Layout) -> list[str]:
    snapshot = table.log.snapshot()
    parted = snapshot.partition_columns
    clustered = list(_detail(table).clusteringColumns) if snapshot.has_feature("clustering") else []
    wanted = [layout.partition_by] if layout.partition_by else []
    if parted == wanted and clustered == list(layout.cluster_by):
        return []
    return [
        f"the table {table.path} is {_shown(parted, clustered)}, and stays so: table.partition_by and table.cluster_by "
        f"({_shown(wanted, list(layout.cluster_by))}) are for new tables"
    ]


def _shown(parted: list[str], clustered: list[str]) -> str:
    if parted:
        return f"partitioned by {', '.join(parted)}"
    return f"clustered by {', '.join(clustered)}" if clustered else "neither partitioned nor clustered"


def _detail(table: Table) -> Row:
    return table.spark.sql(f"DESCRIBE DETAIL {table.name}").collect()[0]


def _definitions(columns: tuple[Column, ...]) -> str:
    return ", ".join(f"`{column.name}` {column.type} COMMENT {text(column.comment)}" for column in columns)


def assignments(properties: Mapping[str, str]) -> str:
    """SQL of what stands between the brackets of TBLPROPERTIES."""
    return ", ".join(f"{text(key)} = {text(value)}" for key, value in properties.items())
