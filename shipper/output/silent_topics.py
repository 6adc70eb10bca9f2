"""The topics of a transaction for which librdkafka waits silently.

As long as a topic does not exist, its transactional producer asks again and again, and reports nothing; and when the
topic was created again it does not always notice. So the topics of a transaction without an answer are looked up by
another client.
"""

from collections.abc import Callable, Collection, Mapping

from confluent_kafka import KafkaError

from log_shipper.shipper.clock import Clock

STALLED = 10.0  # seconds without an answer after which the topics are looked up, and between two look-ups
MAX_LOOKED_UP = 100  # of them at a time, in turn; one answer takes a millisecond or two
# Look-ups in a row after which all topics are well, but no record was taken: the client waits for one as it was before.
MAX_SILENT = 3

Ask = Callable[[Collection[str]], dict[str, KafkaError] | None]


class SilentTopics:
    def __init__(self, ask: Ask, clock: Clock) -> None:
        """`ask` blocks; it returns those of the topics that the broker refuses, None without an answer."""
        self._ask = ask
        self._clock = clock
        self._at = 0.0
        self._next = 0  # of the topics, in their order
        self._asked: Collection[str] = ()
        self._answer: dict[str, KafkaError] | None = None
        self._refused: dict[str, KafkaError] = {}
        self._outstanding = 0  # records, at the last answer
        self._silent = 0  # look-ups in a row

    def wait_from(self, time: float) -> None:
        """A transaction is sent, again perhaps, and should have its answers at that time."""
        self._at = time + STALLED

    @property
    def are_due(self) -> bool:
        return self._clock.monotonic() >= self._at

    def look_up(self, topics: Collection[str]) -> None:
        """Blocks; raises nothing."""
        known = sorted(topics)
        first = self._next if self._next < len(known) else 0
        self._asked = known[first : first + MAX_LOOKED_UP]
        self._next = first + MAX_LOOKED_UP
        self._answer = self._ask(self._asked)

    def is_producer_stuck(self, outstanding: int) -> bool:
        """Take in the answer of `look_up`. True if the topics are well again, and the client has not noticed: with the
        same producer its records would wait forever. `outstanding`: records without an answer."""
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
        """Return the broker's answers at the last look-up."""
        return self._answer or {}

    def recovered(self) -> None:
        """The transaction was committed, or has a new producer."""
        self._refused.clear()
        self._silent = self._outstanding = 0
