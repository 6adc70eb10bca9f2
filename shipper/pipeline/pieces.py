"""Splits batches into pieces, for processors that may enlarge events: gzip in base64 can expand a thousand times, so
one batch could take gigabytes, and minutes in which no signal is handled."""

from sys import getsizeof
from typing import Any

from log_shipper.shipper.event import Batch, Growth, Messages, resolve_after_all

# The maximum size of a piece, unless a single event may exceed it.
PIECE_BYTES = 8 * 1024**2


def split_batch(batch: Batch, growth: Growth) -> list[Batch]:
    """Return consecutive pieces of the batch, which divide its bytes and resolve it together."""
    starts = _starts(batch.messages, growth)
    if len(starts) < 2:
        return [batch]
    messages, pieces, offset = batch.messages, [], batch.messages.start
    resolves = resolve_after_all(batch.resolve, len(starts))
    for first, last, resolve in zip(starts, [*starts[1:], batch.events], resolves, strict=True):
        piece = batch.part(list(range(first, last)))
        # Interleaved messages may begin before the previous ones end.
        stop = max(offset, messages.offsets[last]) if last < batch.events else messages.end
        piece.messages.start, piece.messages.end = offset, stop
        piece.resolve, offset = resolve, stop
        pieces.append(piece)
    return pieces


def _starts(messages: Messages, growth: Growth) -> list[int]:
    """Return the index of the first event of each piece."""
    lengths = _lengths(messages)
    if growth.max_size(sum(lengths), len(lengths)) <= PIECE_BYTES:
        return [0]
    starts, raw = [0], 0
    for index, length in enumerate(lengths):
        raw += length
        if index > starts[-1] and growth.max_size(raw, index + 1 - starts[-1]) > PIECE_BYTES:
            starts.append(index)
            raw = length
    return starts


def _lengths(messages: Messages) -> list[int]:
    """Return the bytes of each event that may be enlarged. Raw lengths are not enough where offsets do not count bytes,
    as with journal entries or Kafka records."""
    lengths = [max(length, len(text)) for length, text in zip(messages.lengths, messages.texts, strict=True)]
    if messages.docs is None:
        return lengths
    return [
        max(length, len(text) + _characters(doc))
        for length, text, doc in zip(lengths, messages.texts, messages.docs, strict=True)
    ]


def _characters(value: Any) -> int:
    """Return the number of characters in the texts of a document."""
    match value:
        case str():
            return len(value)
        case dict():
            return sum(map(_characters, value.values()))
        case list() | tuple():
            return sum(map(_characters, value))
    return 0


def size_of(messages: Messages, limit: int) -> int:
    """Return the memory of texts and documents, in bytes; counting stops at `limit`."""
    size = 0
    values: list[Any] = [*messages.texts, *(messages.docs or ())]
    while values and size < limit:
        value = values.pop()
        size += getsizeof(value)
        if isinstance(value, dict):
            values += value
            values += value.values()
        elif isinstance(value, list | tuple):
            values += value
    return size
