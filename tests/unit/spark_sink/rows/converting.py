"""From values and headers to rows and reasons, by one call."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from log_shipper.spark_sink.options.tables import ColumnConfig, DocMode
from log_shipper.spark_sink.options.template import parse_template
from log_shipper.spark_sink.rows.batches import Converted, KafkaRecords, RowOptions
from log_shipper.spark_sink.rows.conversion import Conversion
from log_shipper.spark_sink.rows.place_headers import Headers

KAFKA_MS = 1795253460123
KAFKA_TIME = datetime(2026, 11, 21, 9, 31, 0, 123000, UTC)
NOW = datetime(2026, 11, 21, 9, 32, tzinfo=UTC)
NO_HEADERS: Mapping[str, Headers] = MappingProxyType({})


def conversion(
    path: str = "/data/lines",
    columns: Sequence[ColumnConfig] = (),
    doc: DocMode = "rest",
    max_tables: int = 100_000,
) -> Conversion:
    return Conversion(RowOptions(parse_template(path), tuple(columns), doc, max_tables), lambda: NOW)


def kafka_records(values: Sequence[bytes | None], headers: Sequence[Headers | None] | None = None) -> KafkaRecords:
    """Convert the records; the offset is the place in the list."""
    count = len(values)
    keys = [str(index).encode() for index in range(count)]
    return KafkaRecords("logs", 2, range(count), [KAFKA_MS] * count, keys, values, headers or [None] * count)


def rows_of(converted: Converted) -> dict[int, dict[str, Any]]:
    """Return the rows by their offset in Kafka, each with its `table`."""
    return {
        row["kafka_offset"]: {**row, "table": part.table} for part in converted.parts for row in part.rows.to_pylist()
    }


def reasons_of(converted: Converted) -> dict[int, str]:
    return {row["kafka_offset"]: row["reason"] for row in converted.bad.to_pylist()}
