"""All tables of a sink, each with its role."""

from dataclasses import dataclass
from typing import Literal

from log_shipper.spark_sink.options.model import SinkConfig
from log_shipper.spark_sink.storage.locations import location_of
from log_shipper.spark_sink.storage.tables import Table

Role = Literal["lines", "dead letter", "view", "marks"]


@dataclass(frozen=True, slots=True)
class KnownTable:
    """A table with its role and retention. `name`: of a view, or of a template's table; `rewritten`: each batch of the
    view replaces all rows (mode: complete)."""

    role: Role
    table: Table
    keep: float | None = None  # seconds; None keeps them permanently
    name: str = ""
    rewritten: bool = False

    @property
    def title(self) -> str:
        return f"{self.role} {self.name}".rstrip()


def known_tables(config: SinkConfig) -> list[KnownTable]:
    """Return the tables of lines first, the marks last. A table need not exist yet. Raises SinkError."""
    keep = config.maintenance.retention
    return [
        *(
            KnownTable("lines", table_of(config, path), keep.lines, table_name(config, path))
            for path in lines_paths(config)
        ),
        KnownTable("dead letter", table_of(config, config.dead_letter_path), keep.dead_letter),
        *(
            KnownTable("view", table_of(config, config.view_path(view)), keep.views, view.name, view.mode == "complete")
            for view in config.views
        ),
        KnownTable("marks", table_of(config, config.state_path)),
    ]


def table_name(config: SinkConfig, path: str) -> str:
    """Return the part of the path that distinguishes the tables of a template; empty without one."""
    return path.removeprefix(f"{config.table_base}/") if config.has_template else ""


def lines_paths(config: SinkConfig) -> list[str]:
    """Return the configured path; with a template, all paths of tables in the marks."""
    if not config.has_template:
        return [config.table.path]
    marks = table_of(config, config.state_path).snapshot()
    if not marks.exists:
        return []
    paths = marks.select('SELECT DISTINCT "table" FROM stored WHERE "table" IS NOT NULL').column("table").to_pylist()
    return sorted({*paths} - {config.dead_letter_path})


def table_of(config: SinkConfig, path: str) -> Table:
    """Return one of the sink's tables."""
    return Table(location_of(config, path))
