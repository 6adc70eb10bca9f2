"""Reads ranges of offsets from Kafka: the part of a batch that one task lands.

Not every offset of a range has a record: transaction markers, records of aborted transactions and compaction leave
gaps. The consumer reports the end of a partition (for readers of committed records: the last stable offset), which is
at or after the end of every planned range. If it is before that, either a new leader is still catching up, or the topic
was truncated or re-created: the reader waits, and then raises an error.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.kafka.failures import translate
from log_shipper.spark_sink.kafka.lost import LostRange
from log_shipper.spark_sink.kafka.offset_ranges import OffsetRange

RECORDS = 10_000  # maximum per call
# A call waits this long for all its records if a range ends with a gap, as after each transaction.
WAIT_SECONDS = 0.05
PATIENCE_SECONDS = 60.0  # without a record or the end of the partition
DOUBT_SECONDS = 3.0  # without either, before the first check that the topic exists, and between checks

_UNKNOWN = (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION)
_WAY_OUT = (
    "to skip these records, set lost_offsets: continue, which records the missing offsets in the dead-letter table. "
    "To land rows again that a table lost and Kafka still has, run spark-sink repair --from-kafka"
)


@dataclass(slots=True)
class RangeReader:
    """Reads one range after the other with one consumer, which must have `enable.partition.eof`, and `error` as its
    `auto.offset.reset`. `may_lose`: offsets that Kafka has deleted are skipped and noted in `lost`, else they are an
    error."""

    consumer: Consumer
    may_lose: bool = False
    patience: float = PATIENCE_SECONDS
    clock: Callable[[], float] = time.monotonic
    lost: list[LostRange] = field(default_factory=list, init=False)
    _next: int = field(default=0, init=False)  # the next offset to be read
    _last_answer: float = field(default=0.0, init=False)  # time of the last record or event
    _last_look: float = field(default=0.0, init=False)  # time of the last check that the topic exists
    _ended_at: int | None = field(default=None, init=False)  # the end of the partition that Kafka has reported

    def read(self, offsets: OffsetRange) -> Iterator[list[Message]]:
        """Yield the records of the range, in order. Blocks. Raises SinkError."""
        self._next = offsets.start
        while self._next < offsets.end:
            self._last_answer, self._ended_at = self.clock(), None
            self.consumer.assign([TopicPartition(*offsets.place, self._next)])
            try:
                yield from self._until_end(offsets)
            except _Deleted:
                self._skip(offsets, self._first_left(offsets))
            except _Missing:
                self._skip(offsets, offsets.end)
            finally:
                self.consumer.unassign()

    def _until_end(self, offsets: OffsetRange) -> Iterator[list[Message]]:
        while self._next < offsets.end:
            messages = self.consumer.consume(min(RECORDS, offsets.end - self._next), WAIT_SECONDS)
            records = [message for message in messages if message.error() is None]
            if records:
                self._last_answer, self._next = self.clock(), _offset(records[-1]) + 1
                if self._next > offsets.end:
                    records = [message for message in records if _offset(message) < offsets.end]
                if records:
                    yield records
            if len(records) < len(messages):
                self._look_at_events(offsets, messages)
            if not messages:
                self._doubt(offsets)

    def _look_at_events(self, offsets: OffsetRange, messages: list[Message]) -> None:
        for message in messages:
            error = message.error()
            if error is None:
                continue
            if error.code() == KafkaError._PARTITION_EOF:
                self._ended_at = _offset(message)
                if self._ended_at >= offsets.end:
                    self._next = offsets.end  # no record lies between the last one and this end
            elif error.code() == KafkaError._AUTO_OFFSET_RESET:
                raise _Deleted
            elif error.code() in _UNKNOWN:
                raise self._missing(offsets)
            elif error.fatal() or not _passes(error):
                raise translate(error, f"cannot read {offsets}")

    def _first_left(self, offsets: OffsetRange) -> int:
        """Return the first offset of the range that Kafka still has, the range's end if there is none."""
        try:
            first, end = self.consumer.get_watermark_offsets(TopicPartition(*offsets.place), timeout=self.patience)
        except KafkaException as error:
            raise translate(error.args[0], f"cannot read {offsets}") from error
        if not self.may_lose:
            raise SinkError(
                f"cannot read {offsets}: records were deleted in Kafka before they were read (retention, or a topic "
                f"that was re-created), and offsets {first} to {end - 1} remain; {_WAY_OUT}"
            )
        return min(first, offsets.end) if first > self._next else offsets.end

    def _skip(self, offsets: OffsetRange, until: int) -> None:
        self.lost.append(LostRange(*offsets.place, self._next, until - 1))
        self._next = until

    def _doubt(self, offsets: OffsetRange) -> None:
        """Check if waiting makes sense: a consumer reports a missing topic late, or not at all."""
        now = self.clock()
        if self._ended_at is None and now - max(self._last_answer, self._last_look) > DOUBT_SECONDS:
            self._last_look = now
            if not self._exists(offsets):
                raise self._missing(offsets)
        if now - self._last_answer > self.patience:
            raise self._silence(offsets)

    def _exists(self, offsets: OffsetRange) -> bool:
        """Return True if Kafka has the partition, or is not responding."""
        try:
            topic = self.consumer.list_topics(offsets.topic, timeout=DOUBT_SECONDS).topics[offsets.topic]
        except KafkaException:
            return True
        return topic.error is None and offsets.partition in topic.partitions

    def _missing(self, offsets: OffsetRange) -> Exception:
        if self.may_lose:
            return _Missing()
        return SinkError(f"cannot read {offsets}: the topic does not exist any more; {_WAY_OUT}")

    def _silence(self, offsets: OffsetRange) -> SinkError:
        if self._ended_at is None:
            return SinkError(f"cannot read {offsets}: no response from Kafka for {self.patience:.0f} s")
        return SinkError(
            f"cannot read {offsets}: the partition now ends at {self._ended_at}, before the end of the planned batch: "
            "the topic was re-created, or its leader lost records. Move the checkpoint (checkpoint.path) away; a new "
            "one resumes where the marks end"
        )


class _Deleted(Exception):
    """Raised if Kafka has deleted the next offset to read."""


class _Missing(Exception):
    """Raised if the topic was deleted, and lost records are allowed."""


def _offset(message: Message) -> int:
    offset = message.offset()
    assert offset is not None  # set for records and for the end of a partition
    return offset


def _passes(error: KafkaError) -> bool:
    """Return True for an error from which the client recovers by itself."""
    return bool(error.retriable()) or error.code() in (
        KafkaError._ALL_BROKERS_DOWN,
        KafkaError._TRANSPORT,
        KafkaError._RESOLVE,
        KafkaError._MAX_POLL_EXCEEDED,
        # The group is not used: partitions are assigned, and no offsets committed.
        KafkaError.GROUP_AUTHORIZATION_FAILED,
    )
