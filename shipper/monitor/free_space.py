"""The free space of the file system that has path.data, with a warning before it is full: then no position can be
saved, and no rejected event."""

import logging
import os
from pathlib import Path

from log_shipper.shipper.monitor.snapshot import DiskSpace

logger = logging.getLogger(__name__)

MIN_BYTES = 100 * 1024**2
MIN_SHARE = 0.05
MARGIN = 1.1  # it is over when there is a tenth more, or it would be logged again and again
EVERY = 10.0  # seconds


class FreeSpace:
    """Used by the sampler's thread. `measure` returns the free bytes and the size."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._due = float("-inf")
        self.space: DiskSpace | None = None

    def step(self, now: float) -> None:
        """Look at it if that is due."""
        if now < self._due:
            return
        self._due = now + EVERY
        try:
            self.take(*self._measured())
        except OSError:  # path.data was removed or cannot be reached, which the registrar reports
            self.space = None

    def _measured(self) -> tuple[int, int]:
        status = os.statvfs(self._data)
        return status.f_bavail * status.f_frsize, status.f_blocks * status.f_frsize

    def take(self, free: int, size: int) -> None:
        """Take over what was measured, and log where it becomes low, or is not any more."""
        was_low = self.space is not None and self.space.is_low
        least = max(MIN_BYTES, size * MIN_SHARE)
        is_low = free < (least * MARGIN if was_low else least)
        self.space = DiskSpace(free, size, is_low)
        if is_low and not was_low:
            logger.warning(
                "the disk of path.data (%s) is nearly full: %s of %s are free; free some space there, or positions and "
                "rejected events cannot be saved, and files newly met wait",
                self._data,
                readable(free),
                readable(size),
            )
        elif was_low and not is_low:
            logger.info("the disk of path.data (%s) has space again: %s are free", self._data, readable(free))


def readable(count: int) -> str:
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count} {unit}"
        count //= 1024
    return f"{count} TiB"
