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
        default=10.0, metadata={"doc": "How often a batch of the view starts; 0 means immediately."}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewConfig:
    as_in: ClassVar = "- {name: by_host, sql: ...}"
    since: ClassVar = "0.2"
    name: str = field(metadata={"doc": "The view's name.", "check": identifier})
    sql: str = field(
        metadata={
            "doc": "A Spark SQL query over `lines`, the stream of rows that land in the table.",
            "check": not_blank,
        }
    )
    path: str | None = field(
        default=None,
        metadata={
            "doc": "The view's table; `<table.path>_<name>` when absent, without the part from the template.",
            "check": fixed_path,
        },
    )
    watermark: Duration | None = field(
        default=None,
        metadata={"doc": "How late a row may arrive; groups and windows that cannot get more rows are written."},
    )
    watermark_column: str = field(
        default="ts", metadata={"doc": "The column of `lines` that `watermark` applies to.", "check": identifier}
    )
    mode: Literal["append", "complete"] = field(
        default="append",
        metadata={"doc": "Whether rows are appended once they are final, or the whole result is rewritten each time."},
    )
    start: Literal["earliest", "latest"] = field(
        default="earliest",
        metadata={"doc": "Where a new view starts in the table: with all of its rows, or with new ones."},
    )
    trigger: ViewTriggerConfig = field(default_factory=ViewTriggerConfig)
    partition_by: tuple[str, ...] = field(
        default=(),
        metadata={"doc": "Columns that the view's table is partitioned by.", "split": ",", "check": identifiers},
    )
    source: str | None = field(
        default=None,
        metadata={
            "doc": "The path of the table that is read; required where table.path is a template.",
            "check": fixed_path,
        },
    )


def check_views(views: tuple[ViewConfig, ...]) -> Iterator[Finding]:
    seen: dict[str, int] = {}
    for index, view in enumerate(views):
        name = view.name.lower()
        if name == "lines":
            yield f"[{index}].name", "'lines' is what a view's sql calls the rows; choose another name"
        if name in seen:
            yield f"[{index}].name", f"{view.name!r} is the name of views[{seen[name]}] too"
        seen.setdefault(name, index)
