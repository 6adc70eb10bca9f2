"""Track which brokers are unreachable for long.

A single dead broker is reported until the others have its partitions and groups, and a restarted one until it is back:
neither is a problem yet.
"""

import re
from collections.abc import Callable

LONG = 30.0  # seconds of reports
# Seconds without a report after which a broker is back, or the cluster does without it: the client retries more often.
QUIET = 45.0

# "kafka-2:9092/2: Connect to ipv4#10.0.0.2:9092 failed ...", "GroupCoordinator: kafka-2:9092: Connect to ..."
_ADDRESS = re.compile(r"[^\s/#]+:\d+")


class BrokersAway:
    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._reported: dict[str, tuple[float, float]] = {}  # by address, when it was first and last reported

    def report(self, text: str) -> bool:
        """Note the client's `text` about a broker to which it cannot connect. Return True if the broker is away for
        long."""
        self._forget()
        address = _ADDRESS.search(text)
        name, now = address[0] if address is not None else "", self._monotonic()
        first, _ = self._reported.get(name, (now, now))
        self._reported[name] = first, now
        return now - first >= LONG

    @property
    def are_back(self) -> bool:
        """Return True if none of them is away for long any more."""
        self._forget()
        return all(last - first < LONG for first, last in self._reported.values())

    def clear(self) -> None:
        self._reported.clear()

    def _forget(self) -> None:
        over = self._monotonic() - QUIET
        self._reported = {name: times for name, times in self._reported.items() if times[1] > over}
