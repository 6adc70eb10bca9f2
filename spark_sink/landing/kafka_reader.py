"""Reads records of Kafka in a task.

The process keeps its consumer for the next task: connecting takes longer than reading a small share.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import overload

from confluent_kafka import Consumer, Message

from log_shipper.runtime.kafka.headers import take_out_unreadable_headers
from log_shipper.spark_sink.kafka.client import ClientOptions, consumer
from log_shipper.spark_sink.kafka.lost import LostRange
from log_shipper.spark_sink.kafka.offset_ranges import OffsetRange
from log_shipper.spark_sink.kafka.range_reader import RangeReader
from log_shipper.spark_sink.rows.batches import KafkaRecords

_kept: dict[ClientOptions, Consumer] = {}  # one at most


class KafkaReader:
    """Reads ranges with the consumer of this process."""

    def __init__(self, reader: RangeReader) -> None:
        self._reader = reader

    @property
    def lost(self) -> Sequence[LostRange]:
        return self._reader.lost

    def read(self, offsets: OffsetRange) -> Iterator[KafkaRecords]:
        for messages in self._reader.read(offsets):
            yield records_of(offsets, messages)


@dataclass(frozen=True, slots=True)
class OpenReader:
    """Opens a reader in the process of a task. `may_lose`: offsets that Kafka has deleted are skipped."""

    options: ClientOptions
    may_lose: bool

    def __call__(self) -> KafkaReader:
        if self.options not in _kept:
            for old in _kept.values():
                old.close()
            _kept.clear()
            _kept[self.options] = consumer(self.options)
        return KafkaReader(RangeReader(_kept[self.options], self.may_lose))


def records_of(offsets: OffsetRange, messages: Sequence[Message]) -> KafkaRecords:
    """Return the messages of one partition as columns; headers that cannot be read are left out."""
    for message in messages:
        take_out_unreadable_headers(message)
    return KafkaRecords(
        *offsets.place,
        [message.offset() or 0 for message in messages],
        [message.timestamp()[1] for message in messages],
        _Keys(messages),
        [message.value() for message in messages],
        [message.headers() or None for message in messages],  # type: ignore[misc]  # the stub also allows a dict and texts, as a producer sends
    )


class _Keys(Sequence[bytes | None]):
    """The keys of messages, read from librdkafka on access: only those of bad records are needed."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._messages = messages

    def __len__(self) -> int:
        return len(self._messages)

    @overload
    def __getitem__(self, index: int) -> bytes | None: ...

    @overload
    def __getitem__(self, index: slice) -> "_Keys": ...

    def __getitem__(self, index: int | slice) -> "bytes | _Keys | None":
        if isinstance(index, slice):
            return _Keys(self._messages[index])
        return self._messages[index].key()
