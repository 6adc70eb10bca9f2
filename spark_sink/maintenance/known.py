"""All tables of a sink, by what they are for."""

from dataclasses import dataclass
from typing import Literal

from pyspark.sql import SparkSession

from config.sink.model import SinkConfig
from spark_sink.storage.tables import Table

Role = Literal["lines", "dead letter", "view", "marks"]


@dataclass(frozen=True, slots=True)
class Known:
    """`name`: of a view, or of one table of a template; `rewritten`: by each batch of the view (mode: complete)."""

    role: Role
    table: Table
    keep: float | None = None  # seconds; None keeps them permanently
    name: str = ""
    rewritten: bool = False

    @property
    def title(self) -> str:
        return f"{self.role} {self.name}".rstrip()


def known_tables(spark: SparkSession, config: SinkConfig) -> list[Known]:
    """Lines first, marks last. A table need not be there yet."""
    keep = config.maintenance.retention
    return [
        *(
            Known("lines", Table(spark, path), keep.lines, table_name(config, path))
            for path in lines_paths(spark, config)
        ),
        Known("dead letter", Table(spark, config.dead_letter_path), keep.dead_letter),
        *(
            Known("view", Table(spark, config.view_path(view)), keep.views, view.name, view.mode == "complete")
            for view in config.views
        ),
        Known("marks", Table(spark, config.state_path)),
    ]


def table_name(config: SinkConfig, path: str) -> str:
    """Return what distinguishes the tables of a template."""
    return path.removeprefix(f"{config.table_base}/") if config.has_template else ""


def lines_paths(spark: SparkSession, config: SinkConfig) -> list[str]:
    """Return the one path; with a template, those that rows have landed in, as the marks have it."""
    if not config.has_template:
        return [config.table.path]
    marks = Table(spark, config.state_path)
    if not marks.exists():
        return []
    paths = {row["table"] for row in marks.read().select("table").distinct().collect()}
    return sorted(paths - {None, config.dead_letter_path})
