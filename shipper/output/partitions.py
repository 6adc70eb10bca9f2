"""Chooses the partition of each record, if the configuration selects it other than by key.

The number of partitions is looked up in the background, at the first record for a topic and then every minute. Until it
is known, the records of the topic wait.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from confluent_kafka import KafkaError, KafkaException

from log_shipper.shipper.clock import Clock
from log_shipper.shipper.event import Topics
from log_shipper.shipper.output.background import Background

REFRESH = 60.0  # seconds
RETRY = 1.0
MAX_LOOKUPS = 4  # at a time: events determine the number of topics

Records = list[dict[str, Any]]
# Returns the numbers of a topic's writable partitions. Blocks, and raises KafkaException.
Lookup = Callable[[str], Sequence[int]]


class Choice(Protocol):
    """Chooses partitions."""

    def assign(self, topic: str, records: Records, numbers: Sequence[int]) -> None:
        """Set `partition` of each record to one of these numbers."""


class ByHash:
    """Chooses by hash, which is in `partition` of the records; None for a random partition."""

    def assign(self, topic: str, records: Records, numbers: Sequence[int]) -> None:
        count = len(numbers)
        for record in records:
            hashed = record["partition"]
            record["partition"] = numbers[(random.getrandbits(31) if hashed is None else hashed) % count]


class InGroups:
    """Sends `size` consecutive records to the same partition of a topic, then to the next or a random one."""

    def __init__(self, size: int, *, at_random: bool) -> None:
        self._size = size
        self._at_random = at_random
        self._places: dict[str, tuple[int, int]] = {}  # the index of the partition, and how many more records it gets

    def assign(self, topic: str, records: Records, numbers: Sequence[int]) -> None:
        place, left = self._places.get(topic, (random.randrange(len(numbers)), 0))
        for record in records:
            if not left:
                place, left = (random.randrange(len(numbers)) if self._at_random else place + 1), self._size
            left -= 1
            record["partition"] = numbers[place % len(numbers)]
        self._places[topic] = place % len(numbers), left


@dataclass(slots=True)
class _Topic:
    numbers: Sequence[int] = ()
    latest: Sequence[int] = ()  # of the running lookup
    lookup: Background | None = None
    due: float = 0.0


@dataclass(slots=True)
class Partitions:
    """Used by the publishing thread. Topics are never forgotten, as in the client: resent records must find their
    partitions. `report` receives the error of a lookup and its topic."""

    choice: Choice
    look_up: Lookup
    clock: Clock
    report: Callable[[KafkaError, str], None]
    _topics: dict[str, _Topic] = field(default_factory=dict)

    def are_known(self, topics: Topics) -> bool:
        """Return True if the partitions of all these topics are known; unknown ones are looked up. Does not block."""
        names = [topics.shared] if topics.shared is not None else {name for name in topics.of_each if name}
        unknown = [name for name in names if not self._numbers(name)]
        return not unknown

    def assign(self, topic: str, records: Records) -> None:
        """Choose the partition of each record; the topic must be known."""
        self.choice.assign(topic, records, self._numbers(topic))

    def _numbers(self, name: str) -> Sequence[int]:
        topic = self._topics.setdefault(name, _Topic())
        if topic.lookup is not None and topic.lookup.wait(0):
            self._finish_lookup(name, topic, topic.lookup)
        if topic.lookup is None and self.clock.monotonic() >= topic.due and self._lookups < MAX_LOOKUPS:
            topic.lookup = Background(lambda: self._find(name, topic), "partitions")
        return topic.numbers

    @property
    def _lookups(self) -> int:
        return sum(topic.lookup is not None for topic in self._topics.values())

    def _find(self, name: str, topic: _Topic) -> None:
        topic.latest = self.look_up(name)

    def _finish_lookup(self, name: str, topic: _Topic, lookup: Background) -> None:
        topic.lookup = None
        if lookup.error is not None:
            topic.due = self.clock.monotonic() + RETRY
            self.report(_kafka_error(lookup.error), name)
            return
        # Known partitions stay: records that are resent without a check need one.
        topic.numbers = topic.latest or topic.numbers
        topic.due = self.clock.monotonic() + (REFRESH if topic.latest else RETRY)


def _kafka_error(error: Exception) -> KafkaError:
    """Return any lookup error as a reportable one: none may end the agent, as the next attempt may succeed."""
    if isinstance(error, KafkaException):
        kafka_error: KafkaError = error.args[0]
        return kafka_error
    return KafkaError(KafkaError._FAIL, f"cannot look up the partitions: {error!r}")
