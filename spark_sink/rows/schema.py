"""The Arrow schemas of both kinds of table."""

from collections.abc import Sequence

import pyarrow as pa

from log_shipper.spark_sink.records.schema import BAD_RECORDS, HEADERS_TYPE, Column

TIMESTAMP = pa.timestamp("us", tz="UTC")
HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
_TYPES: dict[str, pa.DataType] = {
    "STRING": pa.string(),
    "BOOLEAN": pa.bool_(),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "DOUBLE": pa.float64(),
    "BINARY": pa.binary(),
    "TIMESTAMP": TIMESTAMP,
    "DATE": pa.date32(),
    "ARRAY<STRING>": pa.list_(pa.string()),
    HEADERS_TYPE: HEADERS,
}


def arrow_schema(columns: Sequence[Column]) -> pa.Schema:
    return pa.schema([(column.name, _TYPES[column.type]) for column in columns])


BAD_SCHEMA = arrow_schema(BAD_RECORDS)
