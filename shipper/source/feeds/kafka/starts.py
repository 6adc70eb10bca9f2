"""Where partitions begin: at the group's offset, and where it has none, at `initial_offset`; at the first record where
the group's offset is one of a former topic of that name."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from confluent_kafka import KafkaError, KafkaException, TopicPartition

from config.shipper.feeds.kafka import InitialOffset
from shipper.source.feeds.kafka.client import Consumer, TopicIds
from shipper.source.feeds.kafka.offset_metadata import OffsetMetadata
from shipper.source.feeds.kafka.partition import Place

TIMEOUT = 5.0  # seconds of a request


@dataclass(frozen=True, slots=True)
class Start:
    """`offset`: None for the first record that there is. `committed`: False if the group has no offset yet. `cuts`: as
    a partition has them. `previous`: the group's offset, if that is of a topic that had this name before."""

    place: Place
    topic_id: str
    offset: int | None
    committed: bool = True
    cuts: tuple[int, ...] = ()
    previous: int | None = None


@dataclass(frozen=True, slots=True)
class Starts:
    initial: InitialOffset
    topic_ids: TopicIds

    def of(self, consumer: Consumer, places: Sequence[Place]) -> list[Start]:
        """Return where each partition begins. Blocks, and raises KafkaException."""
        if not places:
            return []
        ids = self.topic_ids.of(sorted({topic for topic, _ in places}))
        starts = {}
        for partition in _committed(consumer, places):
            if partition.error is not None:
                raise KafkaException(partition.error)
            if partition.offset >= 0:
                place = partition.topic, partition.partition
                starts[place] = _committed_start(place, ids[partition.topic], partition)
        new = [place for place in places if place not in starts]
        initial = dict(self._initial(consumer, new))
        return [
            starts.get(place) or Start(place, ids[place[0]], initial.get(place), committed=False) for place in places
        ]

    def _initial(self, consumer: Consumer, places: Sequence[Place]) -> Iterator[tuple[Place, int]]:
        if self.initial == "earliest" or not places:
            return
        # By numbers, and they are committed at once: what is written from now on belongs to the group, also if the
        # partition goes to another member before anything of it was delivered.
        by_time: dict[Place, int] = {}
        if isinstance(self.initial, datetime):
            moment = round(self.initial.timestamp() * 1000)
            asked = [TopicPartition(*place, moment) for place in places]
            for partition in consumer.offsets_for_times(asked, timeout=TIMEOUT):
                if partition.error is not None:
                    raise KafkaException(partition.error)
                if partition.offset >= 0:
                    by_time[partition.topic, partition.partition] = partition.offset
        for place in places:
            yield place, by_time[place] if place in by_time else bounds(consumer, place)[1]


def _committed_start(place: Place, topic_id: str, committed: TopicPartition) -> Start:
    metadata = OffsetMetadata.read(committed.metadata, committed.offset)
    if topic_id and metadata.topic_id and metadata.topic_id != topic_id:
        return Start(place, topic_id, None, committed=False, previous=committed.offset)
    return Start(place, topic_id, committed.offset, cuts=metadata.cuts)


def _committed(consumer: Consumer, places: Sequence[Place]) -> list[TopicPartition]:
    try:
        return consumer.committed([TopicPartition(*place) for place in places], timeout=TIMEOUT)
    except KafkaException as error:
        if error.args[0].code() != KafkaError._TIMED_OUT:
            raise
        # The brokers have just answered. They give no offsets of an open transaction, and the client does not say so.
        words = f"no answer within {TIMEOUT:g} s"
        raise KafkaException(KafkaError(KafkaError.UNSTABLE_OFFSET_COMMIT, words)) from error


def bounds(consumer: Consumer, place: Place) -> tuple[int, int]:
    """Return the first offset of a partition, and the one behind its last. Blocks, and raises KafkaException."""
    answer = consumer.get_watermark_offsets(TopicPartition(*place), timeout=TIMEOUT)
    if answer is None:
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
    return answer
