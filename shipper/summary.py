"""The line that says every 30 seconds what happened, when something did, and once more at the end."""

import logging
from dataclasses import replace

from shipper.clock import Clock
from shipper.metrics import Metrics
from shipper.source.base import FileSource

logger = logging.getLogger(__name__)

INTERVAL = 30.0


class Summary:
    def __init__(self, metrics: Metrics, crawler: FileSource, clock: Clock, interval: float = INTERVAL) -> None:
        self._metrics = metrics
        self._crawler = crawler
        self._clock = clock
        self._said = replace(metrics)
        self._interval = interval
        self._due = clock.monotonic() + interval

    def step(self) -> None:
        if self._clock.monotonic() >= self._due:
            self._due = self._clock.monotonic() + self._interval
            if self._metrics != self._said:
                self._say("running")

    def last(self) -> None:
        self._say("stopped")

    def _say(self, state: str) -> None:
        self._said = replace(self._metrics)
        logger.info(
            "%s: %s files_open=%d bytes_behind=%d",
            state, self._metrics.summary(), len(self._crawler.running), self._crawler.bytes_behind,
        )  # fmt: skip
