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
    """Check that all libraries interpret the path in the same way."""
    if match := _ESCAPED.search(text):
        yield "", f"{text!r} contains {match[0]!r}, which libraries interpret differently: choose another name"


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
        yield "", f"{text!r}: only table.path may contain %{{...}}; this path is shared by all tables"


def properties(given: Raw) -> Iterator[Finding]:
    interval = given.get("delta.checkpointInterval", 1)
    if not re.fullmatch("0*[1-9][0-9]*", str(interval)):
        yield "delta.checkpointInterval", f"{interval!r} must be a number of commits, at least 1"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableConfig:
    not_yet: ClassVar = {
        "cluster_by": "liquid clustering needs table features (clustering, domainMetadata), which the sink does not "
        "use, to support every reader; use 'partition_by: date', and copy rows to another table to cluster them"
    }
    path: str = field(
        metadata={
            "doc": "Directory or URI of the Delta table. `%{[topic]}` in it makes one table per topic, "
            "`%{[fields.service]:other}` one per value of a field.",
            "check": template,
        }
    )
    # Not shown: some contain secrets.
    options: Raw = field(
        default_factory=dict,
        repr=False,
        metadata={
            "since": "0.3",
            "doc": "Settings of the tables' object store, such as `aws_region: eu-central-1`; others come from the "
            "environment ([Object stores](../guides/object-stores.md)).",
        },
    )
    partition_by: Literal["date", "none"] = field(
        default="date", metadata={"since": "0.3", "doc": "Partitioning of a new table."}
    )
    properties: Raw = field(
        default_factory=dict,
        metadata={
            "since": "0.3",
            "doc": "Properties of a new table, such as `delta.logRetentionDuration: interval 10 days`.",
            "check": properties,
        },
    )
    doc: DocMode = field(
        default="rest",
        metadata={
            "since": "0.3",
            "doc": "JSON in the column `doc`: fields without a column (rest), the whole record (all), or nothing "
            "(none).",
        },
    )
    comment: str = field(default="", metadata={"since": "0.3", "doc": "Comment of a new table."})
    max_tables: int = field(
        default=100,
        metadata={
            "since": "0.3",
            "doc": "Maximum number of tables from the template; the sink stops instead of creating more.",
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
    since: ClassVar = "0.3"
    name: str = field(metadata={"doc": "Name of the column.", "check": identifier})
    path: str = field(metadata={"doc": "Field of the record, such as http.response.status_code.", "check": field_path})
    type: ColumnType = field(
        default="string",
        metadata={"doc": "Type of the column. A value of another type becomes NULL and stays in `doc`."},
    )
    comment: str = field(default="", metadata={"doc": "Comment of the column; default: its path."})
    required: bool = field(
        default=False,
        metadata={"doc": "Treats a record as bad if the field is missing or has another type."},
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
