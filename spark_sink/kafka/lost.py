"""Records that Kafka deleted before they were read, by retention or `kafka-delete-records`.

A gap alone proves nothing: transaction markers and records of aborted transactions leave gaps in a topic. So offsets
count as lost only if Kafka refused a read because they no longer exist.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class LostRange:
    """A range of missing offsets, from `first` to `last` inclusive."""

    topic: str
    partition: int
    first: int
    last: int

    @property
    def count(self) -> int:
        return self.last - self.first + 1

    def __str__(self) -> str:
        return f"topic {self.topic}, partition {self.partition}: offsets {self.first} to {self.last}"
