"""How the readers are nested, innermost first. This page is the one place that knows all of them."""

import re

from config.model import InputConfig
from shipper.clock import Clock
from shipper.event import Messages
from shipper.reader.base import RawFile, Reader
from shipper.reader.limit import LimitReader
from shipper.reader.line import LineReader
from shipper.reader.multiline import MultilineReader, MultilineRule


def build(config: InputConfig, file: RawFile, max_bytes: int, clock: Clock) -> Reader:
    """The chain for one file: raw bytes -> lines -> parsers in the order given -> limit -> no empty messages.

    `max_bytes` is the longest message that is kept whole, in bytes.
    """
    reader: Reader = LineReader(file, max_bytes)
    for parser in config.parsers:
        rule = MultilineRule(
            re.compile(parser.pattern),
            parser.negate,
            parser.match == "before",
            parser.max_lines,
            max_bytes,
        )
        reader = MultilineReader(reader, rule, clock)
    return NotEmpty(LimitReader(reader, max_bytes))


class NotEmpty:
    """Drops empty messages; last in the chain, because inside a joined message an empty line counts."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    @property
    def pending_since(self) -> float | None:
        return self._reader.pending_since

    def next(self) -> Messages | None:
        return _without_empty(self._reader.next())

    def finish(self) -> Messages | None:
        return _without_empty(self._reader.finish())


def _without_empty(messages: Messages | None) -> Messages | None:
    if messages is not None and "" in messages.texts:
        messages.select([index for index, text in enumerate(messages.texts) if text])
    return messages
