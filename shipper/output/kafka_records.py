"""Makes Kafka records of events: the value with its key, headers and time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from confluent_kafka import KafkaError, KafkaException, Message

from log_shipper.shipper.event import Batch
from log_shipper.shipper.output.encode import Codec
from log_shipper.shipper.output.place_headers import Headers, PlaceHeaders

ONE_BY_ONE = ("headers", "timestamp")

Report = Callable[[KafkaError | None, Message], None]
# Returns the callback for the event with this index, or for all records of a call.
ReportOf = Callable[[int | None], Report]


class Producer(Protocol):
    """The used part of confluent_kafka.Producer; tests/fakes.py has a fake."""

    def produce_batch(
        self, topic: str, messages: list[dict[str, Any]], *, callback: Report, partition: int = ...
    ) -> int: ...

    def produce(self, topic: str, *, callback: Report, **record: Any) -> None:
        """`record`: value, key, headers, timestamp and partition, all but the first two optional."""

    def poll(self, timeout: float) -> int: ...

    def purge(self) -> None: ...

    def flush(self, timeout: float) -> int: ...


@dataclass(frozen=True, slots=True)
class RecordExtras:
    """The parts of records besides the value. `keys` returns the key of each event, by default the file id; `headers`
    are common to all records; `places` returns those of each event. `times`: the record has the event's time, not that
    of sending. `hashes` returns the hash that selects the partition of each record, None for a random one."""

    keys: Callable[[Batch], Sequence[str]] | None = None
    headers: Headers | None = None
    places: PlaceHeaders | None = None
    times: bool = False
    hashes: Callable[[Batch, Sequence[str]], Sequence[int | None]] | None = None


class RecordMaker:
    """Makes the same records each time from the same batch, so that a resent record is identical."""

    def __init__(self, codec: Codec, extras: RecordExtras | None = None) -> None:
        self._codec = codec
        self._extras = extras or RecordExtras()

    @property
    def sets_times(self) -> bool:
        return self._extras.times

    def records(self, batch: Batch, *, with_times: bool = True) -> list[dict[str, Any]]:
        """Return the record of each event, in order, with the names of `Producer.produce`: value, key, headers,
        timestamp, and as partition the hash that selects it. Without `with_times`, records have the time of sending,
        whatever is configured."""
        extras, values = self._extras, self._codec.encode(batch)
        if extras.keys is None:
            key = batch.source.file_id
            records: list[dict[str, Any]] = [{"value": value, "key": key} for value in values]
        else:
            records = [{"value": value, "key": key} for value, key in zip(values, extras.keys(batch), strict=True)]
        if extras.places is not None:
            for record, place in zip(records, extras.places(batch), strict=True):
                record["headers"] = place + extras.headers if extras.headers else place
        elif extras.headers:
            for record in records:
                record["headers"] = extras.headers
        if extras.hashes is not None:
            keys = [record["key"] for record in records]
            for record, hashed in zip(records, extras.hashes(batch, keys), strict=True):
                record["partition"] = hashed
        if extras.times and with_times:
            for record, milliseconds in zip(records, event_times(batch), strict=True):
                record["timestamp"] = milliseconds
        return records


def event_times(batch: Batch) -> list[int]:
    """Return the time of each event in milliseconds since 1970; 0, no time to the client, for earlier ones."""
    times = [max(int(batch.time * 1000), 0)] * batch.events
    for index, doc in enumerate(batch.messages.docs or ()):
        if "@timestamp" in doc:
            times[index] = max(round(datetime.fromisoformat(doc["@timestamp"]).timestamp() * 1000), 0)
    return times


def produce(
    producer: Producer, topic: str, records: list[dict[str, Any]], indices: Sequence[int], report_of: ReportOf
) -> int:
    """Hand the records of these events, at least one, to the client. Return how many it accepted; the others have their
    error as `_error`.

    With headers or times, each record has its own callback: the client's batch call silently drops headers and does not
    accept times.
    """
    if records[0].keys().isdisjoint(ONE_BY_ONE):
        if "partition" in records[0]:
            return _produce_to_partitions(producer, topic, records, report_of(None))
        return producer.produce_batch(topic, records, callback=report_of(None))
    taken = 0
    for index, record in zip(indices, records, strict=True):
        try:
            producer.produce(topic, callback=report_of(index), **record)
            taken += 1
        except BufferError:
            record["_error"] = KafkaError(KafkaError._QUEUE_FULL)
        except KafkaException as error:
            record["_error"] = error.args[0]
    return taken


def _produce_to_partitions(producer: Producer, topic: str, records: list[dict[str, Any]], report: Report) -> int:
    """Make one call per partition: the client's batch call ignores the partition of a record."""
    groups: dict[int, list[dict[str, Any]]] = {}
    for record in records:
        groups.setdefault(record["partition"], []).append(record)
    return sum(
        producer.produce_batch(topic, group, callback=report, partition=number) for number, group in groups.items()
    )
