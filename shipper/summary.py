"""The log line that reports the counters every 30 seconds, if they changed, and once more at the end."""

import logging
from dataclasses import replace

from shipper.clock import Clock
from shipper.metrics import Metrics
from shipper.source.base import BatchSource, SourceStatus

logger = logging.getLogger(__name__)

INTERVAL = 30.0


class Summary:
    def __init__(self, metrics: Metrics, source: BatchSource, clock: Clock, interval: float = INTERVAL) -> None:
        self._metrics = metrics
        self._source = source
        self._clock = clock
        self._logged = replace(metrics)
        self._interval = interval
        self._due = clock.monotonic() + interval

    def step(self) -> None:
        if self._clock.monotonic() >= self._due:
            self._due = self._clock.monotonic() + self._interval
            if self._metrics != self._logged:
                self._log("running", self._source.status())

    def last(self, status: SourceStatus) -> None:
        """Log the last line; `status` is that before the source was stopped."""
        self._log("stopped", status)

    def _log(self, state: str, status: SourceStatus) -> None:
        self._logged = replace(self._metrics)
        logger.info(
            "%s: %s files_open=%d bytes_behind=%d",
            state,
            self._metrics.summary(),
            status.files_open,
            status.bytes_behind,
        )
