"""Ends the chain: cuts and flags messages beyond the limit, and drops empty ones."""

from log_shipper.shipper.event import TRUNCATED, Messages, add_flag
from log_shipper.shipper.formats.text import cut_text
from log_shipper.shipper.reader.base import MappedReader, Reader


def limit(reader: Reader, max_bytes: int) -> Reader:
    """Return a reader that cuts texts to at most `max_bytes` bytes of UTF-8, at a character boundary; raw lengths stay
    unchanged. Empty messages are dropped here, because an empty line counts inside a joined one."""

    def limited(messages: Messages) -> Messages:
        # A decoded message has at most three bytes per raw byte: U+FFFD for an invalid one.
        if max(messages.lengths) * 3 > max_bytes:
            cut_texts(messages, max_bytes)
        if "" in messages.texts:
            _drop_empty(messages)
        return messages

    return MappedReader(reader, limited)


def cut_texts(messages: Messages, max_bytes: int) -> Messages:
    """Cut and flag longer texts. Return the messages."""
    if max(map(len, messages.texts), default=0) * 4 <= max_bytes:  # a character has at most four bytes
        return messages
    for index, text in enumerate(messages.texts):
        cut = cut_text(text, max_bytes)
        if cut is not text:
            messages.texts[index] = cut
            messages.flags[index] = add_flag(messages.flags.get(index, ()), TRUNCATED)
    return messages


def _drop_empty(messages: Messages) -> None:
    docs = messages.docs
    kept = [index for index, text in enumerate(messages.texts) if text or (docs and docs[index])]
    if len(kept) < len(messages.texts):
        messages.select(kept)
