"""A segment of the queue on disk."""

from dataclasses import dataclass
from pathlib import Path

from log_shipper.shipper.pipeline.disk_queue.frames import HEADER_SIZE


@dataclass(slots=True, eq=False)
class Segment:
    """A file of frames. Bytes from `start` up to `end` are frames that are on disk; `last` is the sequence number of
    the last one, -1 without any; `first`: the number of the first event, if it is known. The writer's thread changes
    it, any thread may read it."""

    number: int
    path: Path
    start: int = HEADER_SIZE
    end: int = HEADER_SIZE
    last: int = -1
    first: int | None = None
    frames: int = 0
    seed: int = 0  # of its checksums
