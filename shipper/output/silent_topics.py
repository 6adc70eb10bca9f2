"""Detects topics of a transaction for which librdkafka waits silently.

While a topic does not exist, its transactional producer retries without a report, and does not always notice when the
topic is re-created. So topics without a response are looked up by another client.
"""

from collections.abc import Callable, Collection, Mapping

from confluent_kafka import KafkaError

from log_shipper.shipper.clock import Clock

STALLED = 10.0  # seconds without a response before topics are looked up, and between look-ups
MAX_LOOKED_UP = 100  # at a time, in turn; one response takes a millisecond or two
# Consecutive look-ups without an error, and without a record accepted, after which the client is stuck with a
# re-created topic.
MAX_SILENT = 3

Ask = Callable[[Collection[str]], dict[str, KafkaError] | None]


class SilentTopics:
    def __init__(self, ask: Ask, clock: Clock) -> None:
        """`ask` blocks; it returns the errors of refused topics, None without a response."""
        self._ask = ask
        self._clock = clock
        self._at = 0.0
        self._next = 0  # index of the next topic to look up
        self._asked: Collection[str] = ()
        self._answer: dict[str, KafkaError] | None = None
        self._refused: dict[str, KafkaError] = {}
        self._outstanding = 0  # records, at the last response
        self._silent = 0  # consecutive look-ups

    def wait_from(self, time: float) -> None:
        """Expect responses for a transaction, perhaps a resent one, from this time on."""
        self._at = time + STALLED

    @property
    def are_due(self) -> bool:
        return self._clock.monotonic() >= self._at

    def look_up(self, topics: Collection[str]) -> None:
        """Look up the topics. Blocks; raises nothing."""
        known = sorted(topics)
        first = self._next if self._next < len(known) else 0
        self._asked = known[first : first + MAX_LOOKED_UP]
        self._next = first + MAX_LOOKED_UP
        self._answer = self._ask(self._asked)

    def is_producer_stuck(self, outstanding: int) -> bool:
        """Process the result of `look_up`. Return True if the topics work again and the client has not noticed: it
        would wait forever. `outstanding`: unacknowledged records."""
        self._at = self._clock.monotonic() + STALLED
        if self._answer is None:
            return False
        came_back = self._refused.keys() & set(self._asked) - self._answer.keys()
        self._refused = {topic: error for topic, error in self._refused.items() if topic not in came_back}
        self._refused |= self._answer
        is_silent = not self._refused and outstanding == self._outstanding
        self._silent = self._silent + 1 if is_silent else 0
        self._outstanding = outstanding
        return bool(came_back) or self._silent >= MAX_SILENT

    @property
    def refused(self) -> Mapping[str, KafkaError]:
        """Return the errors of the last look-up by topic."""
        return self._answer or {}

    def reset(self) -> None:
        """Reset, after a commit or with a new producer."""
        self._refused.clear()
        self._silent = self._outstanding = 0
