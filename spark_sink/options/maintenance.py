"""Options of `spark-sink maintain`, and of the maintenance during `run`."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from log_shipper.config.text.checks import Finding
from log_shipper.config.text.spans import DAY, HOUR, MINUTE, Span, readable_span
from log_shipper.config.text.units import Size

_SAFE = 7 * DAY  # required by Delta itself


def at_least_a_day(span: float) -> Iterator[Finding]:
    if span < DAY:
        yield "", "must be at least 1d: maintenance deletes whole dates"


def at_least_a_minute(span: float) -> Iterator[Finding]:
    if 0 < span < MINUTE:
        yield "", "must be at least 1m, or 0 to disable it"


def longer_than_a_batch(span: float) -> Iterator[Finding]:
    if span < HOUR:
        yield "", "must be at least 1h, to keep the files of a micro-batch in progress"


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizeConfig:
    as_in: ClassVar = "optimize: {enabled: false}"
    enabled: bool = field(default=True, metadata={"doc": "Compacts small files (OPTIMIZE)."})
    min_files: int = field(
        default=2,
        metadata={"doc": "Minimum number of small files to compact a date.", "unit": "files", "min": 2},
    )
    closed_after: Span = field(
        default=DAY,
        metadata={"doc": "Time after its end until a date is closed and compacted."},
    )
    open_min_files: int = field(
        default=1000,
        metadata={
            "doc": "Minimum number of small files to compact a date that is not closed; many small files slow down "
            "queries.",
            "unit": "files",
            "min": 2,
        },
    )
    target_size: Size | None = field(
        default=None, metadata={"doc": "Target size of compacted files; default: Delta's.", "min": 1024**2}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class VacuumConfig:
    as_in: ClassVar = "vacuum: {mode: off}"
    mode: Literal["full", "lite", "off"] = field(
        default="full",
        metadata={
            "doc": "Unneeded files to delete: all in the directory (full); those in the table's log (lite: faster, but "
            "leaves files of killed micro-batches); none (off)."
        },
    )
    retain: Span = field(
        default=_SAFE,
        metadata={
            "doc": "Retention of replaced files, which limits time travel.",
            "check": longer_than_a_batch,
        },
    )

    @property
    def remembered(self) -> float:
        """How many seconds the log of a table must keep removed files: lite finds no others, and one or two runs of
        `maintain` may be missed."""
        return self.retain + (3 * DAY if self.mode == "lite" else 0.0)

    def remarks(self) -> Iterator[Finding]:
        if self.mode != "off" and self.retain < _SAFE:
            yield (
                "retain",
                f"{readable_span(self.retain)} is less than Delta's 7d: queries and micro-batches that run longer fail",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionConfig:
    as_in: ClassVar = "retention: {lines: 90d}"
    lines: Span | None = field(
        default=None,
        metadata={"doc": "Maximum age of rows, by date; keeps all by default.", "check": at_least_a_day},
    )
    dead_letter: Span | None = field(
        default=None,
        metadata={
            "doc": "Maximum age of bad records, by the day of writing; keeps all by default.",
            "check": at_least_a_day,
        },
    )
    views: Span | None = field(
        default=None,
        metadata={
            "doc": "Maximum age of the rows of views, by their column `date`; a view without it keeps all rows, with a "
            "warning.",
            "check": at_least_a_day,
        },
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceConfig:
    since: ClassVar = "0.3"
    interval: Span = field(
        default=HOUR,
        metadata={
            "doc": "Interval at which `run` maintains the tables, in a separate process; 0 disables this, for use of "
            "`spark-sink maintain`.",
            "check": at_least_a_minute,
            "since": "0.3",
        },
    )
    optimize: OptimizeConfig = field(default_factory=OptimizeConfig)
    vacuum: VacuumConfig = field(default_factory=VacuumConfig)
    retention: RetentionConfig = field(default_factory=RetentionConfig)
