"""Encodes events as texts: `codec.format`."""

from collections.abc import Callable, Mapping

from log_shipper.shipper.event import TRUNCATED, Batch, add_flag
from log_shipper.shipper.formats.text import cut_text

# The text of each event, and the reasons of those without one by index.
Texts = Callable[[Batch], tuple[list[str], dict[int, str]]]


def nothing_reserved(batch: Batch) -> int:
    return 0


class FormatCodec:
    """`max_bytes`: the maximum payload in bytes of UTF-8, including the bytes `reserved` for its headers. A larger one
    is cut and its event flagged: flags are in the headers."""

    def __init__(self, texts: Texts, max_bytes: int, reserved: Callable[[Batch], int] = nothing_reserved) -> None:
        self._texts = texts
        self._max_bytes = max_bytes
        self._reserved = reserved

    def refused(self, batch: Batch) -> Mapping[int, str]:
        _, reasons = self._texts(batch)
        return reasons

    def encode(self, batch: Batch) -> list[str]:
        """Return the text of each event, in order."""
        texts, _ = self._texts(batch)
        room = max(self._max_bytes - self._reserved(batch), 1)
        if texts and max(map(len, texts)) * 4 > room:
            for index, text in enumerate(texts):
                kept = cut_text(text, room)
                if len(kept) < len(text):
                    texts[index] = kept
                    flags = batch.messages.flags
                    flags[index] = add_flag(flags.get(index, ()), TRUNCATED)
        return texts
