"""The statistics of a data file for Delta's log, from the footer of the parquet writer.

    {"numRecords": 3, "minValues": {"ts": "…Z"}, "maxValues": {"ts": "…Z"}, "nullCount": {"ts": 0}}

A reader skips a file if the searched values are outside of minimum and maximum, so a wrong bound hides rows from every
query, and a bound that is too wide only costs time. So times are rounded outwards to milliseconds, Delta's format; long
texts are cut after 32 characters, and the maximum gets the highest character appended; floating point numbers have no
bounds, because NaN is outside of all bounds.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TypeAlias

import pyarrow as pa
from pyarrow import parquet

Bound: TypeAlias = int | str
Raw: TypeAlias = int | str | date

TEXT_LENGTH = 32  # Delta's own (spark.databricks.io.skipping.stringPrefixLength)
_LAST_CHARACTER = "\U0010ffff"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# The years 1 to 9999, in microseconds.
_FIRST, _LAST = -62_135_596_800_000_000, 253_402_300_799_999_999


@dataclass(frozen=True, slots=True)
class ColumnBounds:
    """The statistics of one column in the footer. `low`, `high`: None if a row group has values but no bounds."""

    nulls: int
    low: Raw | None
    high: Raw | None


def statistics(footer: parquet.FileMetaData, schema: pa.Schema) -> str:
    """Return the statistics of all columns with statistics in the footer, as JSON."""
    lowest: dict[str, Bound] = {}
    highest: dict[str, Bound] = {}
    nulls: dict[str, int] = {}
    for name, bounds in _columns(footer, schema):
        nulls[name] = bounds.nulls
        if bounds.low is None or bounds.high is None:
            continue
        kind = schema.field(name).type
        low, high = lower_bound(bounds.low, kind), upper_bound(bounds.high, kind)
        if low is not None and high is not None:
            lowest[name], highest[name] = low, high
    members = {"numRecords": footer.num_rows, "minValues": lowest, "maxValues": highest, "nullCount": nulls}
    return json.dumps(members, ensure_ascii=False, separators=(",", ":"))


def has_bounds(kind: pa.DataType) -> bool:
    """Return True if files have minimum and maximum for columns of this type."""
    return bool(pa.types.is_integer(kind) or pa.types.is_string(kind) or _is_time(kind) or pa.types.is_date32(kind))


def lower_bound(value: Raw, kind: pa.DataType) -> Bound | None:
    """Return a bound at or below the minimum, None if the log cannot express one. Times are in microseconds since
    1970."""
    if _is_time(kind):
        assert isinstance(value, int)
        return _time(value // 1000 * 1000)
    if isinstance(value, date):
        return value.isoformat()
    return value[:TEXT_LENGTH] if isinstance(value, str) else value


def upper_bound(value: Raw, kind: pa.DataType) -> Bound | None:
    """Return a bound at or above the maximum, None if the log cannot express one."""
    if _is_time(kind):
        assert isinstance(value, int)
        return _time(-(-value // 1000) * 1000)
    if isinstance(value, date):
        return value.isoformat()
    if not isinstance(value, str) or len(value) <= TEXT_LENGTH:
        return value
    end = TEXT_LENGTH
    while end < len(value) and value[end] == _LAST_CHARACTER:  # cut here, the bound would be below the value
        end += 1
    return value[:end] + (_LAST_CHARACTER if end < len(value) else "")


def _columns(footer: parquet.FileMetaData, schema: pa.Schema) -> Iterator[tuple[str, ColumnBounds]]:
    """Yield the bounds of every column at the top level that has statistics in all row groups."""
    groups = [footer.row_group(number) for number in range(footer.num_row_groups)]
    for index in range(footer.num_columns if groups else 0):
        name = footer.schema.column(index).path
        parts = [group.column(index).statistics for group in groups]
        if name not in schema.names or any(one is None or not one.has_null_count for one in parts):
            continue
        nulls = sum(one.null_count for one in parts)
        filled = [one for one in parts if one.num_values > 0]
        low = high = None
        if filled and has_bounds(schema.field(name).type) and all(one.has_min_max for one in filled):
            raw = _is_time(schema.field(name).type)
            low = min(one.min_raw if raw else one.min for one in filled)
            high = max(one.max_raw if raw else one.max for one in filled)
        yield name, ColumnBounds(nulls, low, high)


def _time(microseconds: int) -> str | None:
    """Return the time in the log's format, None outside of the years 1 to 9999."""
    if not _FIRST <= microseconds <= _LAST:
        return None
    moment = _EPOCH + timedelta(microseconds=microseconds)
    return moment.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def _is_time(kind: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(kind))
