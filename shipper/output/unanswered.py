"""Records for which librdkafka waits silently.

Those of a partition without a leader are sent once it has one again. Until then there is no report about them, however
long that takes, while those of other partitions are delivered.
"""

from collections.abc import Iterable

from log_shipper.shipper.clock import Clock
from log_shipper.shipper.output.kafka_errors import ErrorReporter
from log_shipper.shipper.output.lane import Flight, Lane

LONG = 30.0  # seconds, in which a leader is elected, or a broker restarted
INTERVAL = 5.0  # seconds between looks


class Unanswered:
    """Reports what waits while others, which were sent so much later, are delivered, or while nothing is delivered and
    no error says why. A slow network is neither: it holds up all, and delivers some."""

    def __init__(self, errors: ErrorReporter, clock: Clock) -> None:
        self._errors = errors
        self._clock = clock
        self._newest = float("-inf")  # of what was delivered, when it was sent
        self._delivered_at = clock.monotonic()  # the last time that something was
        self._due = 0.0

    def delivered(self, flight: Flight) -> None:
        self._newest = max(self._newest, flight.sent)
        self._delivered_at = self._clock.monotonic()

    def look(self, lanes: Iterable[Lane]) -> None:
        """Report the topics of what waits, if it is due, and no error says why nothing is delivered."""
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
        self._errors.unanswered(paths)
