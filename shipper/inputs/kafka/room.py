"""What may wait for the reading thread.

What that does not take bounds what is handed over: the member's thread then waits a moment, and after that it pauses
the partitions of which most waits, and polls on, so that the group does not take it for dead.
"""

import threading
from collections.abc import Iterable

from confluent_kafka import TopicPartition

from log_shipper.shipper.clock import Clock
from log_shipper.shipper.inputs.kafka.client import MIB, Consumer
from log_shipper.shipper.inputs.kafka.partition import Partition

HANDED_OVER = 8 * MIB  # bytes that may wait
PATIENCE = 1.0  # seconds without room, after which partitions are paused
WAIT = 0.05  # seconds


class Room:
    """Used by the member's thread, but for `note_taken`. `partitions`: those that the consumer reads."""

    def __init__(self, consumer: Consumer, clock: Clock) -> None:
        self._consumer = consumer
        self._clock = clock
        self._taken = threading.Event()
        self._full_since: float | None = None

    def note_taken(self) -> None:
        """Any thread may call it."""
        if self._full_since is not None:  # else the member's thread waits for the broker only
            self._taken.set()

    def wait(self) -> None:
        """Wait for a moment, or until something was taken."""
        self._taken.wait(WAIT)
        self._taken.clear()

    def is_awaited(self, partitions: Iterable[Partition]) -> bool:
        """True while nothing is to be polled because too much waits. Not for long: then what waits most is paused."""
        waiting = [partition for partition in partitions if partition.waiting_bytes]
        if sum(partition.waiting_bytes for partition in waiting) < HANDED_OVER:
            self._full_since = None
            return False
        now = self._clock.monotonic()
        if self._full_since is None:
            self._full_since = now
        if now - self._full_since < PATIENCE:
            return True
        share = HANDED_OVER // (2 * len(waiting))
        full = [partition for partition in waiting if partition.waiting_bytes > share and not partition.paused]
        if full:
            self._consumer.pause([TopicPartition(*partition.place) for partition in full])
            for partition in full:
                partition.paused = True
        return False

    def resume(self, partitions: Iterable[Partition]) -> None:
        """Have those of which little waits polled again."""
        paused = [partition for partition in partitions if partition.paused]
        taken = [partition for partition in paused if partition.waiting_bytes < HANDED_OVER // (4 * len(paused))]
        if taken:
            self._consumer.resume([TopicPartition(*partition.place) for partition in taken])
            for partition in taken:
                partition.paused = False
