"""`queue`: limits of what is read and not yet acknowledged, and what of it is kept on disk."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from log_shipper.config.text.checks import Finding, not_blank
from log_shipper.config.text.units import Duration, Size, Watermark
from log_shipper.shipper.options import filebeat

MIB = 1024**2
# Types of inputs of which nothing can be read again.
LISTENING = frozenset({"http", "http_endpoint", "syslog", "tcp", "udp", "unix"})
SEGMENTS = 10  # of `max_size`, if `segment_size` is not given


@dataclass(frozen=True, slots=True, kw_only=True)
class MemFlush:
    min_events: int = field(default=0, metadata={"doc": "Accepted and not used.", "min": 0})
    timeout: Duration = field(default=0.0, metadata={"doc": "Accepted and not used."})


@dataclass(frozen=True, slots=True, kw_only=True)
class MemQueue:
    ignored: ClassVar = filebeat.QUEUE_MEM_IGNORED
    events: int = field(
        default=65536,
        metadata={"doc": "The most events that are read and not yet acknowledged.", "unit": "events", "min": 1},
    )
    bytes: Size = field(default=20 * MIB, metadata={"doc": "The most bytes of these events.", "min": 1})
    pending_bytes: Size = field(
        default=128 * 1024**2,
        metadata={
            "since": "0.2",
            "doc": "The most bytes of lines and messages whose end was not read yet; beyond it, the largest is sent "
            "as it is.",
            "min": 1024**2,
        },
    )
    flush: MemFlush | None = field(
        default=None,
        metadata={"doc": "Accepted and not used.", "unused": "batches form by themselves under load"},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class WatermarkConfig:
    """Shares between 0 and 1; or bytes that must stay free, negative."""

    low: Watermark = field(
        default=0.85,
        metadata={
            "doc": "From here on the log and the health say that the disk fills up: the share that is used (85%), or "
            "what is still free (50GiB).",
        },
    )
    high: Watermark = field(
        default=0.90,
        metadata={"doc": "From here on the queue does not grow: no more is read than memory takes."},
    )
    flood: Watermark = field(
        default=0.95,
        metadata={
            "doc": "From here on deleted files are closed, read or not, so that their space is free; what is given up "
            "is logged.",
        },
    )

    def check(self) -> Iterator[Finding]:
        marks = (self.low, self.high, self.flood)
        if len({mark < 0 for mark in marks}) > 1:
            yield "", "low, high and flood must be of one kind: all are percentages, or all are sizes that stay free"
        elif not self.low <= self.high <= self.flood:
            yield "", "low must come before high, and high before flood, as the disk fills up: 85%, 90%, 95%"


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskQueueConfig:
    """`segment_size` 0: a part of `max_size`."""

    since: ClassVar = "0.2"
    enabled: bool = field(
        default=True,
        metadata={
            "doc": "`false` keeps all that waits in memory, also what cannot be read again; what is on disk already is "
            "still delivered."
        },
    )
    path: str | None = field(
        default=None,
        metadata={"doc": "The directory of the queue; `diskqueue` in path.data when absent.", "check": not_blank},
    )
    max_size: Size = field(
        default=1024 * MIB,
        metadata={"doc": "The most bytes that it takes of the disk; 0: no limit but the watermarks."},
    )
    segment_size: Size = field(
        default=0,
        metadata={"doc": "The size of one file of it, in bytes; a tenth of max_size when 0."},
    )
    read_ahead: int = field(
        default=512,
        metadata={"doc": "About how many events are read back in one step.", "unit": "events", "min": 1},
    )
    write_ahead: int = field(
        default=16384,
        metadata={
            "doc": "The most events that wait in memory behind those that the output has; they are written if it takes "
            "too long.",
            "unit": "events",
            "min": 1,
        },
    )
    flush: Duration = field(
        default=0.1,
        metadata={
            "doc": "How long a batch may be undelivered before it is written; ten times as long if it can be read "
            "again. 0 writes everything."
        },
    )
    retry_interval: Duration = field(
        default=1.0, metadata={"doc": "The first pause after a write that failed; it doubles.", "min": 0.001}
    )
    max_retry_interval: Duration = field(default=30.0, metadata={"doc": "The longest such pause.", "min": 0.001})
    compression: Literal["zstd", "none"] = field(
        default="zstd", metadata={"doc": "How batches are compressed: zstd at its fastest level, or not."}
    )
    watermark: WatermarkConfig = field(default_factory=WatermarkConfig)

    def check(self) -> Iterator[Finding]:
        if self.max_size and self.max_size < 10 * MIB:
            yield "max_size", "must be at least 10MiB, or 0 for no limit"
        elif self.segment_size and self.max_size and self.segment_size > self.max_size // 2:
            yield (
                "segment_size",
                "must be at most half of max_size, so that one file can be removed while another grows",
            )
        if self.segment_size and self.segment_size < MIB:
            yield "segment_size", "must be at least 1MiB"
        if self.max_retry_interval < self.retry_interval:
            yield "max_retry_interval", "must not be less than retry_interval"

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
            "since": "0.2",
            "doc": "Keeps on disk what waits for the output. Without this section, only what cannot be read again "
            "passes through it, with these defaults.",
        },
    )

    def remarks_on(self, types: Iterable[str]) -> Iterator[Finding]:
        """Yield what is odd about the queue for inputs of these types."""
        lost = sorted(LISTENING.intersection(types))
        if lost and self.disk is not None and not self.disk.enabled:
            yield (
                "queue.disk.enabled",
                f"events of type {lost[0]} cannot be read again: what waits for the output is lost when the agent is "
                "killed; leave the queue on disk on for them",
            )
