"""The columns of the two kinds of table, and their paths in a record.

Fields for filters and sorting have typed columns; all others stay in `doc` and are read as
`variant_get(doc, '$.kubernetes.pod', 'string')`, so that new fields in records do not change the table.
"""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["timestamp", "string", "bigint", "array<string>", "object"]


@dataclass(frozen=True, slots=True)
class Column:
    """A column in the syntax of Spark SQL."""

    name: str
    type: str
    comment: str


@dataclass(frozen=True, slots=True)
class TypedField:
    """The dotted path in the record of a typed column, and the required kind of its value."""

    column: str
    path: str
    kind: Kind


# The contract with the producer of the topic (Elastic Common Schema). Only the time is required.
TIME = TypedField("ts", "@timestamp", "timestamp")
FIELDS = (
    TIME,
    TypedField("message", "message", "string"),
    TypedField("host", "host.name", "string"),
    TypedField("path", "log.file.path", "string"),
    TypedField("file_id", "log.file.id", "string"),
    TypedField("offset", "log.offset", "bigint"),
    TypedField("length", "log.length", "bigint"),
    TypedField("flags", "log.flags", "array<string>"),
    TypedField("tags", "tags", "array<string>"),
    TypedField("fields", "fields", "object"),
)
# If one of these is not an object, the fields below it must not count as absent.
PARENTS = (("host", ("host",)), ("log", ("offset", "length", "path", "file_id")), ("log.file", ("path", "file_id")))

POSITION = (
    Column("topic", "STRING", "Kafka topic of the record"),
    Column("partition", "INT", "Kafka partition of the record"),
    Column("kafka_offset", "BIGINT", "Kafka offset of the record"),
    Column("kafka_ts", "TIMESTAMP", "Kafka timestamp of the record"),
)

LINES = (
    Column("ts", "TIMESTAMP", "@timestamp of the record"),
    Column("date", "DATE", "The day of ts in UTC; the table is partitioned by it"),
    Column("message", "STRING", "The message: a line, or several joined by multiline"),
    Column("host", "STRING", "host.name"),
    Column("path", "STRING", "log.file.path"),
    Column("file_id", "STRING", "log.file.id: the id of the file, which renames do not change"),
    Column("offset", "BIGINT", "log.offset: byte offset of the message in the file"),
    Column("length", "BIGINT", "log.length: length of the message in bytes; the next one begins at offset + length"),
    Column("flags", "ARRAY<STRING>", "log.flags: multiline, truncated and others"),
    Column("tags", "ARRAY<STRING>", "tags"),
    Column("fields", "STRING", "fields: those that the shipper's configuration adds, as JSON"),
    Column("doc", "STRING", "Fields of the record that have no column, as JSON"),
    *POSITION,
)

# The type of Spark's Kafka source with includeHeaders; NULL for a record without headers.
HEADERS_TYPE = "ARRAY<STRUCT<key:STRING,value:BINARY>>"
# A range of lost offsets is a row, too, without key, value and Kafka timestamp: `kafka_offset` is its first offset,
# `last_offset` its last.
BAD_RECORDS = (
    Column("reason", "STRING", "Why the record is not in the table of lines"),
    *POSITION,
    Column("key", "BINARY", "Key of the record, unchanged"),
    Column("value", "BINARY", "Value of the record, unchanged"),
    Column("last_offset", "BIGINT", "Last offset of a lost range that begins at kafka_offset; NULL for a record"),
    Column("at", "TIMESTAMP", "Time at which the row was written"),
    Column("headers", HEADERS_TYPE, "Headers of the record, unchanged; NULL without any"),
)


def names(columns: tuple[Column, ...]) -> list[str]:
    return [column.name for column in columns]
