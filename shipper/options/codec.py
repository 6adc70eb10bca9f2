"""`codec` of an output: what the payload of a record is."""

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
    pretty: bool = field(default=False, metadata={"doc": "Writes each record over several indented lines."})
    escape_html: bool = field(
        default=False, metadata={"doc": "Writes `<`, `>` and `&` in texts as `\\u003c` and the like."}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatCodec:
    string: str = field(
        metadata={
            "doc": "The payload: a format string, as `%{[message]}` for the line as it is. An event that has no text"
            " for it goes to the dead letter.",
            "since": "0.2",
            "check": format_string,
        }
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CodecConfig:
    json: JsonCodec | None = field(default=None, metadata={"doc": "Records are JSON, which is the default."})
    format: FormatCodec | None = field(default=None, metadata={"doc": "Records are texts."})

    def check(self) -> Iterator[Finding]:
        if self.json is not None and self.format is not None:
            yield "format", "codec.json is given too; give one of the two"
