"""Processors: what takes a text apart."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from config.shipper.processors.base import ProcessorConfig
from config.shipper.processors.secrets import DEFAULT, PATTERNS, parse_secret
from config.text.checks import Finding, not_blank, not_empty
from config.text.grok import parse_expression
from config.text.tokenizer import parse_tokenizer


def _tokenizer(text: str) -> Iterator[Finding]:
    try:
        parse_tokenizer(text)
    except ValueError as error:
        yield "", str(error)


@dataclass(frozen=True, slots=True, kw_only=True)
class DissectConfig(ProcessorConfig):
    """Takes a text apart at the literal texts of a tokenizer."""

    name: ClassVar = "dissect"
    tokenizer: str = field(
        metadata={"doc": "Literal text with %{keys} between, each of which becomes a field.", "check": _tokenizer}
    )
    source: str = field(
        default="message", metadata={"key": "field", "doc": "The field with the text.", "check": not_blank}
    )
    target_prefix: str = field(
        default="dissect", metadata={"doc": "The field below which keys are written; empty: the event itself."}
    )
    ignore_failure: bool = field(
        default=False, metadata={"doc": "Whether a text that is not of this form is no error; it is flagged anyway."}
    )
    overwrite_keys: bool = field(default=False, metadata={"doc": "Whether fields that are there already are replaced."})
    trim_values: Literal["none", "left", "right", "all"] = field(
        default="none", metadata={"doc": "Where characters of trim_chars are taken off the values."}
    )
    trim_chars: str = field(default=" ", metadata={"doc": "Characters to take off."})


@dataclass(frozen=True, slots=True, kw_only=True)
class GrokConfig(ProcessorConfig):
    """Takes a text apart by regular expressions that are made of named patterns."""

    name: ClassVar = "grok"
    source: str = field(
        default="message", metadata={"key": "field", "doc": "The field with the text.", "check": not_blank}
    )
    patterns: tuple[str, ...] = field(
        metadata={"doc": "Regular expressions with %{PATTERN:field:type}; the first that matches.", "check": not_empty}
    )
    pattern_definitions: dict[str, str] = field(
        default_factory=dict, metadata={"doc": "Patterns of your own, by name; they come before those known here."}
    )
    target_prefix: str = field(
        default="", metadata={"doc": "The field below which fields are written; empty: the event itself."}
    )
    named_captures_only: bool = field(
        default=True, metadata={"doc": "Whether %{PATTERN} without a field's name gives no field."}
    )
    overwrite_keys: bool = field(default=True, metadata={"doc": "Whether fields that are there already are replaced."})
    ignore_missing: bool = field(default=False, metadata={"doc": "Whether an event without the field is no error."})
    ignore_failure: bool = field(default=False, metadata={"doc": "Whether a text that no pattern matches is no error."})
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
            yield f"[{index}]", f"{name!r} must be one of: {', '.join(PATTERNS)}; your own go below custom"


@dataclass(frozen=True, slots=True, kw_only=True)
class RedactConfig(ProcessorConfig):
    """Masks what must not leave the host: card numbers, tokens, keys, addresses."""

    name: ClassVar = "redact"
    fields: tuple[str, ...] = field(
        default=("message",),
        metadata={"doc": "Fields in which secrets are masked, whole objects too.", "check": not_empty},
    )
    patterns: tuple[str, ...] = field(
        default=DEFAULT, metadata={"doc": f"What is masked: {', '.join(PATTERNS)}.", "check": _secrets}
    )
    custom: dict[str, str] = field(
        default_factory=dict,
        metadata={"doc": "Regular expressions of your own, by name; one with a group masks only the group."},
    )
    replacement: str = field(
        default="[REDACTED:%{name}]", metadata={"doc": "What is put in its place; %{name} is the pattern's name."}
    )
    mask: str = field(default="", metadata={"doc": "A character for each letter and digit instead of the replacement."})
    keep_last: int = field(
        default=0,
        metadata={"doc": "How many letters and digits at the end mask leaves.", "min": 0, "unit": "characters"},
    )
    ignore_missing: bool = field(default=True, metadata={"doc": "Whether an event without the field is no error."})

    def check(self) -> Iterator[Finding]:
        if len(self.mask) > 1:
            yield "mask", "must be one character"
        if self.keep_last and not self.mask:
            yield "keep_last", "needs mask; a replacement has nothing of the secret"
        if not self.patterns and not self.custom:
            yield "patterns", "masks nothing; name patterns here or below custom"
        for name, pattern in self.custom.items():
            if name in PATTERNS:
                yield f"custom.{name}", "is a pattern known here; take another name"
            yield from ((f"custom.{name}", problem) for problem in _problems(pattern))


def _problems(pattern: Any) -> Iterator[str]:
    try:
        parse_secret(pattern)
    except ValueError as error:
        yield str(error)
