"""Options of `spark-sink maintain`, and of what `run` does of it by itself."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from log_shipper.config.text.checks import Finding
from log_shipper.config.text.spans import DAY, HOUR, MINUTE, Span, readable_span
from log_shipper.config.text.units import Size

_SAFE = 7 * DAY  # required by Delta itself


def at_least_a_day(span: float) -> Iterator[Finding]:
    if span < DAY:
        yield "", "must be at least 1d: rows are deleted by whole dates"


def at_least_a_minute(span: float) -> Iterator[Finding]:
    if 0 < span < MINUTE:
        yield "", "must be at least 1m, or 0, which leaves it to spark-sink maintain"


def longer_than_a_batch(span: float) -> Iterator[Finding]:
    if span < HOUR:
        yield "", "must be at least 1h, or files of a batch in progress would be deleted"


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizeConfig:
    as_in: ClassVar = "optimize: {enabled: false}"
    enabled: bool = field(default=True, metadata={"doc": "Whether small files are compacted (OPTIMIZE)."})
    min_files: int = field(
        default=2,
        metadata={"doc": "A date with fewer small files is not compacted.", "unit": "files", "min": 2},
    )
    closed_after: Span = field(
        default=DAY,
        metadata={"doc": "How long after its end a date is considered closed, and its files are compacted."},
    )
    open_min_files: int = field(
        default=1000,
        metadata={
            "doc": "A date that is not closed is compacted from this many small files on: a query takes longer with "
            "each.",
            "unit": "files",
            "min": 2,
        },
    )
    target_size: Size | None = field(
        default=None, metadata={"doc": "The size of compacted files; Delta's default when absent.", "min": 1024**2}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class VacuumConfig:
    as_in: ClassVar = "vacuum: {mode: off}"
    mode: Literal["full", "lite", "off"] = field(
        default="full",
        metadata={
            "doc": "Which unneeded files are deleted: all in the directory (full), only those that the table's log "
            "names (lite, which lists few directories, and leaves what a killed batch wrote), none (off)."
        },
    )
    retain: Span = field(
        default=_SAFE,
        metadata={
            "doc": "How long replaced files are kept, which is how far back time travel goes.",
            "check": longer_than_a_batch,
        },
    )

    @property
    def remembered(self) -> float:
        """The seconds for which the log of a table has to remember which files were removed: lite finds no others, and
        a `maintain` or two may not have run."""
        return self.retain + (3 * DAY if self.mode == "lite" else 0.0)

    def remarks(self) -> Iterator[Finding]:
        if self.mode != "off" and self.retain < _SAFE:
            yield (
                "retain",
                f"{readable_span(self.retain)} is less than Delta's 7d: a query or a batch that runs longer fails",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionConfig:
    as_in: ClassVar = "retention: {lines: 90d}"
    lines: Span | None = field(
        default=None,
        metadata={"doc": "Rows with an older date are deleted; none when absent.", "check": at_least_a_day},
    )
    dead_letter: Span | None = field(
        default=None,
        metadata={"doc": "The same for bad records, by the day they were written.", "check": at_least_a_day},
    )
    views: Span | None = field(
        default=None,
        metadata={
            "doc": "The same for views; a view without a column `date` keeps its rows, with a warning.",
            "check": at_least_a_day,
        },
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceConfig:
    since: ClassVar = "0.2"
    interval: Span = field(
        default=HOUR,
        metadata={
            "doc": "How often `run` does by itself what `maintain` does, in a process of its own; 0 leaves it to "
            "`spark-sink maintain`.",
            "check": at_least_a_minute,
            "since": "0.3",
        },
    )
    optimize: OptimizeConfig = field(default_factory=OptimizeConfig)
    vacuum: VacuumConfig = field(default_factory=VacuumConfig)
    retention: RetentionConfig = field(default_factory=RetentionConfig)
