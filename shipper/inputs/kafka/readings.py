"""Read the partitions of a member in fair turns."""

import logging
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from log_shipper.runtime.logs.throttle import Throttle
from log_shipper.shipper.event import Batch
from log_shipper.shipper.inputs.base import SourceContext
from log_shipper.shipper.inputs.feed import REFUSED_WAIT
from log_shipper.shipper.inputs.kafka.client import MIB
from log_shipper.shipper.inputs.kafka.options import KafkaInputConfig
from log_shipper.shipper.inputs.kafka.partition import Partition, Place
from log_shipper.shipper.inputs.kafka.reading import NEVER, PartitionReading

logger = logging.getLogger(__name__)

PENDING_BYTES = 64 * MIB  # maximum for pending messages of all partitions


@dataclass(frozen=True, slots=True)
class ReadingContext:
    """The collaborators of readings. `partitions` returns those of the member; `has_room` is called when received
    blocks were taken."""

    config: KafkaInputConfig
    max_bytes: int
    source: SourceContext
    partitions: Callable[[], Mapping[Place, Partition]]
    has_room: Callable[[], None]


class Readings:
    """The readings of all partitions. Used by the reading thread."""

    def __init__(self, context: ReadingContext) -> None:
        self._context = context
        self._readings: dict[Place, PartitionReading] = {}
        self._made: deque[Batch] = deque()  # tracked, and not given yet
        self._throttle = Throttle(context.source.clock.monotonic)
        self._turn = 0
        self._is_refused = False

    def read(self, budget: int) -> Iterator[Batch]:
        """Yield batches of about `budget` bytes. The caller may stop at any; the next call yields the rest."""
        yield from self._given()
        readings = self._current()
        self._turn += 1
        self._is_refused = False
        for index in range(len(readings)):
            reading = readings[(self._turn + index) % len(readings)]
            if not reading.is_ready:
                continue
            if not self._context.source.pipeline.takes_more(reading.partition.source):
                self._is_refused = True
                continue
            batches, taken = reading.read()
            self._made.extend(batches)
            if taken:
                self._context.has_room()
                self._bound_pending()
            yield from self._given()
            budget -= taken
            if budget <= 0:
                return

    @property
    def next_read(self) -> float:
        """Return the seconds until `read` has something to do, unless the member's thread wakes the loop."""
        if self._made:
            return 0.0
        readings = self._current()
        if any(reading.is_ready for reading in readings):
            return REFUSED_WAIT if self._is_refused else 0.0
        due = min((reading.due for reading in readings), default=NEVER)
        return max(due - self._context.source.clock.monotonic(), 0.0)

    def _given(self) -> Iterator[Batch]:
        while self._made:
            batch = self._made.popleft()
            if not batch.source.is_lost():
                yield batch

    def _current(self) -> list[PartitionReading]:
        """Return the reading of each partition; pending messages of partitions that the member lost are dropped."""
        partitions = self._context.partitions()
        known = self._readings
        if [reading.partition for reading in known.values()] != list(partitions.values()):
            self._readings = {}
            for place, partition in partitions.items():
                reading = known.get(place)
                is_known = reading is not None and reading.partition is partition
                self._readings[place] = reading if reading is not None and is_known else self._reading_of(partition)
        return list(self._readings.values())

    def _reading_of(self, partition: Partition) -> PartitionReading:
        return PartitionReading(partition, self._context.config, self._context.max_bytes, self._context.source)

    def _bound_pending(self) -> None:
        """End the largest pending message if too much is pending: a message without an end grows forever."""
        pending = sum(reading.pending_bytes for reading in self._readings.values())
        if pending <= PENDING_BYTES:
            return
        largest = max(self._readings.values(), key=lambda reading: reading.pending_bytes)
        partition, size = largest.partition, largest.pending_bytes
        self._context.source.metrics.messages_cut_short += 1
        if self._throttle.is_due():
            logger.warning(
                "%s: the unfinished message at offset %d was split after %d bytes: all unfinished messages of the "
                "input %s together exceed %d bytes. Nothing is lost. Check its multiline pattern (logged once a "
                "minute, counted by messages_cut_short)",
                partition.source.path,
                partition.next_to_give,
                size,
                self._context.config.id,
                PENDING_BYTES,
            )
        self._made.extend(largest.end_message())
