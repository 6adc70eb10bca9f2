"""Processors that parse text: dissect, grok, redact, syslog, timestamp."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from log_shipper.config.text.checks import Finding, not_blank, not_empty, without_blanks
from log_shipper.config.text.grok import parse_expression
from log_shipper.config.text.layouts import is_layout, time_reader
from log_shipper.config.text.timezones import LOCAL, Timezone, zone_of
from log_shipper.config.text.tokenizer import parse_tokenizer
from log_shipper.shipper.options.parsers import SyslogFormat
from log_shipper.shipper.options.processors.base import IGNORE_MISSING, ProcessorConfig
from log_shipper.shipper.options.processors.secrets import DEFAULT, PATTERNS, parse_secret

_ZONE = "The time zone of times without one: a name, an offset such as +02:00, or Local."
_NO_LAYOUT = (
    "contains no part of a time; a layout shows how Go writes Mon Jan 2 15:04:05 2006, as in '2006-01-02 15:04:05'"
)
_IGNORE_FAILURE = {"doc": "Whether an event that it cannot process is not an error."}


def _tokenizer(text: str) -> Iterator[Finding]:
    try:
        parse_tokenizer(text)
    except ValueError as error:
        yield "", str(error)


@dataclass(frozen=True, slots=True, kw_only=True)
class DissectConfig(ProcessorConfig):
    """Splits a text at the literal parts of a tokenizer."""

    name: ClassVar = "dissect"
    tokenizer: str = field(
        metadata={"doc": "Literal text with %{keys}, each of which becomes a field.", "check": _tokenizer}
    )
    source: str = field(
        default="message", metadata={"key": "field", "doc": "The field with the text.", "check": not_blank}
    )
    target_prefix: str = field(
        default="dissect", metadata={"doc": "The object that the keys are added to; the event itself when empty."}
    )
    ignore_failure: bool = field(
        default=False,
        metadata={"doc": "Whether a text that does not match is not an error; it is flagged in any case."},
    )
    overwrite_keys: bool = field(default=False, metadata={"doc": "Whether existing fields are overwritten."})
    trim_values: Literal["none", "left", "right", "all"] = field(
        default="none", metadata={"doc": "On which side the characters of trim_chars are removed from values."}
    )
    trim_chars: str = field(default=" ", metadata={"doc": "The characters to remove."})


@dataclass(frozen=True, slots=True, kw_only=True)
class GrokConfig(ProcessorConfig):
    """Parses a text with regular expressions made of named patterns."""

    name: ClassVar = "grok"
    source: str = field(
        default="message", metadata={"key": "field", "doc": "The field with the text.", "check": not_blank}
    )
    patterns: tuple[str, ...] = field(
        metadata={
            "doc": "Regular expressions with %{PATTERN:field:type}; the first that matches is used.",
            "check": not_empty,
        }
    )
    pattern_definitions: dict[str, str] = field(
        default_factory=dict,
        metadata={"doc": "Your own patterns, by name; they take precedence over the built-in ones."},
    )
    target_prefix: str = field(
        default="", metadata={"doc": "The object that the fields are added to; the event itself when empty."}
    )
    named_captures_only: bool = field(
        default=True, metadata={"doc": "Whether %{PATTERN} without a field name adds no field."}
    )
    overwrite_keys: bool = field(default=True, metadata={"doc": "Whether existing fields are overwritten."})
    ignore_missing: bool = field(default=False, metadata=IGNORE_MISSING)
    ignore_failure: bool = field(
        default=False, metadata={"doc": "Whether a text that no pattern matches is not an error."}
    )
    tag_on_failure: tuple[str, ...] = field(
        default=("_grokparsefailure",), metadata={"doc": "Tags for an event whose text no pattern matches."}
    )

    def check(self) -> Iterator[Finding]:
        for name, definition in self.pattern_definitions.items():
            if not isinstance(definition, str):
                yield f"pattern_definitions.{name}", "must be text; put it in quotes"
                return
        for index, pattern in enumerate(self.patterns):
            try:
                parse_expression(pattern, self.pattern_definitions, named_only=self.named_captures_only)
            except ValueError as error:
                yield f"patterns[{index}]", str(error)


def _secrets(names: tuple[str, ...]) -> Iterator[Finding]:
    for index, name in enumerate(names):
        if name not in PATTERNS:
            yield f"[{index}]", f"{name!r} must be one of: {', '.join(PATTERNS)}; your own patterns go below custom"


@dataclass(frozen=True, slots=True, kw_only=True)
class RedactConfig(ProcessorConfig):
    """Masks what must not leave the host: card numbers, tokens, keys, addresses."""

    name: ClassVar = "redact"
    fields: tuple[str, ...] = field(
        default=("message",),
        metadata={"doc": "Fields in which secrets are masked; an object with all that is in it.", "check": not_empty},
    )
    patterns: tuple[str, ...] = field(
        default=DEFAULT, metadata={"doc": f"Which secrets are masked: {', '.join(PATTERNS)}.", "check": _secrets}
    )
    custom: dict[str, str] = field(
        default_factory=dict,
        metadata={"doc": "Your own regular expressions, by name; one with a group masks only the group."},
    )
    replacement: str = field(
        default="[REDACTED:%{name}]", metadata={"doc": "What replaces a secret; %{name} is the pattern's name."}
    )
    mask: str = field(
        default="", metadata={"doc": "A character that replaces each letter and digit, instead of the replacement."}
    )
    keep_last: int = field(
        default=0,
        metadata={
            "doc": "How many letters and digits at the end mask leaves readable.",
            "min": 0,
            "unit": "characters",
        },
    )
    ignore_missing: bool = field(default=True, metadata=IGNORE_MISSING)

    def check(self) -> Iterator[Finding]:
        if len(self.mask) > 1:
            yield "mask", "must be one character"
        if self.keep_last and not self.mask:
            yield "keep_last", "needs mask; a replacement keeps nothing of the secret"
        if not self.patterns and not self.custom:
            yield "patterns", "is empty, so nothing is masked; name patterns here or below custom"
        for name, pattern in self.custom.items():
            if name in PATTERNS:
                yield f"custom.{name}", "is a built-in pattern; choose another name"
            yield from ((f"custom.{name}", problem) for problem in _problems(pattern))


def _problems(pattern: Any) -> Iterator[str]:
    try:
        parse_secret(pattern)
    except ValueError as error:
        yield str(error)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimestampConfig(ProcessorConfig):
    """Parses the time of an event from a field."""

    name: ClassVar = "timestamp"
    source: str = field(metadata={"key": "field", "doc": "The field with the time.", "check": not_blank})
    target_field: str = field(
        default="@timestamp", metadata={"doc": "The field that the time is written to, in UTC.", "check": not_blank}
    )
    layouts: tuple[str, ...] = field(
        metadata={
            "doc": "Go's layouts (Mon Jan 2 15:04:05 MST 2006), UNIX and UNIX_MS; the first that matches is used.",
            "check": without_blanks,
        }
    )
    timezone: Timezone = field(default="UTC", metadata={"doc": _ZONE})
    ignore_missing: bool = field(default=False, metadata=IGNORE_MISSING)
    ignore_failure: bool = field(default=False, metadata=_IGNORE_FAILURE)
    test: tuple[str, ...] = field(
        default=(), metadata={"doc": "Example times; the configuration is rejected if one matches no layout."}
    )
    id: str = field(default="", metadata={"doc": "A name for this processor, used in its errors."})

    def check(self) -> Iterator[Finding]:
        unusable = (index for index, layout in enumerate(self.layouts) if not is_layout(layout))
        yield from ((f"layouts[{index}]", _NO_LAYOUT) for index in unusable)
        read = time_reader(self.layouts, zone_of(self.timezone))
        for index, text in enumerate(self.test):
            try:
                read(text, time.time())
            except ValueError as error:
                yield f"test[{index}]", f"{text!r} matches none of the layouts: {error}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SyslogProcessorConfig(ProcessorConfig):
    """Parses a syslog message."""

    name: ClassVar = "syslog"
    source: str = field(
        default="message", metadata={"key": "field", "doc": "The field with the syslog message.", "check": not_blank}
    )
    format: SyslogFormat = field(default="auto", metadata={"doc": "The format; auto detects it for each message."})
    timezone: Timezone = field(default=LOCAL, metadata={"doc": _ZONE})
    overwrite_keys: bool = field(default=True, metadata={"doc": "Whether existing fields are overwritten."})
    ignore_missing: bool = field(default=False, metadata=IGNORE_MISSING)
    ignore_failure: bool = field(default=False, metadata=_IGNORE_FAILURE)
    tag: str = field(default="", metadata={"doc": "A name for this processor, used in its errors."})
