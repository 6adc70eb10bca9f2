"""Find where partitions begin: at the group's offset, or without one at `initial_offset`.

Anything newer than the group is read from its first record, also by a group that began at the end: a partition that was
added, a topic that was re-created, or created after a member looked for it.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from confluent_kafka import KafkaError, KafkaException, TopicPartition

from log_shipper.shipper.inputs.kafka.client import Consumer, Topic, TopicLookup
from log_shipper.shipper.inputs.kafka.offset_metadata import OffsetMetadata
from log_shipper.shipper.inputs.kafka.options import InitialOffset
from log_shipper.shipper.inputs.kafka.partition import Place

TIMEOUT = 5.0  # seconds per request


@dataclass(frozen=True, slots=True)
class StartOffset:
    """The start of a partition. `kept`: the metadata that the group keeps beside the offset, or will keep. `offset`:
    None for the first record. `committed`: False if the group has no offset yet. `previous`: the group's offset, if it
    belongs to an earlier topic of this name."""

    place: Place
    kept: OffsetMetadata
    offset: int | None
    committed: bool = True
    previous: int | None = None


@dataclass(frozen=True, slots=True)
class StartOffsets:
    """The starts of partitions. `new_topics`: those known to be younger than the group."""

    initial: InitialOffset
    topic_lookup: TopicLookup
    new_topics: Collection[str]

    def find(self, consumer: Consumer, places: Sequence[Place]) -> list[StartOffset]:
        """Return where each partition begins. Blocks, and raises KafkaException."""
        if not places:
            return []
        topics = self.topic_lookup.look_up(sorted({topic for topic, _ in places}))
        deleted = [name for name, topic in topics.items() if not topic.exists]
        if deleted:  # a new topic of this name would be taken for it
            raise KafkaException(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART, f"{deleted[0]} was deleted"))
        starts = {}
        for place, offset, kept in _committed(consumer, places):
            starts[place] = _committed_start(place, topics[place[0]], offset, kept)
        new = [place for place in places if place not in starts]
        for place, initial, kept in self._initial(consumer, new, topics):
            starts[place] = StartOffset(place, kept, initial, committed=False)
        return [starts[place] for place in places]

    def _initial(
        self, consumer: Consumer, places: Sequence[Place], topics: Mapping[str, Topic]
    ) -> Iterator[tuple[Place, int | None, OffsetMetadata]]:
        # By number, and committed at once: records written from now on belong to the group, even if the partition goes
        # to another member before anything was delivered.
        by_time = self._by_time(consumer, places)
        before = self._partitions_before(consumer, places, topics) if self.initial == "latest" else {}
        for place in places:
            name, number = place
            kept = OffsetMetadata(topics[name].id, before.get(name, topics[name].partitions))
            if self.initial == "earliest":
                yield place, None, kept
            elif place in by_time:
                yield place, by_time[place], kept
            else:
                first, end = bounds(consumer, place)
                is_new = name in before and number >= before[name]
                yield place, first if is_new else end, kept

    def _by_time(self, consumer: Consumer, places: Sequence[Place]) -> dict[Place, int]:
        by_time: dict[Place, int] = {}
        if isinstance(self.initial, datetime) and places:
            moment = round(self.initial.timestamp() * 1000)
            asked = [TopicPartition(*place, moment) for place in places]
            for partition in consumer.offsets_for_times(asked, timeout=TIMEOUT):
                if partition.error is not None:
                    raise _failure(partition.error, (partition.topic, partition.partition))
                if partition.offset >= 0:
                    by_time[partition.topic, partition.partition] = partition.offset
        return by_time

    def _partitions_before(
        self, consumer: Consumer, places: Sequence[Place], topics: Mapping[str, Topic]
    ) -> dict[str, int]:
        """Return how many partitions these topics had when the group began to read them, as far as known."""
        names = {name for name, _ in places}
        before = dict.fromkeys(names.intersection(self.new_topics), 0)
        others = [(name, number) for name in sorted(names) for number in range(topics[name].partitions or 0)]
        made_again = set()
        for (name, _), _, kept in _committed(consumer, others):
            if _is_of_another(kept, topics[name]):
                made_again.add(name)
            elif kept.partitions is not None:
                before[name] = min(kept.partitions, before.get(name, kept.partitions))
        return dict.fromkeys(made_again, 0) | before


def _committed_start(place: Place, topic: Topic, offset: int, kept: OffsetMetadata) -> StartOffset:
    if _is_of_another(kept, topic):
        return StartOffset(place, OffsetMetadata(topic.id, 0), None, committed=False, previous=offset)
    if kept.partitions is None:
        kept = replace(kept, partitions=topic.partitions)
    return StartOffset(place, replace(kept, topic_id=topic.id), offset)


def _is_of_another(kept: OffsetMetadata, topic: Topic) -> bool:
    return bool(topic.id and kept.topic_id and kept.topic_id != topic.id)


def _committed(consumer: Consumer, places: Sequence[Place]) -> Iterator[tuple[Place, int, OffsetMetadata]]:
    """Yield the group's offsets of these partitions, with their metadata."""
    if not places:
        return
    try:
        committed = consumer.committed([TopicPartition(*place) for place in places], timeout=TIMEOUT)
    except KafkaException as error:
        if error.args[0].code() != KafkaError._TIMED_OUT:
            raise
        # The brokers have just responded. They give no offsets of an open transaction, and the client does not report
        # that.
        words = f"no response within {TIMEOUT:g} s"
        raise KafkaException(KafkaError(KafkaError.UNSTABLE_OFFSET_COMMIT, words)) from error
    for partition in committed:
        if partition.error is not None:
            raise KafkaException(partition.error)
        if partition.offset >= 0:
            kept = OffsetMetadata.read(partition.metadata, partition.offset)
            yield (partition.topic, partition.partition), partition.offset, kept


def bounds(consumer: Consumer, place: Place) -> tuple[int, int]:
    """Return the first offset of a partition, and the one after its last. Blocks, and raises KafkaException:
    LEADER_NOT_AVAILABLE without a leader."""
    try:
        answer = consumer.get_watermark_offsets(TopicPartition(*place), timeout=TIMEOUT)
    except KafkaException as error:
        raise _failure(error.args[0], place) from error
    if answer is None:
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
    return answer


def _failure(error: KafkaError, place: Place) -> KafkaException:
    """Return the exception for a partition that cannot be looked up. The client also reports a partition without a
    leader as unknown."""
    if error.code() in (KafkaError.LEADER_NOT_AVAILABLE, KafkaError._UNKNOWN_PARTITION):
        topic, number = place
        error = KafkaError(KafkaError.LEADER_NOT_AVAILABLE, f"{topic}[{number}]: {error.str()}")
    return KafkaException(error)
