"""`queue`: limits of unacknowledged events in memory and on disk."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from log_shipper.config.text.checks import Finding, not_blank
from log_shipper.config.text.units import Duration, Size, Watermark
from log_shipper.shipper.options import filebeat

MIB = 1024**2
# Input types whose events cannot be re-read.
LISTENING = frozenset({"http", "http_endpoint", "syslog", "tcp", "udp", "unix"})
SEGMENTS = 10  # of `max_size`, if `segment_size` is not set


@dataclass(frozen=True, slots=True, kw_only=True)
class MemFlush:
    min_events: int = field(default=0, metadata={"doc": "Accepted and ignored.", "min": 0})
    timeout: Duration = field(default=0.0, metadata={"doc": "Accepted and ignored."})


@dataclass(frozen=True, slots=True, kw_only=True)
class MemQueue:
    ignored: ClassVar = filebeat.QUEUE_MEM_IGNORED
    events: int = field(
        default=65536,
        metadata={"doc": "Maximum number of unacknowledged events.", "unit": "events", "min": 1},
    )
    bytes: Size = field(default=20 * MIB, metadata={"doc": "Maximum bytes of these events.", "min": 1})
    pending_bytes: Size = field(
        default=128 * 1024**2,
        metadata={
            "since": "0.3",
            "doc": "Maximum bytes of incomplete lines and messages; above it, the largest is sent as it is.",
            "min": 1024**2,
        },
    )
    flush: MemFlush | None = field(
        default=None,
        metadata={"doc": "Accepted and ignored.", "unused": "under load, batches form by themselves"},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class WatermarkConfig:
    """Shares between 0 and 1, or negative bytes of free space."""

    low: Watermark = field(
        default=0.85,
        metadata={
            "doc": "Above this usage, warns in the log and in the health status. A percentage used (85%), or free "
            "space (50GiB).",
        },
    )
    high: Watermark = field(
        default=0.90,
        metadata={"doc": "Above this usage, the queue stops growing; reading pauses when memory is full."},
    )
    flood: Watermark = field(
        default=0.95,
        metadata={
            "doc": "Above this usage, deleted files are closed, read or not, to free their space; lost bytes are "
            "logged.",
        },
    )

    def check(self) -> Iterator[Finding]:
        marks = (self.low, self.high, self.flood)
        if len({mark < 0 for mark in marks}) > 1:
            yield "", "low, high and flood must all be percentages, or all sizes of free space"
        elif not self.low <= self.high <= self.flood:
            yield "", "low must be reached before high, and high before flood, as in 85%, 90%, 95%"


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskQueueConfig:
    """The queue on disk; with `segment_size` 0, segments are a fraction of `max_size`."""

    since: ClassVar = "0.3"
    enabled: bool = field(
        default=True,
        metadata={
            "doc": "`false` keeps all pending events in memory, including those that cannot be re-read. Events already "
            "on disk are still delivered."
        },
    )
    path: str | None = field(
        default=None,
        metadata={"doc": "The directory of the queue; by default `diskqueue` in path.data.", "check": not_blank},
    )
    max_size: Size = field(
        default=1024 * MIB,
        metadata={"doc": "Maximum size on disk; 0: limited only by the watermarks."},
    )
    segment_size: Size = field(
        default=0,
        metadata={"doc": "The size of one segment file; 0: a tenth of max_size."},
    )
    read_ahead: int = field(
        default=512,
        metadata={"doc": "Approximate number of events read back per step.", "unit": "events", "min": 1},
    )
    write_ahead: int = field(
        default=16384,
        metadata={
            "doc": "Maximum number of events in memory behind those handed to the output; after the time in `flush`, "
            "they are written.",
            "unit": "events",
            "min": 1,
        },
    )
    flush: Duration = field(
        default=0.1,
        metadata={
            "doc": "How long a batch may be undelivered before it is written; ten times as long if it can be re-read. "
            "0 writes everything."
        },
    )
    retry_interval: Duration = field(
        default=1.0, metadata={"doc": "The first delay after a failed write; it doubles.", "min": 0.001}
    )
    max_retry_interval: Duration = field(
        default=30.0, metadata={"doc": "The maximum delay after failed writes.", "min": 0.001}
    )
    compression: Literal["zstd", "none"] = field(
        default="zstd", metadata={"doc": "The compression of batches: zstd at its fastest level, or none."}
    )
    watermark: WatermarkConfig = field(default_factory=WatermarkConfig)

    def check(self) -> Iterator[Finding]:
        if self.max_size and self.max_size < 10 * MIB:
            yield "max_size", "must be at least 10MiB, or 0 for no limit"
        elif self.segment_size and self.max_size and self.segment_size > self.max_size // 2:
            yield (
                "segment_size",
                "must be at most half of max_size, so that one segment can be deleted while another grows",
            )
        if self.segment_size and self.segment_size < MIB:
            yield "segment_size", "must be at least 1MiB"
        if self.max_retry_interval < self.retry_interval:
            yield "max_retry_interval", "must be at least retry_interval"

    @property
    def bytes_of_segment(self) -> int:
        return self.segment_size or (self.max_size or 1024 * MIB) // SEGMENTS


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueConfig:
    not_yet: ClassVar = filebeat.QUEUE_NOT_YET
    mem: MemQueue = field(default_factory=MemQueue)
    disk: DiskQueueConfig | None = field(
        default=None,
        metadata={
            "since": "0.3",
            "doc": "Stores pending events on disk. Without this section, only events that cannot be re-read are "
            "stored, with these defaults.",
        },
    )

    def remarks_on(self, types: Iterable[str]) -> Iterator[Finding]:
        """Yield warnings about the queue for these input types."""
        lost = sorted(LISTENING.intersection(types))
        if lost and self.disk is not None and not self.disk.enabled:
            yield (
                "queue.disk.enabled",
                (
                    f"events of type {lost[0]} cannot be re-read: pending ones are lost if the agent is killed; keep "
                    "the queue on disk enabled for them"
                ),
            )
