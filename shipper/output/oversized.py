"""Handles events whose payload exceeds the limit, where they are not cut: they are rejected, or split into numbered
parts."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from log_shipper.shipper.event import SPLIT, Batch, Doc, Messages, add_flag
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.output.encode import Codec
from log_shipper.shipper.output.format_codec import nothing_reserved

# The maximum bytes of a payload per byte of text, besides members shared by all events of the file; events with their
# own members are all measured.
MAX_GROWTH = 12
SHARED_BYTES = 64 * 1024
MAX_ATTEMPTS = 16  # to split an event, each into half as many parts more


@dataclass(frozen=True, slots=True)
class PayloadRoom:
    """The room for a payload: `max_bytes`, including the bytes `reserved` for its headers. `whole` encodes payloads of
    any size."""

    whole: Codec
    max_bytes: int
    reserved: Callable[[Batch], int] = nothing_reserved

    def bytes_for(self, batch: Batch) -> int:
        return max(self.max_bytes - self.reserved(batch), 1)

    def sizes_above(self, batch: Batch, refused: Mapping[int, str]) -> dict[int, int]:
        """Return the bytes of each oversized payload, by event index."""
        messages, most = batch.messages, self.bytes_for(batch)
        longest = (most - SHARED_BYTES) // MAX_GROWTH
        if messages.docs is None and not batch.grown and max(map(len, messages.texts), default=0) <= longest:
            return {}
        indices = [index for index in range(batch.events) if index not in refused]
        payloads = self.whole.encode(batch.part(indices))
        sizes = {index: len(payload.encode()) for index, payload in zip(indices, payloads, strict=True)}
        return {index: size for index, size in sizes.items() if size > most}


class RefusingCodec:
    """Rejects events with oversized payloads."""

    def __init__(self, room: PayloadRoom) -> None:
        self._whole = room.whole
        self._room = room

    def refused(self, batch: Batch) -> Mapping[int, str]:
        refused = self._whole.refused(batch)
        reason = "record too large: {} bytes; output.kafka.max_message_bytes has room for {}"
        sizes = self._room.sizes_above(batch, refused)
        return {**refused, **{index: reason.format(size, self._room.bytes_for(batch)) for index, size in sizes.items()}}

    def encode(self, batch: Batch) -> list[str]:
        return self._whole.encode(batch)


class Splitter:
    """Replaces oversized events by flagged parts of their message, numbered from 1 in `log.part` with their count.

    The parts divide the raw bytes of the event, so that each has its own offset. An event whose message is not a text,
    or whose other members are too large, is not changed.
    """

    def __init__(self, room: PayloadRoom, metrics: Metrics) -> None:
        self._room = room
        self._metrics = metrics

    def __call__(self, batch: Batch) -> None:
        sizes = self._room.sizes_above(batch, self._room.whole.refused(batch))
        if not sizes:
            return
        whole = batch.messages
        split = Messages(whole.start, whole.end, cut=whole.cut, docs=[], interleaved=whole.interleaved)
        for index in range(batch.events):
            event = batch.part([index])
            parts = self._parts(event, sizes[index]) if index in sizes else None
            self._metrics.events_split += parts is not None
            _append(split, parts or event.messages)
        batch.messages = split

    def _parts(self, event: Batch, size: int) -> Messages | None:
        (text,), (length,) = event.messages.texts, event.messages.lengths
        count = size // self._room.bytes_for(event) + 1
        for _ in range(MAX_ATTEMPTS):
            if count > min(len(text), length):
                return None  # each part needs its own byte
            attempt = event.part([0])
            attempt.messages = _split(event.messages, count)
            if not self._room.sizes_above(attempt, {}):
                return attempt.messages
            count += count // 2 + 1
        return None


def _split(event: Messages, count: int) -> Messages:
    (text,), (offset,), (length,) = event.texts, event.offsets, event.lengths
    own: Doc = event.docs[0] if event.docs else {}
    parts = Messages(event.start, event.end, docs=[])
    for number in range(count):
        start, end = offset + length * number // count, offset + length * (number + 1) // count
        piece = text[len(text) * number // count : len(text) * (number + 1) // count]
        parts.append(piece, start, end - start, add_flag(event.flags.get(0, ()), SPLIT))
        log = {**own.get("log", {}), "part": {"number": number + 1, "count": count}}
        parts.documents()[-1] |= {**own, "log": log}
    return parts


def _append(messages: Messages, more: Messages) -> None:
    for index, text in enumerate(more.texts):
        messages.append(text, more.offsets[index], more.lengths[index], more.flags.get(index, ()))
        if more.docs is not None:
            messages.documents()[-1] |= more.docs[index]
