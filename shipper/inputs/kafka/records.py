"""Turn Kafka records into messages: the innermost reader of a partition."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import methodcaller
from typing import Any

from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, Message

from log_shipper.shipper.event import Doc, Messages
from log_shipper.shipper.formats.record import timestamp
from log_shipper.shipper.inputs.kafka.partition import Block, Place
from log_shipper.shipper.reader.limit import cut_texts

_offset = methodcaller("offset")
LATEST = 253_402_300_799_999  # the last millisecond of the year 9999: a producer may send any time


class RecordReader:
    """The messages of a block, in runs that end at cuts. Offsets are Kafka's, and each message is of length 1."""

    pending_since: float | None = None

    def __init__(self, place: Place, max_bytes: int) -> None:
        self._topic, self._number = place
        self._max_bytes = max_bytes
        self._pieces: Iterator[_Piece] = iter(())

    def load(self, start: int, block: Block, cuts: Sequence[int] = ()) -> None:
        """Take the next block. `start`: the end of the previous one. `cuts`: where messages must end, ascending."""
        self._pieces = _pieces(start, block, cuts)

    def next(self) -> Messages | None:
        piece = next(self._pieces, None)
        if piece is None:
            return None
        texts, offsets, docs = columns(piece.records, self._topic, self._number)
        messages = Messages(piece.start, piece.end, texts, offsets, [1] * len(offsets), cut=piece.cut, docs=docs)
        cut_texts(messages, self._max_bytes)
        return messages

    def finish(self) -> Messages | None:
        return None


@dataclass(frozen=True, slots=True)
class _Piece:
    records: Sequence[Message]
    start: int
    end: int
    cut: bool


def _pieces(start: int, block: Block, cuts: Sequence[int]) -> Iterator[_Piece]:
    """Yield a block in pieces that end at the cuts, and at its end."""
    records = block.records
    for cut in cuts:
        if start < cut <= block.end:
            last = bisect_left(records, cut, key=_offset)
            yield _Piece(records[:last], start, cut, cut=True)
            records, start = records[last:], cut
    if start < block.end or records or not cuts:
        yield _Piece(records, start, block.end, cut=False)


def columns(records: Sequence[Message], topic: str, number: int) -> tuple[list[str], list[int], list[Doc]]:
    """Return the texts, the offsets and the other fields of records, as Filebeat's: `@timestamp` is the record's, and
    `kafka` its place. A record without a value (a tombstone) has no text."""
    texts: list[str] = []
    offsets: list[int] = []
    docs: list[Doc] = []
    last_time, last_text = -1, ""
    for record in records:
        value, key, offset = record.value(), record.key(), record.offset()
        headers: Any = record.headers()
        assert offset is not None, "a record has one"
        texts.append(value.decode("utf-8", "replace") if value else "")
        offsets.append(offset)
        kafka: Doc = {
            "topic": topic,
            "partition": number,
            "offset": offset,
            "key": key.decode("utf-8", "replace") if key else "",
            "headers": _headers(headers) if headers else [],
        }
        kind, milliseconds = record.timestamp()
        if kind == TIMESTAMP_NOT_AVAILABLE or milliseconds < 0:
            docs.append({"kafka": kafka})
            continue
        if milliseconds != last_time:
            last_time, last_text = milliseconds, _time(milliseconds)
        docs.append({"@timestamp": last_text, "kafka": kafka})
    return texts, offsets, docs


def size_beside(record: Message) -> int:
    """Return the bytes of a record's key and headers."""
    key = record.key()
    size = len(key) if key else 0
    headers: Any = record.headers() or ()
    for name, value in headers:
        size += len(name) + (len(value) if value else 0)
    return size


def _headers(headers: Sequence[tuple[str, Any]]) -> list[str]:
    """Return headers in Filebeat's searchable form: a colon in a name would end it."""
    return [f"{name.replace(':', '_')}: {_text(value)}" for name, value in headers]


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value or "")


def _time(milliseconds: int) -> str:
    return timestamp((min(milliseconds, LATEST) + 0.5) / 1000)  # half of one: the quotient is not exact
