"""Count and log what happens to an input that listens."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field, fields

from log_shipper.runtime.logs.throttle import Throttle
from log_shipper.shipper.metrics import Metrics

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class SocketCounts:
    """Counters since the start, each written by one thread."""

    datagrams_dropped: int = 0  # by the kernel, because its buffer was full
    connections_refused: int = 0  # beyond max_connections, or without a free descriptor
    handshakes_failed: int = 0
    connections_timed_out: int = 0
    framing_errors: int = 0  # connections closed because of invalid framing
    messages_oversized: int = 0  # longer than max_message_size, or split because too much was unfinished
    messages_unfinished: int = 0  # lost, as their connection ended within them

    def add_to(self, metrics: Metrics, counted: "SocketCounts") -> None:
        """Add the counts since `counted` to the metrics of the same names, and update `counted`."""
        for counter in fields(self):
            now: int = getattr(self, counter.name)
            new = now - getattr(counted, counter.name)
            if new:
                setattr(counted, counter.name, now)
                setattr(metrics, counter.name, getattr(metrics, counter.name) + new)


@dataclass(slots=True)
class PeerReporter:
    """The log of what happens to peers, at most once a minute for each kind. Used by one thread."""

    input_id: str
    monotonic: Callable[[], float]
    _throttles: dict[str, Throttle] = field(default_factory=dict)

    def warn(self, kind: str, message: str, *arguments: object) -> None:
        throttle = self._throttles.get(kind)
        if throttle is None:
            throttle = self._throttles[kind] = Throttle(self.monotonic)
        if throttle.is_due():
            more = f" ({throttle.suppressed} more not logged)" if throttle.suppressed else ""
            logger.warning(f"input %s: {message}%s", self.input_id, *arguments, more)

    def debug(self, message: str, *arguments: object) -> None:
        logger.debug(f"input %s: {message}", self.input_id, *arguments)
