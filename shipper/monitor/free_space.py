"""The free space of path.data's file system, with a warning before it is full: then no position or rejected event can
be saved.
"""

import logging
import os
from pathlib import Path

from log_shipper.config.text.units import readable_bytes
from log_shipper.shipper.monitor.snapshot import DiskSpace

logger = logging.getLogger(__name__)

MIN_BYTES = 100 * 1024**2
MIN_SHARE = 0.05
MARGIN = 1.1  # the warning ends at a tenth more, so that it does not alternate
EVERY = 10.0  # seconds


class FreeSpace:
    """The free space, used by the sampler's thread."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._due = float("-inf")
        self.space: DiskSpace | None = None

    def step(self, now: float) -> None:
        """Measure the space if due."""
        if now < self._due:
            return
        self._due = now + EVERY
        try:
            self.update(*self._measured())
        except OSError:  # path.data was removed or is unreachable, which the registrar reports
            self.space = None

    def _measured(self) -> tuple[int, int]:
        status = os.statvfs(self._data)
        return status.f_bavail * status.f_frsize, status.f_blocks * status.f_frsize

    def update(self, free: int, size: int) -> None:
        """Store the measurement, and log when it becomes low or sufficient again."""
        was_low = self.space is not None and self.space.is_low
        minimum = max(MIN_BYTES, size * MIN_SHARE)
        is_low = free < (minimum * MARGIN if was_low else minimum)
        self.space = DiskSpace(free, size, is_low)
        if is_low and not was_low:
            logger.warning(
                "the disk of path.data (%s) is nearly full: %s of %s free. When it is full, positions and "
                "rejected events cannot be saved, and new files are not read. Free some space",
                self._data,
                readable_bytes(free),
                readable_bytes(size),
            )
        elif was_low and not is_low:
            logger.info("the disk of path.data (%s) has enough space again: %s free", self._data, readable_bytes(free))
