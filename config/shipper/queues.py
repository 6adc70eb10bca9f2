"""`queue`: limits of what is read and not yet acknowledged."""

from dataclasses import dataclass, field
from typing import ClassVar

from config.shipper import filebeat
from config.text.units import Duration, Size


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
    bytes: Size = field(default=32 * 1024**2, metadata={"doc": "The most bytes of these events.", "min": 1})
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
class QueueConfig:
    not_yet: ClassVar = filebeat.QUEUE_NOT_YET
    mem: MemQueue = field(default_factory=MemQueue)
