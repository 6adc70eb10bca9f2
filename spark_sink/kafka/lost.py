"""Records that Kafka deleted before they were read: retention, or a `kafka-delete-records`.

A gap alone proves nothing: the markers of transactions, and records of aborted ones, leave gaps in every topic that has
them. So offsets are lost only where a reader asked for one that Kafka did not have any more.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class LostRange:
    """A range of offsets that are missing: `first`, `last`, and all between them."""

    topic: str
    partition: int
    first: int
    last: int

    @property
    def count(self) -> int:
        return self.last - self.first + 1

    def __str__(self) -> str:
        return f"topic {self.topic}, partition {self.partition}: offsets {self.first} to {self.last}"
