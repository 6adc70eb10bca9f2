"""The parser `include_message`: keeps messages that match a pattern."""

from dataclasses import dataclass, field
from typing import ClassVar

from log_shipper.config.text.checks import not_empty
from log_shipper.config.text.patterns import Pattern
from log_shipper.shipper.reader.base import ParserConfig, ParserContext, Reader
from log_shipper.shipper.reader.select import select


@dataclass(frozen=True, slots=True, kw_only=True)
class IncludeMessageConfig(ParserConfig):
    """Keeps only messages that match a pattern, at its place among the parsers."""

    since: ClassVar = "0.3"
    name: ClassVar = "include_message"
    example: ClassVar = "include_message: {patterns: [ERROR, WARN]} -> [INFO up, ERROR down] -> [ERROR down]"
    patterns: tuple[Pattern, ...] = field(
        metadata={"doc": "Messages that match one of these are kept.", "check": not_empty}
    )

    def build(self, reader: Reader, context: ParserContext) -> Reader:
        return select(reader, self.patterns, (), context.metrics)
