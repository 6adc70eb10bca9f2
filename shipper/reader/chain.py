"""Nests the readers, innermost first. This is the only module that knows all of them."""

import logging
from typing import Protocol

from log_shipper.shipper.clock import Clock
from log_shipper.shipper.event import Doc
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.options.model import InputConfig
from log_shipper.shipper.options.multiline import MultilineConfig
from log_shipper.shipper.options.ndjson import IncludeMessageConfig, NdjsonConfig
from log_shipper.shipper.options.parsers import ContainerConfig, ParserConfig, SyslogParserConfig
from log_shipper.shipper.reader import line, multiline
from log_shipper.shipper.reader.base import RawFile, Reader
from log_shipper.shipper.reader.container import ContainerReader, longest_line
from log_shipper.shipper.reader.limit import LimitReader
from log_shipper.shipper.reader.ndjson import NdjsonReader
from log_shipper.shipper.reader.select import SelectReader
from log_shipper.shipper.reader.syslog import SyslogReader

logger = logging.getLogger(__name__)


def build(
    config: InputConfig,
    file: RawFile,
    max_bytes: int,
    clock: Clock,
    shared: Doc | None = None,
    metrics: Metrics | None = None,
) -> Reader:
    """Return the chain for one file: raw bytes -> lines -> parsers in the configured order -> limit, which drops empty
    messages -> include_lines, then exclude_lines.

    `max_bytes` is the longest message that is kept whole, in bytes; `shared` the members that all records of the file
    have; `metrics` counts what is dropped on purpose, and what is wrong.
    """
    metrics = metrics or Metrics()
    names = ", ".join(type(parser_config).__name__.removesuffix("Config") for parser_config in config.parsers)
    logger.debug("input %s: lines of %s, parsers: %s", config.id, config.encoding, names or "none")
    lines = line.build(config.encoding, config.line_terminator, file, longest_line(config.parsers, max_bytes))
    reader = parse(lines, config, max_bytes, clock, shared, metrics)
    if config.include_lines or config.exclude_lines:
        reader = SelectReader(reader, config.include_lines, config.exclude_lines, metrics)
    return reader


class HasParsers(Protocol):
    """The options of an input, as far as parsers need them."""

    @property
    def parsers(self) -> tuple[ParserConfig, ...]: ...

    @property
    def keep_null(self) -> bool: ...

    @property
    def of_first_line(self) -> tuple[str, ...]:
        """Return the members that a joined message has of its first line alone; of others the last one counts."""


def parse(
    reader: Reader,
    config: HasParsers,
    max_bytes: int,
    clock: Clock,
    shared: Doc | None = None,
    metrics: Metrics | None = None,
) -> Reader:
    """Nest the parsers and the limit on a reader of lines, or of messages. The arguments are those of `build`."""
    shared, metrics = shared or {}, metrics or Metrics()

    def parser(reader: Reader, parser: ParserConfig) -> Reader:
        match parser:
            case MultilineConfig():
                return multiline.build(parser, reader, max_bytes, clock, config.of_first_line)
            case NdjsonConfig():
                return NdjsonReader(reader, parser, shared, clock, metrics, keep_null=config.keep_null)
            case IncludeMessageConfig():
                return SelectReader(reader, parser.patterns, (), metrics)
            case ContainerConfig():
                return ContainerReader(reader, parser, max_bytes, clock, metrics)
            case SyslogParserConfig():
                return SyslogReader(reader, parser, shared, clock)

    for parser_config in config.parsers:
        reader = parser(reader, parser_config)
    return LimitReader(reader, max_bytes)
