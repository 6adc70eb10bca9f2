"""`codec` of an output: the payload of records."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from log_shipper.config.text.checks import Finding
from log_shipper.config.text.format_strings import parse_format


def format_string(text: str) -> Iterator[Finding]:
    try:
        parts = parse_format(text)
    except ValueError as error:
        yield "", str(error)
        return
    if not parts:
        yield "", "must not be empty"


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonCodec:
    pretty: bool = field(default=False, metadata={"doc": "Indents records over several lines."})
    escape_html: bool = field(
        default=False, metadata={"doc": "Writes `<`, `>` and `&` in strings as `\\u003c` and the like."}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatCodec:
    string: str = field(
        metadata={
            "doc": "The payload, a format string: `%{[message]}` for the plain line. Events without a value for it go "
            "to the dead letter.",
            "since": "0.3",
            "check": format_string,
        }
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CodecConfig:
    json: JsonCodec | None = field(default=None, metadata={"doc": "JSON records, the default."})
    format: FormatCodec | None = field(default=None, metadata={"doc": "Text records."})

    def check(self) -> Iterator[Finding]:
        if self.json is not None and self.format is not None:
            yield "format", "conflicts with codec.json; set only one of them"
