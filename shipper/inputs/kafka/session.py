"""Run the session of one consumer: hand over polled records, and commit delivered ones."""

import logging
from collections.abc import Callable, Iterable, Sequence
from operator import methodcaller

from confluent_kafka import KafkaError, KafkaException, Message, TopicPartition

from log_shipper.runtime.kafka.headers import take_out_unreadable_headers
from log_shipper.runtime.logs.throttle import Throttle
from log_shipper.shipper.backoff import Backoff
from log_shipper.shipper.inputs.kafka.client import MIB, Clients, Consumer, raised_by_poll
from log_shipper.shipper.inputs.kafka.member_context import MemberContext
from log_shipper.shipper.inputs.kafka.partition import RECORD_OVERHEAD, Block, Partition, Place
from log_shipper.shipper.inputs.kafka.problems import REBALANCING, UNKNOWN
from log_shipper.shipper.inputs.kafka.rebalances import Rebalances, UncommittedOffset
from log_shipper.shipper.inputs.kafka.records import size_beside
from log_shipper.shipper.inputs.kafka.room import ReceiveRoom
from log_shipper.shipper.inputs.kafka.starts import StartOffsets
from log_shipper.shipper.librdkafka import is_fatal

logger = logging.getLogger(__name__)

BLOCK_BYTES = MIB // 4
BLOCK_RECORDS = 2000
POLL = 0.25  # seconds to wait for the first record of a block
GATHER = 0.003  # and for the others: each record of a trickle would wake two threads
COMMIT_INTERVAL = 0.25
LAG_INTERVAL = 1.0
TOPICS_INTERVAL = 5.0  # a re-created topic is read under the old name until then
# Without a response, topics are looked up less and less often: nothing is read meanwhile, and the consumer may well
# reach brokers that are not among `hosts`.
TOPICS_BACKOFF = Backoff(TOPICS_INTERVAL, 60.0)
ANY_TOPIC = "__consumer_offsets"  # needed by a group

_offset = methodcaller("offset")


class Session:
    """The session of a consumer. Used by the member's thread, except `has_room`."""

    def __init__(self, clients: Clients, context: MemberContext, is_stopping: Callable[[], bool]) -> None:
        """Make the clients. Raises StartError."""
        self._context = context
        self._problems = context.problems
        self._clock = context.clock
        self._committing: Sequence[UncommittedOffset] = ()
        self._is_commit_failing = False  # which is a problem whatever is read meanwhile
        self._due_commit = self._due_lag = self._due_topics = 0.0
        self._failed_looks = 0  # at the topics, in a row
        self._mean = 200.0  # bytes of a record
        self._unknown: frozenset[str] = frozenset()  # topics that do not exist
        self._unknown_before: frozenset[str] = frozenset()  # _unknown at the last look at topics
        self._throttle = Throttle(context.clock.monotonic)
        self.failure = ""  # why its consumer is unusable, and the action
        self._consumer: Consumer = clients.consumer(self._on_error, self._on_commit)
        self._room = ReceiveRoom(self._consumer, context.clock)
        self._topic_lookup = clients.topic_lookup()
        starts = StartOffsets(context.config.initial_offset, self._topic_lookup, context.new_topics)
        self.rebalances = Rebalances(context, starts, is_stopping)

    @property
    def is_over(self) -> bool:
        """Return True if another consumer must continue: this one has failed permanently, or is outdated."""
        return bool(self.failure) or self.rebalances.is_outdated

    @property
    def assignment(self) -> dict[Place, Partition] | None:
        """Return what there is to read; None while unknown. If none of the topics exists, that is nothing, and the
        group never assigns it. Any thread may call it."""
        assignment = self.rebalances.assignment
        return {} if assignment is None and self._unknown >= set(self._context.config.topics) else assignment

    def has_room(self) -> None:
        """Note that there is room again. Any thread may call it."""
        self._room.note_taken()

    def begin(self) -> None:
        rebalances = self.rebalances
        self._consumer.subscribe(
            list(self._context.config.topics),
            on_assign=raised_by_poll(rebalances.assigned),
            on_revoke=raised_by_poll(rebalances.revoked),
            on_lost=raised_by_poll(rebalances.lost),
        )

    def step(self) -> None:
        """Hand over the next records, commit what is due. Blocks for a moment. Raises KafkaException."""
        now = self._clock.monotonic()
        if self._room.is_awaited(self._partitions):
            self._room.wait()
        else:
            self._room.resume(self._partitions)
            self._receive()
        if now >= self._due_commit:
            self._due_commit = now + COMMIT_INTERVAL
            self._commit()
        if now >= self._due_lag:
            self._due_lag = now + LAG_INTERVAL
            self._update_ends()
        if now >= self._due_topics:
            self._failed_looks = 0 if self._look_at_topics() else self._failed_looks + 1
            self._due_topics = self._clock.monotonic() + TOPICS_BACKOFF.delay(self._failed_looks)

    def finish(self) -> None:
        """Wait for what is in flight, and commit it."""
        partitions = list(self._partitions)
        if partitions:
            self._consumer.pause([TopicPartition(*partition.place) for partition in partitions])
            self.rebalances.settle(partitions, self._serve)
            self.rebalances.commit(self._consumer, self._partitions)

    def close(self) -> None:
        """Leave the group."""
        self.rebalances.is_closing = True
        try:
            self._consumer.close()
        finally:
            self._topic_lookup.close()
        self.rebalances.lost_all()

    @property
    def _partitions(self) -> Iterable[Partition]:
        return self.rebalances.partitions.values()

    def _receive(self) -> None:
        first = self._consumer.poll(POLL)
        if first is None:
            return
        polled = self.rebalances.partitions.get(_place(first))
        count = max(min(BLOCK_RECORDS, int(BLOCK_BYTES / self._mean)), 1)
        messages = self._consumer.consume(count, GATHER)
        if first.error() is not None or self.rebalances.partitions.get(_place(first)) is polled:
            messages.insert(0, first)  # else a rebalance came in between: the record comes again, or to another member
        records: dict[Place, list[Message]] = {}
        events = []
        for message in messages:
            if message.error() is None:
                place = message.topic(), message.partition()  # no call of `_place` for each record
                group = records.get(place)  # type: ignore[arg-type]  # a record has a topic and a partition
                if group is None:
                    records[place] = [message]  # type: ignore[index]
                else:
                    group.append(message)
            else:
                events.append(message)
        for place, group in records.items():
            partition = self.rebalances.partitions.get(place)
            if partition is not None:
                self._give(partition, group)
        for message in events:
            self._look_at(message)
        if records and not self._is_commit_failing:
            self._problems.note_records({topic for topic, _ in records})
        self._context.wake()

    def _give(self, partition: Partition, records: Sequence[Message]) -> None:
        if partition.stopped:
            return
        is_last = partition.once_end is not None and _offset(records[-1]) + 1 >= partition.once_end
        self._give_wanted(partition, _wanted(partition, records))
        if is_last:
            self._problems.note_received(partition.place)
        partition.stopped = is_last  # after they were given: the reading thread takes it for the end of all

    def _give_wanted(self, partition: Partition, records: Sequence[Message]) -> None:
        if not records:
            return
        unreadable = list(filter(take_out_unreadable_headers, records))
        if unreadable:
            self._report_headers(partition, unreadable)
        size = sum(map(len, records)) + sum(map(size_beside, records))
        self._mean = 0.9 * self._mean + 0.1 * size / len(records)
        end = records[-1].offset() + 1  # type: ignore[operator]  # a record has an offset
        partition.next = end
        partition.end = max(partition.end, end)
        partition.at_end = False
        partition.add_block(Block(records, end, size, size + RECORD_OVERHEAD * len(records)))

    def _report_headers(self, partition: Partition, records: Sequence[Message]) -> None:
        if self._throttle.is_due():
            logger.warning(
                "input %s: record header name is not UTF-8: %s[%d] from offset %d; reading %d records without their "
                "headers. Correct the program that writes them (logged once a minute)",
                self._context.config.id,
                *partition.place,
                _offset(records[0]),
                len(records),
            )

    def _look_at(self, message: Message) -> None:
        error, place = message.error(), _place(message)
        assert error is not None, "a record has none"
        code = error.code()
        if code == KafkaError._PARTITION_EOF:
            self._at_end(self.rebalances.partitions.get(place), message.offset())
        elif code == KafkaError._AUTO_OFFSET_RESET:
            self.rebalances.out_of_range(self._consumer, place)
        elif is_fatal(error):
            self._fail(error)
        elif code not in REBALANCING:
            self._problems.report(error, place[0])
            if code in UNKNOWN:
                self._unknown |= {place[0]}
                self._context.new_topics.add(place[0])
                self._due_topics = 0.0

    def _at_end(self, partition: Partition | None, offset: int | None) -> None:
        """Note that a partition was received to its end, including the transaction markers after its last record."""
        if partition is None or offset is None:
            return
        if not self._is_commit_failing:
            self._problems.clear(partition.topic)
        partition.end = max(partition.end, offset)
        if partition.next is None or offset > partition.next:
            partition.next = offset
            partition.add_block(Block((), offset, 0, 0))
        if partition.once_end is not None:
            self._problems.note_received(partition.place)
        partition.at_end = offset >= partition.next  # after that was given, as with `stopped`; records may follow it
        partition.stopped |= partition.once_end is not None

    def _commit(self) -> None:
        """Commit delivered offsets, one request at a time: a repeated one must not overtake a newer one."""
        if self._committing:
            return
        self._committing = self.rebalances.uncommitted(self._partitions)
        if self._committing:
            try:
                self._consumer.commit(offsets=[item.target for item in self._committing], asynchronous=True)
            except KafkaException as error:
                self._on_commit(error.args[0], [])
        else:
            self._is_commit_failing = False  # the failed ones were taken from this member

    def _on_commit(self, error: KafkaError | None, offsets: list[TopicPartition]) -> None:
        committing, self._committing = self._committing, ()
        self._is_commit_failing = error is not None and error.code() not in REBALANCING
        if error is not None:
            if self._is_commit_failing:
                self._problems.report(error)
            return  # the rest is committed with the next one
        refused = {(offset.topic, offset.partition): offset.error for offset in offsets if offset.error is not None}
        for place, reason in refused.items():
            if reason.code() not in REBALANCING:
                self._problems.report(reason, place[0])
        for item in committing:
            if item.partition.place not in refused:
                item.partition.committed, item.partition.saved_cuts = item.position, frozenset(item.kept.cuts)
        if not refused:
            self._problems.clear()
        if any(item.kept.cuts for item in committing):
            self._context.wake()  # parked messages may be given now

    def _on_error(self, error: KafkaError) -> None:
        if is_fatal(error):
            self._fail(error)
        else:
            self._problems.connection_failed(error)

    def _fail(self, error: KafkaError) -> None:
        self._problems.report(error)
        self.failure = self._problems.words(error)

    def _look_at_topics(self) -> bool:
        """Look at the topics. Return False without a response."""
        try:
            self._look_for_unknown()
            self._look_for_brokers()
            self.rebalances.look_at_topics()
            self.rebalances.find_once_ends(self._consumer)
        except KafkaException as error:
            logger.debug("cannot look up topics: %s", error.args[0].str())
            return False
        return True

    def _look_for_unknown(self) -> None:
        """Look for topics that did not exist: their partitions may be assigned to other members only. Not at once:
        another broker may not know yet that a topic was deleted."""
        names = sorted(name for name in self._unknown & self._unknown_before if not name.startswith("^"))
        self._unknown_before = self._unknown
        ids = self._topic_lookup.look_up(names) if names else {}
        for name in (name for name, topic in ids.items() if topic.id):
            self._unknown -= {name}
            self._problems.clear(name)

    def _look_for_brokers(self) -> None:
        """Check whether brokers respond again if no look at topics shows it: the group may have nothing to read for
        this member, or topics without ids."""
        if self._problems.now and not any(partition.topic_id for partition in self._partitions):
            self._topic_lookup.look_up([ANY_TOPIC])
            self._problems.note_response()

    def _update_ends(self) -> None:
        """Note the ends of partitions, as last known to the client; no request is made."""
        for partition in self._partitions:
            known = self._consumer.get_watermark_offsets(TopicPartition(*partition.place), cached=True)
            if known is not None and known[1] > partition.end:
                partition.end = known[1]

    def _serve(self) -> None:
        """Answer rebalances and heartbeats while nothing is handed over."""
        message = self._consumer.poll(0)
        error = message.error() if message is not None else None
        if error is not None and is_fatal(error):
            self._fail(error)


def _place(message: Message) -> Place:
    """Return the place of a record; an error may have none."""
    return message.topic() or "", message.partition() or 0


def _wanted(partition: Partition, records: Sequence[Message]) -> Sequence[Message]:
    """Return the records without earlier ones and, with `--once`, without those written later."""
    first, end = partition.next, partition.once_end
    if first is not None and records[0].offset() < first:  # type: ignore[operator]  # a record has an offset
        records = [record for record in records if _offset(record) >= first]
    if end is not None and records and records[-1].offset() >= end:  # type: ignore[operator]
        records = [record for record in records if _offset(record) < end]
    return records
