"""The same records through Spark's SQL and through our own code, and the differences that are wanted."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from config.sink.model import SinkConfig
from config.sink.tables import ColumnConfig, ColumnType
from spark_sink.records.transform import REASON, Transform
from spark_sink.rows.schema import HEADERS, TIMESTAMP
from tests.unit.spark_sink.rows.converting import KAFKA_MS, conversion, kafka_records, reasons_of
from tests.unit.spark_sink.rows.hostile_records import HostileRecord

_OWN: list[tuple[str, ColumnType]] = [
    ("stream", "string"),
    ("http.response.status_code", "int"),
    ("http.response.took", "double"),
    ("http.ok", "boolean"),
    ("at", "timestamp"),
    ("kubernetes.pod", "bigint"),
    ("labels", "array<string>"),
    ("host.ip", "string"),
    ("log.level", "string"),
    ("log.offset", "bigint"),
    ("a.b", "date"),
    ("fields.service", "string"),
    ("message", "timestamp"),
    ("tags", "array<string>"),
    ("log.file.inode", "double"),
    ("http.response", "string"),
    ("log", "string"),
]
OWN = [ColumnConfig(name=f"own_{index}", path=path, type=kind) for index, (path, kind) in enumerate(_OWN)]
PATH = "/data/%{[topic]}/%{[fields.service]:none}-%{[kubernetes.pod]:x}-%{[log.offset]:no}-%{[http.response.took]:n}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """A row, times in microseconds of the epoch; or why there is none."""

    row: Mapping[str, Any] | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class Difference:
    record: HostileRecord
    column: str  # or "reason"
    sql: Any
    ours: Any


def by_sql(spark: SparkSession, config: SinkConfig, records: Sequence[HostileRecord], file: Path) -> list[Outcome]:
    """Return what Spark's SQL makes of the records, which go through a parquet file."""
    count = len(records)
    headers = [
        None if record.headers is None else [{"key": name, "value": value} for name, value in record.headers]
        for record in records
    ]
    columns = {
        "key": pa.nulls(count, pa.binary()),
        "value": pa.array([record.value for record in records], pa.binary()),
        "headers": pa.array(headers, HEADERS),
        "topic": pa.repeat(pa.scalar("logs"), count),
        "partition": pa.repeat(pa.scalar(2, pa.int32()), count),
        "offset": pa.array(range(count), pa.int64()),
        "timestamp": pa.array([KAFKA_MS * 1000] * count, pa.int64()).cast(TIMESTAMP),
    }
    pq.write_table(pa.table(columns), file)
    transform = Transform(config)
    parsed = transform.parse(spark.read.parquet(str(file))).persist()
    try:
        good = parsed.where(F.col(REASON).isNull()).selectExpr(*(_shown(column.name) for column in transform.columns))
        rows = {row["kafka_offset"]: row for row in _pylist(good.toArrow())}
        bad = transform.bad(parsed).select("kafka_offset", REASON).toArrow().to_pylist()
        tables = parsed.select("kafka_offset", "table").toArrow().to_pylist() if config.has_template else []
    finally:
        parsed.unpersist()
    for row in tables:
        if row["kafka_offset"] in rows:
            rows[row["kafka_offset"]]["table"] = row["table"]
    reasons = {row["kafka_offset"]: row[REASON] for row in bad}
    return [Outcome(rows.get(index), reasons.get(index)) for index in range(count)]


def by_ours(config: SinkConfig, records: Sequence[HostileRecord], chunk: int = 500) -> list[Outcome]:
    """Return what our own code makes of the records, in several runs."""
    convert = conversion(config.table.path, config.columns, doc="all").convert
    outcomes: list[Outcome] = []
    for start in range(0, len(records), chunk):
        run = records[start : start + chunk]
        converted = convert(kafka_records([record.value for record in run], [record.headers for record in run]))
        rows: dict[int, dict[str, Any]] = {}
        for part in converted.parts:
            table = {"table": part.table} if config.has_template else {}
            rows |= {row["kafka_offset"]: {**row, **table} for row in _pylist(part.rows)}
        for index, row in rows.items():
            row["kafka_offset"] = start + index
        reasons = reasons_of(converted)
        outcomes += (Outcome(rows.get(index), reasons.get(index)) for index in range(len(run)))
    return outcomes


def differences(records: Sequence[HostileRecord], sql: Sequence[Outcome], ours: Sequence[Outcome]) -> list[Difference]:
    """Return the differences that are not wanted."""
    unwanted = []
    for record, one, other in zip(records, sql, ours, strict=True):
        if one.row is None or other.row is None:
            if one.reason != other.reason and not _is_wanted_verdict(record, one, other):
                unwanted.append(Difference(record, "reason", one.reason, other.reason))
            continue
        for column in one.row.keys() | other.row.keys():
            given, own = one.row.get(column), other.row.get(column)
            if not _is_same(record, column, given, own):
                unwanted.append(Difference(record, column, given, own))
    return unwanted


def _is_wanted_verdict(record: HostileRecord, sql: Outcome, ours: Outcome) -> bool:
    if ours.row is not None:  # of a name that comes twice the last one counts, whatever the first one was
        return sql.reason is not None and _has_name_twice(record.value or b"")
    # What follows a bracket that closes ours: SQL cut it off before it looked for a reason.
    return ours.reason == "not JSON" and sql.reason is not None and not _is_json(record.value or b"")


def _is_same(record: HostileRecord, column: str, sql: Any, ours: Any) -> bool:
    if column in ("doc", "fields") and sql is not None and ours is not None:
        one, other = json.loads(sql), json.loads(ours)
        if record.headers is not None and one.get("host") == {}:  # a text without a host had an empty object
            del one["host"]
        return _is_same_json(one, other)
    if isinstance(sql, int) and ours is None and column.startswith("own_"):
        return not -62_135_596_800_000_000 <= sql < 253_402_300_800_000_000  # a year that few readers have
    return bool(sql == ours)


def _is_same_json(sql: Any, ours: Any) -> bool:
    match sql, ours:
        case dict(), dict():
            return sql.keys() == ours.keys() and all(_is_same_json(sql[name], ours[name]) for name in sql)
        case list(), list():
            return len(sql) == len(ours) and all(map(_is_same_json, sql, ours))
        case bool() | None, _:
            return sql is ours
        case str(), float():  # beyond doubles; ours keeps the digits
            return sql in ("Infinity", "-Infinity") and ours == float(sql)
        case int() | float(), int() | float():
            return float(sql) == float(ours) and not isinstance(ours, bool)
        case _:
            return bool(sql == ours)


def _has_name_twice(value: bytes) -> bool:
    twice = False

    def members(pairs: list[tuple[str, Any]]) -> None:
        nonlocal twice
        twice = twice or len({name for name, _ in pairs}) < len(pairs)

    json.loads(value, object_pairs_hook=members)
    return twice


def _is_json(value: bytes) -> bool:
    try:
        json.loads(value)
    except (ValueError, RecursionError):
        return False
    return value.count(b"[") <= 500


def _shown(column: str) -> str:
    return f"to_json({column}) AS {column}" if column in ("doc", "fields") else f"`{column}`"


def _pylist(table: pa.Table) -> list[dict[str, Any]]:
    """Return the rows. Python has fewer years than Spark."""
    for index, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            table = table.set_column(index, field.name, table[index].cast(pa.int64()))
        elif pa.types.is_date32(field.type):
            table = table.set_column(index, field.name, table[index].cast(pa.int32()))
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows
