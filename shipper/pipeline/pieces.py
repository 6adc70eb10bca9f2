"""Batches in pieces, for processors that may make much more of an event than it was: a line of base64 and gzip becomes
up to a thousand times as large, so one batch could take gigabytes, and minutes in which no signal is heard."""

from sys import getsizeof
from typing import Any

from shipper.event import Batch, Growth, Messages, together

# What processors may make of a piece, unless a single event may already become more.
PIECE_BYTES = 8 * 1024**2


def take_apart(batch: Batch, growth: Growth) -> list[Batch]:
    """Consecutive pieces of the batch, which have its bytes among them and resolve it together."""
    begins = _begins(batch.messages, growth)
    if len(begins) < 2:
        return [batch]
    messages, pieces, start = batch.messages, [], batch.messages.start
    resolves = together(batch.resolve, len(begins))
    for begin, end, resolve in zip(begins, [*begins[1:], batch.events], resolves, strict=True):
        piece = batch.part(list(range(begin, end)))
        # Messages of which lines are entangled may begin before the ones in front of them end.
        stop = max(start, messages.offsets[end]) if end < batch.events else messages.end
        piece.messages.start, piece.messages.end = start, stop
        piece.resolve, start = resolve, stop
        pieces.append(piece)
    return pieces


def _begins(messages: Messages, growth: Growth) -> list[int]:
    """Of each piece the index of its first event."""
    if growth.of(sum(messages.lengths), len(messages.texts)) <= PIECE_BYTES:
        return [0]
    begins, raw = [0], 0
    for index, length in enumerate(messages.lengths):
        raw += length
        if index > begins[-1] and growth.of(raw, index + 1 - begins[-1]) > PIECE_BYTES:
            begins.append(index)
            raw = length
    return begins


def size_of(messages: Messages, enough: int) -> int:
    """The memory that texts and documents take; the exact number does not matter once it is `enough`."""
    size = 0
    values: list[Any] = [*messages.texts, *(messages.docs or ())]
    while values and size < enough:
        value = values.pop()
        size += getsizeof(value)
        if isinstance(value, dict):
            values += value
            values += value.values()
        elif isinstance(value, list | tuple):
            values += value
    return size
