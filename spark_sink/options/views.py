"""Views: tables derived from the table of lines, each by one Spark SQL query."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from log_shipper.config.text.checks import Finding, not_blank
from log_shipper.config.text.units import Duration
from log_shipper.spark_sink.options.tables import fixed_path, identifier, identifiers


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewTriggerConfig:
    as_in: ClassVar = "trigger: {interval: 30s}"
    interval: Duration = field(
        default=10.0, metadata={"doc": "Interval of the view's micro-batches; 0 starts the next one immediately."}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewConfig:
    as_in: ClassVar = "- {name: by_host, sql: ...}"
    since: ClassVar = "0.3"
    name: str = field(metadata={"doc": "Name of the view.", "check": identifier})
    sql: str = field(
        metadata={
            "doc": "Spark SQL query over `lines`, the stream of rows that land in the table.",
            "check": not_blank,
        }
    )
    path: str | None = field(
        default=None,
        metadata={
            "doc": "Table of the view; default: `<table.path>_<name>`, without the template.",
            "check": fixed_path,
        },
    )
    watermark: Duration | None = field(
        default=None,
        metadata={"doc": "Maximum lateness of rows; groups and windows are written once it has passed."},
    )
    watermark_column: str = field(
        default="ts", metadata={"doc": "Time column of `lines` for `watermark`.", "check": identifier}
    )
    mode: Literal["append", "complete"] = field(
        default="append",
        metadata={"doc": "Appends final rows (append), or rewrites the whole result each time (complete)."},
    )
    start: Literal["earliest", "latest"] = field(
        default="earliest",
        metadata={"doc": "First rows of a new view: all in the table (earliest), or new ones only (latest)."},
    )
    trigger: ViewTriggerConfig = field(default_factory=ViewTriggerConfig)
    partition_by: tuple[str, ...] = field(
        default=(),
        metadata={"doc": "Partition columns of the view's table.", "split": ",", "check": identifiers},
    )
    source: str | None = field(
        default=None,
        metadata={
            "doc": "Path of the table to read; required if table.path is a template.",
            "check": fixed_path,
        },
    )


def check_views(views: tuple[ViewConfig, ...]) -> Iterator[Finding]:
    seen: dict[str, int] = {}
    for index, view in enumerate(views):
        name = view.name.lower()
        if name == "lines":
            yield f"[{index}].name", "'lines' is the name of the stream in a view's sql; choose another name"
        if name in seen:
            yield f"[{index}].name", f"{view.name!r} is the name of views[{seen[name]}] too"
        seen.setdefault(name, index)
