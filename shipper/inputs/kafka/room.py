"""Limit what waits for the reading thread.

Once too much waits, the member's thread waits a moment, and after that it pauses the partitions with the largest
backlog and keeps polling, so that the group does not take the member for dead.
"""

import threading
from collections.abc import Iterable

from confluent_kafka import TopicPartition

from log_shipper.shipper.clock import Clock
from log_shipper.shipper.inputs.kafka.client import MIB, Consumer
from log_shipper.shipper.inputs.kafka.partition import Partition

HANDED_OVER = 8 * MIB  # bytes that may wait
PATIENCE = 1.0  # seconds without room after which partitions are paused
WAIT = 0.05  # seconds


class ReceiveRoom:
    """The room for received records. Used by the member's thread, except `note_taken`. `partitions`: those that the
    consumer reads."""

    def __init__(self, consumer: Consumer, clock: Clock) -> None:
        self._consumer = consumer
        self._clock = clock
        self._taken = threading.Event()
        self._full_since: float | None = None

    def note_taken(self) -> None:
        """Note that records were taken. Any thread may call it."""
        if self._full_since is not None:  # else the member's thread waits for the broker only
            self._taken.set()

    def wait(self) -> None:
        """Wait for a moment, or until records were taken."""
        self._taken.wait(WAIT)
        self._taken.clear()

    def is_awaited(self, partitions: Iterable[Partition]) -> bool:
        """Return True while polling must wait because too much waits. Not for long: then the largest backlogs are
        paused."""
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
        """Resume polling partitions below the limit."""
        paused = [partition for partition in partitions if partition.paused]
        taken = [partition for partition in paused if partition.waiting_bytes < HANDED_OVER // (4 * len(paused))]
        if taken:
            self._consumer.resume([TopicPartition(*partition.place) for partition in taken])
            for partition in taken:
                partition.paused = False
