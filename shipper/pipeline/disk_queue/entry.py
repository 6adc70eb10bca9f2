"""A batch on its way through the queue on disk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from shipper.event import Batch
from shipper.pipeline.disk_queue.store import Place


@dataclass(slots=True, eq=False)
class Entry:
    """`release`: resolves the batch for its source, once it is delivered or on disk; calling it again does nothing.
    `due`: monotonic time at which it is to be written unless it is delivered. `reservation`: of its room in memory,
    while it is kept back. `place`: where it is on disk; None while it is not."""

    sequence: int
    batch: Batch
    release: Callable[[], None]
    due: float = 0.0
    reservation: Any = None
    place: Place | None = None
    is_delivered: bool = False
