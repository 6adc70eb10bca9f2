"""Drops messages by their text: `include_lines` and `exclude_lines` at the end of the chain, the parser
`include_message` in the middle of it."""

from collections.abc import Callable, Iterable, Sequence

from log_shipper.config.text.patterns import column_searcher
from log_shipper.shipper.event import Messages
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.reader.base import Reader

Find = Callable[[Iterable[str]], list[bool]]


class SelectReader:
    """Keeps messages that match one of `include`, or all if there are none, except those that match one of `exclude`.
    The raw bytes of dropped messages still count in their run."""

    def __init__(self, reader: Reader, include: Sequence[str], exclude: Sequence[str], metrics: Metrics) -> None:
        self._reader = reader
        self._include: Find | None = column_searcher(include) if include else None
        self._exclude: Find | None = column_searcher(exclude) if exclude else None
        self._metrics = metrics

    @property
    def pending_since(self) -> float | None:
        return self._reader.pending_since

    def next(self) -> Messages | None:
        return self._select(self._reader.next())

    def finish(self) -> Messages | None:
        return self._select(self._reader.finish())

    def _select(self, messages: Messages | None) -> Messages | None:
        if messages is None or not messages.texts:
            return messages
        kept = list(range(len(messages.texts)))
        if self._include is not None:
            included = self._include(messages.texts)
            kept = [index for index in kept if included[index]]
        if self._exclude is not None and kept:
            excluded = self._exclude(messages.texts)
            kept = [index for index in kept if not excluded[index]]
        if len(kept) < len(messages.texts):
            before = _events(messages)
            messages.select(kept)
            self._metrics.events_filtered += before - _events(messages)
        return messages


def _events(messages: Messages) -> int:
    """Return the number of messages that are not empty."""
    if messages.docs is None:
        return len(messages.texts) - messages.texts.count("")
    return sum(1 for text, doc in zip(messages.texts, messages.docs, strict=True) if text or doc)
