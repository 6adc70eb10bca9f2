"""A segment of the queue on disk."""

from dataclasses import dataclass
from pathlib import Path

from log_shipper.shipper.pipeline.disk_queue.frames import HEADER_SIZE


@dataclass(slots=True, eq=False)
class Segment:
    """A file of frames. Bytes from `start` up to `end` are frames on disk; `last`: sequence number of the last one, or
    -1; `first`: number of the first event, if known. Changed by the writer's thread, readable from any thread."""

    number: int
    path: Path
    start: int = HEADER_SIZE
    end: int = HEADER_SIZE
    last: int = -1
    first: int | None = None
    frames: int = 0
    seed: int = 0  # of its checksums
