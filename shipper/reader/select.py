"""Selects messages by text: `include_lines` and `exclude_lines` at the end of the chain, the parser `include_message`
within it."""

from collections.abc import Callable, Iterable, Sequence

from log_shipper.config.text.patterns import column_searcher
from log_shipper.shipper.event import Messages
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.reader.base import MappedReader, Reader

Find = Callable[[Iterable[str]], list[bool]]


def select(reader: Reader, include: Sequence[str], exclude: Sequence[str], metrics: Metrics) -> Reader:
    """Return a reader of the messages that match one of `include` (all if empty) and none of `exclude`. Raw bytes of
    dropped messages still count in their run."""
    included: Find | None = column_searcher(include) if include else None
    excluded: Find | None = column_searcher(exclude) if exclude else None

    def selected(messages: Messages) -> Messages:
        kept = list(range(len(messages.texts)))
        if included is not None:
            wanted = included(messages.texts)
            kept = [index for index in kept if wanted[index]]
        if excluded is not None and kept:
            unwanted = excluded(messages.texts)
            kept = [index for index in kept if not unwanted[index]]
        if len(kept) < len(messages.texts):
            before = _events(messages)
            messages.select(kept)
            metrics.events_filtered += before - _events(messages)
        return messages

    return MappedReader(reader, selected)


def _events(messages: Messages) -> int:
    """Return the number of non-empty messages."""
    if messages.docs is None:
        return len(messages.texts) - messages.texts.count("")
    return sum(1 for text, doc in zip(messages.texts, messages.docs, strict=True) if text or doc)
