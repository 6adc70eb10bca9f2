"""Nests the readers, innermost first."""

import logging
from collections.abc import Sequence
from typing import Protocol

from log_shipper.config.text.encodings import LineTerminator
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.event import Doc
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.reader import line
from log_shipper.shipper.reader.base import ParserConfig, ParserContext, RawFile, Reader
from log_shipper.shipper.reader.limit import limit
from log_shipper.shipper.reader.select import select

logger = logging.getLogger(__name__)


class HasParsers(Protocol):
    """The options of an input that parsers need."""

    @property
    def parsers(self) -> tuple[ParserConfig, ...]: ...

    @property
    def keep_null(self) -> bool: ...

    @property
    def of_first_line(self) -> tuple[str, ...]:
        """Return the members that a joined message takes from its first line; others come from the last."""


class HasLines(HasParsers, Protocol):
    """The options of an input of lines."""

    @property
    def id(self) -> str: ...

    @property
    def encoding(self) -> str: ...

    @property
    def line_terminator(self) -> LineTerminator: ...

    @property
    def include_lines(self) -> tuple[str, ...]: ...

    @property
    def exclude_lines(self) -> tuple[str, ...]: ...


def build(
    config: HasLines,
    file: RawFile,
    max_bytes: int,
    clock: Clock,
    shared: Doc | None = None,
    metrics: Metrics | None = None,
) -> Reader:
    """Return the chain for one file: raw bytes -> lines -> parsers in the configured order -> limit, which drops empty
    messages -> include_lines, then exclude_lines.

    `max_bytes`: the maximum message size; `shared`: the members that all records of the file have; `metrics` counts
    dropped and faulty messages.
    """
    metrics = metrics or Metrics()
    names = ", ".join(parser.name for parser in config.parsers)
    logger.debug("input %s: lines of %s, parsers: %s", config.id, config.encoding, names or "none")
    lines = line.build(config.encoding, config.line_terminator, file, max_line_bytes(config.parsers, max_bytes))
    reader = parse(lines, config, max_bytes, clock, shared, metrics)
    if config.include_lines or config.exclude_lines:
        reader = select(reader, config.include_lines, config.exclude_lines, metrics)
    return reader


def max_line_bytes(parsers: Sequence[ParserConfig], max_bytes: int) -> int:
    """Return the bytes of a line that these parsers need for a message of `max_bytes`."""
    return parsers[0].max_line_bytes(max_bytes) if parsers else max_bytes


def max_timeout(parsers: Sequence[ParserConfig]) -> float | None:
    """Return the seconds after which a message joined by parsers ends; None if they join none."""
    return max((parser.ends_after for parser in parsers if parser.ends_after is not None), default=None)


def parse(
    reader: Reader,
    config: HasParsers,
    max_bytes: int,
    clock: Clock,
    shared: Doc | None = None,
    metrics: Metrics | None = None,
) -> Reader:
    """Nest the parsers and the limit on a reader of lines or messages. The arguments are those of `build`."""
    context = ParserContext(
        max_bytes, clock, shared or {}, metrics or Metrics(), config.of_first_line, config.keep_null
    )
    for parser in config.parsers:
        reader = parser.build(reader, context)
    return limit(reader, max_bytes)
