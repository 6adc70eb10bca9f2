"""Detects records for which librdkafka waits silently.

Records for a partition without a leader are sent once it has one again. Until then they are not reported, however long
that takes, while records of other partitions are delivered.
"""

from collections.abc import Iterable

from log_shipper.shipper.clock import Clock
from log_shipper.shipper.output.kafka_errors import ErrorReporter
from log_shipper.shipper.output.lane import Flight, Lane

LONG = 30.0  # seconds, enough to elect a leader or restart a broker
INTERVAL = 5.0  # seconds between checks


class UnacknowledgedRecords:
    """Reports files whose records wait while others, sent much later, are delivered, or while nothing is delivered and
    no error says why. A slow network is neither: it delays all, and delivers some."""

    def __init__(self, errors: ErrorReporter, clock: Clock) -> None:
        self._errors = errors
        self._clock = clock
        self._newest = float("-inf")  # send time of the newest delivered batch
        self._delivered_at = clock.monotonic()  # time of the last delivery
        self._due = 0.0

    def delivered(self, flight: Flight) -> None:
        self._newest = max(self._newest, flight.sent)
        self._delivered_at = self._clock.monotonic()

    def check(self, lanes: Iterable[Lane]) -> None:
        """Report the topics of waiting records, if due, unless an error explains why nothing is delivered."""
        now = self._clock.monotonic()
        if now < self._due:
            return
        self._due = now + INTERVAL
        is_silent = now - self._delivered_at >= LONG
        if is_silent and self._errors.failing:
            return
        passed_over = now if is_silent else self._newest
        paths: dict[str, list[str]] = {}
        for lane in lanes:
            flight = next((flight for flight in lane.flights if flight.left), None)
            if flight is not None and passed_over - flight.sent >= LONG:
                for topic in flight.topics.names:
                    paths.setdefault(topic, []).append(flight.batch.source.path)
        self._errors.report_unacknowledged(paths)
