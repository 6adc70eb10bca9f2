"""The columns and properties of the sink's tables, which `creation` applies to new and to existing tables.

Columns are only ever added. A column that was removed from the configuration stays, and is NULL in new rows; new
columns are NULL in old files. A type never changes: Delta could widen some (`delta.enableTypeWidening`), but readers
without support for that could no longer open the table.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from log_shipper.config.text.spans import DAY, HOUR
from log_shipper.spark_sink.options.model import SinkConfig
from log_shipper.spark_sink.options.parts import texts
from log_shipper.spark_sink.records.schema import LINES, Column

# The columns with minimum and maximum in Delta's log, so that a query reads few files. Not messages: no query filters a
# range of messages, and every entry of the log would contain two. The configured columns follow.
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
# Types without bounds. With statistics of such a column, a filter on it in deltalake's `to_pyarrow_dataset` would
# return no rows.
_NO_STATISTICS = ("BOOLEAN", "DOUBLE", "ARRAY<STRING>")
STATISTICS_PROPERTY = "delta.dataSkippingStatsColumns"

WEEK = 7 * DAY  # Delta's default of delta.deletedFileRetentionDuration
# Delta truncates the log at midnight, and one or two runs of `maintain` may be missed.
LOG_BEYOND = 3 * DAY
REMEMBERED = "delta.deletedFileRetentionDuration"
_UNITS = {"week": 7 * DAY, "day": DAY, "hour": HOUR, "minute": 60.0, "second": 1.0, "millisecond": 1e-3}


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns and properties of a new table. `statistics`: the columns with minimum and maximum; if empty, Delta
    chooses. `retain`: see `retention_properties`."""

    columns: tuple[Column, ...]
    comment: str
    partition_by: str = ""
    statistics: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    retain: float = WEEK

    @property
    def all_properties(self) -> dict[str, str]:
        chosen = {STATISTICS_PROPERTY: ",".join(self.statistics)} if self.statistics else {}
        return {**retention_properties(self.retain), **chosen, **self.properties}


def retention_properties(retain: float) -> dict[str, str]:
    """Return the properties of every table that the sink creates. `retain`: seconds to keep removed files in the
    log."""
    files = max(WEEK, retain)
    return {
        # Opening the table reads all commits since the last checkpoint, 0.2 ms each. A checkpoint has a row per file.
        "delta.checkpointInterval": "100",
        # Delta's default of 30 days is too long: one commit per second makes 86,400 log files a day, which Delta lists.
        "delta.logRetentionDuration": days(files + LOG_BEYOND),
        REMEMBERED: days(files),
    }


def days(seconds: float) -> str:
    """Return an interval in the format of table properties, in whole days, rounded up."""
    return f"interval {math.ceil(seconds / DAY)} days"


def remembered(properties: Mapping[str, str]) -> float:
    """Return how many seconds a table with these properties keeps removed files in its log."""
    parts = re.findall(r"([0-9]+)\s+([a-z]+?)s?\b", properties.get(REMEMBERED, "").lower())
    return sum(int(count) * _UNITS.get(unit, 0.0) for count, unit in parts) if parts else WEEK


def of_lines(config: SinkConfig) -> Layout:
    """Return the layout of a table of lines, with the columns of the configuration."""
    table = config.table
    partition_by = "" if table.partition_by == "none" else table.partition_by
    own = [Column(column.name, column.type.upper(), column.comment or column.path) for column in config.columns]
    bounded = {*_STATISTICS, *(column.name for column in own if column.type not in _NO_STATISTICS)}
    known = (column.name for column in (*LINES, *own) if column.name in bounded)
    return Layout(
        (*LINES, *own),
        table.comment or "Lines of log files, each once",
        partition_by,
        statistics=tuple(name for name in known if name != partition_by),
        properties=texts(table.properties),
        retain=config.maintenance.vacuum.remembered,
    )


def assignments(properties: Mapping[str, str]) -> str:
    """Return the SQL between the parentheses of TBLPROPERTIES."""
    return ", ".join(f"{_literal(key)} = {_literal(value)}" for key, value in properties.items())


def _literal(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
