"""Handle rebalances: which partitions this member reads, and where reading continues after a gap."""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from confluent_kafka import OFFSET_BEGINNING, KafkaError, KafkaException, TopicPartition

from log_shipper.runtime.logs.folding import EACH
from log_shipper.shipper.inputs.kafka.client import Consumer
from log_shipper.shipper.inputs.kafka.member_context import MemberContext
from log_shipper.shipper.inputs.kafka.offset_metadata import OffsetMetadata
from log_shipper.shipper.inputs.kafka.partition import Partition, Place
from log_shipper.shipper.inputs.kafka.problems import AWAY
from log_shipper.shipper.inputs.kafka.read_topics import ReadTopics
from log_shipper.shipper.inputs.kafka.starts import StartOffset, StartOffsets, bounds

logger = logging.getLogger(__name__)

WAIT = 0.05  # seconds
RETRY = 1.0  # seconds


@dataclass(frozen=True, slots=True)
class UncommittedOffset:
    """The uncommitted position of a partition, and its metadata."""

    partition: Partition
    position: int
    kept: OffsetMetadata

    @property
    def target(self) -> TopicPartition:
        return TopicPartition(*self.partition.place, self.position, self.kept.text)


class Rebalances:
    """The partitions of the member. Used by the member's thread, its callbacks within `poll`; any thread may read
    `assignment` and `partitions`, which are replaced as a whole, and the numbers."""

    def __init__(self, context: MemberContext, starts: StartOffsets, is_stopping: Callable[[], bool]) -> None:
        self._context = context
        self._config = context.config
        self._starts = starts
        self._topics = ReadTopics(context, starts.topic_lookup)
        self._is_stopping = is_stopping
        self._is_cooperative = context.config.rebalance.strategy == "cooperative-sticky"
        # The assignment; None while it is about to change, and when the consumer is closed.
        self.assignment: dict[Place, Partition] | None = None
        self.metadata: object = None
        self.is_closing = False
        self.records_lost = 0

    @property
    def partitions(self) -> dict[Place, Partition]:
        return self.assignment or {}

    @property
    def is_outdated(self) -> bool:
        """Return True if a topic was re-created: the consumer may keep looking for the old one."""
        return self._topics.have_changed

    def assigned(self, consumer: Consumer, given: list[TopicPartition]) -> None:
        starts = self._starts_of(consumer, [(partition.topic, partition.partition) for partition in given])
        self._topics.given(starts)
        added = {start.place: self._made(start) for start in starts}
        self._mark_once_ends(consumer, added.values())
        self.assignment = {**self.partitions, **added}
        targets = [_target(partition) for partition in added.values()]
        if self._is_cooperative:
            consumer.incremental_assign(targets)
        else:
            consumer.assign(targets)
        self._commit_starts(consumer, [start for start in starts if not start.committed])
        # After the taken partitions were marked as lost: a transaction with this metadata has none of them.
        self.metadata = consumer.consumer_group_metadata()
        topics = {topic for topic, _ in added}
        for name in {"", *topics, *self._config.patterns_of(topics)}:
            self._context.problems.clear(name)
        names = ", ".join(f"{topic}[{number}]" for topic, number in sorted(added)) or "none"
        logger.info("input %s: group %s assigned partitions: %s", self._config.id, self._config.group_id, names)
        self._context.wake()

    def revoked(self, consumer: Consumer, taken: list[TopicPartition]) -> None:
        """Await what is in flight of them, and commit it, before another member may continue."""
        partitions = self._known(taken)
        if not self.is_closing:
            self.settle(partitions)
            self.commit(consumer, partitions)
        self._remove(partitions, is_rest_known=self._is_cooperative and not self.is_closing)

    def lost(self, consumer: Consumer, taken: list[TopicPartition]) -> None:
        """Drop partitions that may belong to another member already: nothing is awaited or committed."""
        partitions = self._known(taken)
        self._remove(partitions)
        if partitions:
            logger.warning(
                "input %s: group %s removed this member because it was not responding; records in flight of %d "
                "partitions are read again",
                self._config.id,
                self._config.group_id,
                len(partitions),
            )

    def lost_all(self) -> None:
        """Drop all partitions, because the consumer is closed."""
        self._remove(self.partitions.values())

    def settle(self, partitions: Sequence[Partition], serve: Callable[[], None] = lambda: None) -> None:
        """End the reading of these partitions, and wait until their records in flight are acknowledged, for
        `wait_close`. `serve` is called meanwhile."""
        for partition in partitions:
            partition.end_reading()
        clock = self._context.clock
        deadline = clock.monotonic() + min(self._config.wait_close, self._config.rebalance.timeout / 2)
        for partition in partitions:
            while not partition.is_settled and clock.monotonic() < deadline:
                partition.settled.wait(WAIT)
                partition.settled.clear()
                serve()
        late = [partition for partition in partitions if not partition.is_settled]
        if late:
            names = ", ".join(f"{partition.topic}[{partition.number}]" for partition in late)
            logger.warning(
                "input %s: records in flight of %s were not delivered within wait_close (%g s); they are read again "
                "from the committed offset",
                self._config.id,
                names,
                self._config.wait_close,
            )

    def commit(self, consumer: Consumer, partitions: Iterable[Partition]) -> None:
        """Commit acknowledged offsets, and wait for the response."""
        unsaved = self.uncommitted(partitions)
        if not unsaved:
            return
        try:
            consumer.commit(offsets=[item.target for item in unsaved], asynchronous=False)
        except KafkaException as error:
            self._context.problems.report(error.args[0])

    def uncommitted(self, partitions: Iterable[Partition]) -> list[UncommittedOffset]:
        if not self._context.commits:
            return []
        return [
            UncommittedOffset(partition, *unsaved)
            for partition in partitions
            if (unsaved := partition.unsaved()) is not None
        ]

    def out_of_range(self, consumer: Consumer, place: Place) -> None:
        """Decide where to continue a partition whose next offset Kafka does not have. Raises KafkaException."""
        partition = self.partitions.get(place)
        if partition is None or partition.is_ending:
            return
        first, end = bounds(consumer, place)
        if self._topics.is_another(partition.topic, self.partitions.values()):
            return
        wanted = partition.next
        # The first record was deleted before it was fetched, or the client reported twice what was settled already.
        if wanted is None or first <= wanted <= end:
            self._read_on(consumer, partition)
            return
        words = f"offset {wanted} of {place[0]}[{place[1]}] is no longer in Kafka, which has {first} to {end - 1}"
        lost = max(first - wanted, 0)
        policy = self._config.out_of_range
        if policy == "fail":
            partition.stopped = True
            way_out = "set out_of_range: earliest to continue at the first available record"
            self._context.problems.show(_name(partition), f"{words}: {lost} records are lost; {way_out}")
            return
        start = first if policy == "earliest" else end
        lost = max(start - partition.next_to_give, 0)  # pending records are read again, and are missing too
        self.records_lost += lost
        logger.error(
            "input %s: %s. Continuing at offset %d (out_of_range: %s); up to %d records are lost",
            self._config.id,
            words,
            start,
            policy,
            lost,
            extra=EACH,
        )
        self._replace(consumer, StartOffset(place, partition.kept.behind(start), start, committed=False))

    def look_at_topics(self) -> None:
        """Notice changes of the topics. Blocks, and raises KafkaException."""
        self._topics.check(self.assignment)

    def _replace(self, consumer: Consumer, start: StartOffset) -> None:
        """Restart a partition at another offset."""
        self.partitions[start.place].invalidate()
        partition = self._made(start)
        self._mark_once_ends(consumer, [partition])
        self.assignment = {**self.partitions, start.place: partition}
        self._read_on(consumer, partition)

    def _read_on(self, consumer: Consumer, partition: Partition) -> None:
        """Make the client read this partition from the next offset."""
        if self._is_cooperative:
            consumer.incremental_unassign([TopicPartition(*partition.place)])
            consumer.incremental_assign([_target(partition)])
        else:
            for other in self.partitions.values():
                other.paused = False
            consumer.assign([_target(other) for other in self.partitions.values() if not other.stopped])

    def _made(self, start: StartOffset) -> Partition:
        partition = self._context.make_partition(start)
        if start.committed:
            partition.committed, partition.saved_cuts = start.offset, frozenset(start.kept.cuts)
        return partition

    def _starts_of(self, consumer: Consumer, places: Sequence[Place]) -> list[StartOffset]:
        """Ask for the starts until there is a response: without it, nothing can be read. Raises KafkaException at
        last."""
        clock = self._context.clock
        deadline = clock.monotonic() + self._config.rebalance.timeout / 2
        is_asked_again = False
        while True:
            try:
                return self._starts.find(consumer, places)
            except KafkaException as error:
                # Only one of several brokers may have been asked: the next one may respond.
                if is_asked_again or error.args[0].code() not in AWAY:
                    self._context.problems.report(error.args[0])
                is_asked_again = True
                if self._is_stopping() or clock.monotonic() >= deadline:
                    raise
            clock.sleep(RETRY)

    def _commit_starts(self, consumer: Consumer, starts: Sequence[StartOffset]) -> None:
        offsets = [
            TopicPartition(*start.place, start.offset, start.kept.text) for start in starts if start.offset is not None
        ]
        if offsets:
            try:
                consumer.commit(offsets=offsets, asynchronous=False)
            except KafkaException as error:
                self._context.problems.report(error.args[0])

    def find_once_ends(self, consumer: Consumer) -> None:
        """Find the ends, with --once, of partitions that had no leader when they were assigned. Blocks, and raises
        KafkaException."""
        self._mark_once_ends(consumer, [other for other in self.partitions.values() if other.once_end is None])

    def _mark_once_ends(self, consumer: Consumer, partitions: Iterable[Partition]) -> None:
        for partition in partitions if self._context.once else ():
            try:
                first, partition.once_end = bounds(consumer, partition.place)
            except KafkaException as error:
                if error.args[0].code() != KafkaError.LEADER_NOT_AVAILABLE:
                    raise
                self._context.problems.note_awaited_leader(partition.place)
                continue  # it is not the end of all, and the others are read meanwhile
            if partition.once_end <= max(first, partition.next or 0):
                self._context.problems.note_received(partition.place)
                partition.stopped = True  # after that: the reading thread takes it for the end of all

    def _known(self, taken: Iterable[TopicPartition]) -> list[Partition]:
        places = ((partition.topic, partition.partition) for partition in taken)
        return [self.partitions[place] for place in places if place in self.partitions]

    def _remove(self, partitions: Iterable[Partition], *, is_rest_known: bool = False) -> None:
        """Remove partitions. `is_rest_known`: only the rest is to be read, even if that is nothing. Else the group is
        about to assign partitions again, or another consumer is: with --once nothing left is not the end of all."""
        removed = set(partitions)
        for partition in removed:
            partition.end_reading()
            partition.is_lost = not partition.is_void  # else no other member can send what is in flight
            self._context.problems.forget(_name(partition))
        rest = {place: other for place, other in self.partitions.items() if other not in removed}
        self.assignment = rest if rest or is_rest_known else None


def _name(partition: Partition) -> str:
    return f"kafka topic {partition.topic}[{partition.number}]"


def _target(partition: Partition) -> TopicPartition:
    offset = partition.next if partition.next is not None else OFFSET_BEGINNING
    return TopicPartition(partition.topic, partition.number, offset)
