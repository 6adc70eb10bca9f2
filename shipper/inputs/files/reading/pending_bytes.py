"""Bound the memory of unfinished lines and messages, over all files.

Each is bounded by `message_max_bytes`, but there may be thousands of files. At the bound the largest is ended where it
was read to, and its rest is a message of its own: nothing is lost, and no file waits for the end of another file's
line.
"""

import logging
from collections.abc import Callable, Collection

from log_shipper.runtime.logs.throttle import Throttle
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.inputs.files.reading.harvester import Harvester
from log_shipper.shipper.metrics import Metrics

logger = logging.getLogger(__name__)

CHECKED_TIMES = 8  # while as many bytes are read as the bound has


class PendingBytes:
    """The pending bytes of all files. Used by the reading thread only."""

    def __init__(self, most: int, metrics: Metrics, clock: Clock) -> None:
        self._most = most
        self._metrics = metrics
        self._unchecked = 0
        self._throttle = Throttle(clock.monotonic)

    def grew(self, size: int, running: Callable[[], Collection[Harvester]]) -> list[Harvester]:
        """Note that pending messages grew by at most `size` bytes. Return the files that are cut short: their next read
        frees the memory."""
        self._unchecked += max(size, 0)
        if self._unchecked < self._most // CHECKED_TIMES:
            return []
        self._unchecked = 0
        return self._keep_bound(running())

    def _keep_bound(self, running: Collection[Harvester]) -> list[Harvester]:
        taken = {harvester: harvester.pending_bytes for harvester in running}
        total = sum(taken.values())
        cut: list[Harvester] = []
        if total <= self._most:
            return cut
        for harvester in sorted(taken, key=lambda harvester: -taken[harvester]):
            # Messages that span two files are few, and end soon.
            if total > self._most and taken[harvester] and not harvester.is_continued:
                total -= taken[harvester]
                self._metrics.messages_cut_short += 1
                self._report(harvester, taken[harvester])
                harvester.cut_short()
                cut.append(harvester)
        return cut

    def _report(self, harvester: Harvester, size: int) -> None:
        if self._throttle.is_due():
            logger.warning(
                "%s (file id %s): the unfinished message at offset %d was split after %d bytes: all unfinished "
                "messages exceed queue.mem.pending_bytes (%d). Nothing is lost. Raise it, or lower message_max_bytes "
                "(logged once a minute, counted by messages_cut_short)",
                harvester.state.path,
                harvester.state.id,
                harvester.offset,
                size,
                self._most,
            )
