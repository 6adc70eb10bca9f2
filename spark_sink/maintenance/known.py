"""All tables of a sink, each with its role."""

from dataclasses import dataclass
from typing import Literal

from pyspark.sql import SparkSession

from log_shipper.config.sink.model import SinkConfig
from log_shipper.spark_sink.storage.spark_tables import Table

Role = Literal["lines", "dead letter", "view", "marks"]


@dataclass(frozen=True, slots=True)
class KnownTable:
    """A table with its role and retention. `name`: of a view, or of one table of a template; `rewritten`: each batch of
    the view replaces all rows (mode: complete)."""

    role: Role
    table: Table
    keep: float | None = None  # seconds; None keeps them permanently
    name: str = ""
    rewritten: bool = False

    @property
    def title(self) -> str:
        return f"{self.role} {self.name}".rstrip()


def known_tables(spark: SparkSession, config: SinkConfig) -> list[KnownTable]:
    """Return the tables of lines first, the marks last. A table need not exist yet."""
    keep = config.maintenance.retention
    return [
        *(
            KnownTable("lines", Table(spark, path), keep.lines, table_name(config, path))
            for path in lines_paths(spark, config)
        ),
        KnownTable("dead letter", Table(spark, config.dead_letter_path), keep.dead_letter),
        *(
            KnownTable("view", Table(spark, config.view_path(view)), keep.views, view.name, view.mode == "complete")
            for view in config.views
        ),
        KnownTable("marks", Table(spark, config.state_path)),
    ]


def table_name(config: SinkConfig, path: str) -> str:
    """Return the part of the path that distinguishes the tables of a template; empty without one."""
    return path.removeprefix(f"{config.table_base}/") if config.has_template else ""


def lines_paths(spark: SparkSession, config: SinkConfig) -> list[str]:
    """Return the one path; with a template, the paths of the tables that the marks name."""
    if not config.has_template:
        return [config.table.path]
    marks = Table(spark, config.state_path)
    if not marks.exists():
        return []
    paths = {row["table"] for row in marks.read().select("table").distinct().collect()}
    return sorted(paths - {None, config.dead_letter_path})
