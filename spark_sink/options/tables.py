"""The tables that the sink writes, and their columns."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from log_shipper.config.text.checks import Finding, not_blank
from log_shipper.spark_sink.options.java_options import Raw
from log_shipper.spark_sink.options.template import Template, parse_template

# The columns of every table of lines (spark_sink.records.schema.LINES; a test compares the two).
BUILT_IN = (
    *("ts", "date", "message", "host", "path", "file_id", "offset", "length", "flags", "tags", "fields", "doc"),
    *("topic", "partition", "kafka_offset", "kafka_ts"),
)

ColumnType = Literal["string", "boolean", "int", "bigint", "double", "timestamp", "date", "array<string>"]
DocMode = Literal["rest", "all", "none"]
_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_ESCAPED = re.compile(r"%[0-9A-Fa-f]{2}|\\")
_STEP = re.compile(r"[^\s.'\"`\\$*\[\]{}]+")


def identifier(text: str) -> Iterator[Finding]:
    if not _IDENTIFIER.fullmatch(text):
        yield "", f"{text!r} is not a valid name: use letters, digits and underscores, beginning with a letter"


def identifiers(names: tuple[str, ...]) -> Iterator[Finding]:
    for index, name in enumerate(names):
        yield from ((f"[{index}]", message) for _, message in identifier(name))
        if name.lower() in (other.lower() for other in names[:index]):
            yield f"[{index}]", f"{name!r} is given twice"


def field_path(text: str) -> Iterator[Finding]:
    if not all(_STEP.fullmatch(step) for step in text.split(".")):
        yield "", f"{text!r} is not a field of a record: write names joined by dots, as in http.response.status_code"


def spelled_alike(text: str) -> Iterator[Finding]:
    """Check that all libraries take the path for the same directory."""
    if match := _ESCAPED.search(text):
        yield "", f"{text!r} contains {match[0]!r}, which the libraries read differently: choose another name"


def template(text: str) -> Iterator[Finding]:
    yield from not_blank(text)
    yield from spelled_alike(text)
    try:
        parse_template(text)
    except ValueError as error:
        yield "", str(error)


def fixed_path(text: str) -> Iterator[Finding]:
    yield from not_blank(text)
    yield from spelled_alike(text)
    if "%{" in text:
        yield "", f"{text!r}: only table.path may contain %{{...}}; there is one of these for all tables"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableConfig:
    not_yet: ClassVar = {
        "cluster_by": "liquid clustering needs table features (clustering, domainMetadata), and the sink's tables have "
        "none, so that every reader opens them; use 'partition_by: date', whose days maintain compacts, and have rows "
        "that are sorted in another way in a table of your own"
    }
    path: str = field(
        metadata={
            "doc": "The Delta table's directory or URI. `%{[topic]}` in it makes one table per topic, "
            "`%{[fields.service]:other}` one per value of a field of the record.",
            "check": template,
        }
    )
    # Not shown: some are secrets.
    options: Raw = field(
        default_factory=dict,
        repr=False,
        metadata={
            "since": "0.2",
            "doc": "How the tables' object store is reached, as in `aws_region: eu-central-1`; the rest comes from the "
            "environment ([Object stores and clusters](../guides/cluster.md#object-stores)).",
        },
    )
    partition_by: Literal["date", "none"] = field(
        default="date", metadata={"since": "0.2", "doc": "How a new table is partitioned."}
    )
    properties: Raw = field(
        default_factory=dict,
        metadata={
            "since": "0.2",
            "doc": "Properties of a new table, as in `delta.logRetentionDuration: interval 10 days`.",
        },
    )
    doc: DocMode = field(
        default="rest",
        metadata={
            "since": "0.2",
            "doc": "What the column `doc` has, as JSON text: the members of a record that have no column (rest), the "
            "whole record (all), or nothing (none).",
        },
    )
    comment: str = field(default="", metadata={"since": "0.2", "doc": "The comment of a new table."})
    max_tables: int = field(
        default=100,
        metadata={
            "since": "0.2",
            "doc": "How many tables the template may create; the sink stops before it creates one more.",
            "unit": "tables",
            "min": 1,
        },
    )

    @property
    def template(self) -> Template:
        return parse_template(self.path)


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnConfig:
    as_in: ClassVar = "- {name: status, path: http.response.status_code, type: int}"
    since: ClassVar = "0.2"
    name: str = field(metadata={"doc": "The column's name.", "check": identifier})
    path: str = field(
        metadata={"doc": "The field of the record, such as http.response.status_code.", "check": field_path}
    )
    type: ColumnType = field(
        default="string",
        metadata={"doc": "The column's type. A value of another type becomes NULL, and remains in `doc` as it is."},
    )
    comment: str = field(default="", metadata={"doc": "The column's comment; the path when absent."})
    required: bool = field(
        default=False,
        metadata={"doc": "Whether a record without the field, or with a value of another type, is a bad record."},
    )


def check_columns(columns: tuple[ColumnConfig, ...]) -> Iterator[Finding]:
    """Check that names are unique; Spark ignores their case."""
    seen: dict[str, int] = {}
    for index, column in enumerate(columns):
        name = column.name.lower()
        if name in BUILT_IN:
            yield f"[{index}].name", f"{column.name!r} is a column of every table; choose another name"
        elif name in seen:
            yield f"[{index}].name", f"{column.name!r} is the name of columns[{seen[name]}] too"
        seen.setdefault(name, index)
