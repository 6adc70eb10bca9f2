"""Events -> the records that the Kafka client takes: the value with what travels beside it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from confluent_kafka import KafkaError, KafkaException, Message

from shipper.event import Batch
from shipper.output.encode import Codec
from shipper.output.place_headers import Headers, PlaceHeaders

Report = Callable[[KafkaError | None, Message], None]


class Producer(Protocol):
    """The part of confluent_kafka.Producer that is used; tests/fakes.py has a fake."""

    def produce_batch(self, topic: str, messages: list[dict[str, Any]], *, callback: Report) -> int: ...

    def produce(self, topic: str, *, value: str, key: str, headers: Headers, callback: Report) -> None: ...

    def poll(self, timeout: float) -> int: ...

    def purge(self) -> None: ...

    def flush(self, timeout: float) -> int: ...


@dataclass(frozen=True, slots=True)
class Beside:
    """What travels beside the value. `keys` gives the key of each event, without it all have the file id; `headers` are
    the same for all records; `places` gives those of each event."""

    keys: Callable[[Batch], Sequence[str]] | None = None
    headers: Headers | None = None
    places: PlaceHeaders | None = None


class RecordMaker:
    """Makes the same records each time it gets the same batch, so that what is sent again is what was sent before."""

    def __init__(self, codec: Codec, beside: Beside | None = None) -> None:
        self._codec = codec
        self._beside = beside or Beside()

    def records(self, batch: Batch) -> list[dict[str, Any]]:
        """Return the record of each event, in order, with the names of `Producer.produce`: value, key and headers."""
        beside, values = self._beside, self._codec.encode(batch)
        if beside.keys is None:
            key = batch.source.file_id
            records: list[dict[str, Any]] = [{"value": value, "key": key} for value in values]
        else:
            records = [{"value": value, "key": key} for value, key in zip(values, beside.keys(batch), strict=True)]
        if beside.places is not None:
            for record, place in zip(records, beside.places(batch), strict=True):
                record["headers"] = place + beside.headers if beside.headers else place
        elif beside.headers:
            for record in records:
                record["headers"] = beside.headers
        return records


def produce(
    producer: Producer, topic: str, records: list[dict[str, Any]], report: Report, report_of: Callable[[int], Report]
) -> int:
    """Hand records, at least one, to the client, and return how many it took: the others have their error as `_error`.

    `report` is called once with the outcome of each; or, where records have headers, what `report_of` gives for the
    place of the record. The client's call for a batch would leave out the headers without a word.
    """
    if "headers" not in records[0]:
        return producer.produce_batch(topic, records, callback=report)
    taken = 0
    for place, record in enumerate(records):
        try:
            producer.produce(topic, callback=report_of(place), **record)
            taken += 1
        except BufferError:
            record["_error"] = KafkaError(KafkaError._QUEUE_FULL)
        except KafkaException as error:
            record["_error"] = error.args[0]
    return taken
