"""`grok`: parses a text with regular expressions made of named patterns."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from log_shipper.config.text.checks import Finding, not_blank, not_empty
from log_shipper.config.text.grok import Expression, parse_expression
from log_shipper.config.text.patterns import Groups, matcher
from log_shipper.shipper.options.processors import IGNORE_MISSING, ProcessorConfig
from log_shipper.shipper.processor.base import EventProcessor, ProcessorContext, ProcessorError
from log_shipper.shipper.processor.conversions import FROM_TEXT
from log_shipper.shipper.processor.events import Event
from log_shipper.shipper.processor.fields import MISSING, Path, dotted, path_of, roots
from log_shipper.shipper.processor.parsing.placement import Placement


@dataclass(frozen=True, slots=True, kw_only=True)
class GrokConfig(ProcessorConfig):
    """Parses a string with regular expressions made of named patterns."""

    name: ClassVar = "grok"
    example: ClassVar = """
        grok: {patterns: ['%{IP:client.ip} %{WORD:method} %{NUMBER:took:float}']} -> {message: 10.0.0.1 GET 0.043}
          -> {message: 10.0.0.1 GET 0.043, client: {ip: 10.0.0.1}, method: GET, took: 0.043}
    """
    source: str = field(
        default="message", metadata={"key": "field", "doc": "The field with the text.", "check": not_blank}
    )
    patterns: tuple[str, ...] = field(
        metadata={
            "doc": "Regular expressions with %{PATTERN:field:type}; the first match is used.",
            "check": not_empty,
        }
    )
    pattern_definitions: dict[str, str] = field(
        default_factory=dict,
        metadata={"doc": "Custom patterns, by name; they take precedence over the built-in ones."},
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
        default=False, metadata={"doc": "Whether a string without a matching pattern is not an error."}
    )
    tag_on_failure: tuple[str, ...] = field(
        default=("_grokparsefailure",), metadata={"doc": "Tags for an event whose text matches no pattern."}
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

    def build(self, _: ProcessorContext) -> EventProcessor:
        return Grok(self)


_TAGS: Path = ("tags",)


class Grok:
    def __init__(self, config: GrokConfig) -> None:
        self._field = path_of(config.source)
        self._ignore_missing = config.ignore_missing
        self._tags = config.tag_on_failure
        above = path_of(config.target_prefix) if config.target_prefix else ()
        parsed = [
            parse_expression(pattern, config.pattern_definitions, named_only=config.named_captures_only)
            for pattern in config.patterns
        ]
        self._attempts = [_Attempt(expression, above, overwrite=config.overwrite_keys) for expression in parsed]
        written = (path for attempt in self._attempts for path in attempt.paths)
        self.touches: frozenset[str] | None = roots(self._field, _TAGS, *written)

    def apply(self, event: Event) -> None:
        text = event.get(self._field)
        if not isinstance(text, str):
            self._refuse(text)
            return
        for attempt in self._attempts:
            if attempt.succeeds(event, text):
                return
        self._tag(event)
        raise ProcessorError(f"no pattern matches field {dotted(self._field)}")

    def _refuse(self, value: Any) -> None:
        if value is not MISSING:
            raise ProcessorError(f"field {dotted(self._field)} is not a string")
        if not self._ignore_missing:
            raise ProcessorError(f"field {dotted(self._field)} is missing")

    def _tag(self, event: Event) -> None:
        before = event.get(_TAGS)
        tags = list(before) if isinstance(before, list | tuple) else [] if before is MISSING else [before]
        if missing := [tag for tag in self._tags if tag not in tags]:
            event.put(_TAGS, tags + missing)


class _Attempt:
    """One pattern and its fields. A field of several groups becomes a list of those that matched."""

    def __init__(self, expression: Expression, above: Path, *, overwrite: bool) -> None:
        captures = expression.captures
        self.paths = list(dict.fromkeys((*above, *capture.path) for capture in captures))
        self._groups = _leftmost(expression.regexp)
        self._placement = Placement(self.paths, overwrite=overwrite)
        self._typed = [(number, FROM_TEXT[capture.type]) for number, capture in enumerate(captures) if capture.type]
        # The groups of each path, if any path has several.
        self._several: list[list[int]] | None = None
        if len(self.paths) < len(captures):
            own = [(*above, *capture.path) for capture in captures]
            self._several = [[index for index, given in enumerate(own) if given == path] for path in self.paths]

    def succeeds(self, event: Event, text: str) -> bool:
        groups = self._groups(text)
        if groups is None:
            return False
        values: list[Any] = list(groups[1:])
        for index, convert in self._typed:
            if values[index] is not None:
                values[index] = convert(values[index])
        if self._several is not None:
            values = [_united([values[index] for index in indices]) for indices in self._several]
        if self.paths:
            self._placement.write(event, values)
        return True


def _leftmost(regexp: str) -> Callable[[str], Groups | None]:
    """Return a function that finds the same as `matcher`, faster: a match at the start, the usual case, is the leftmost
    one, and takes two passes instead of three."""
    anywhere = matcher(regexp)
    if "\\Q" in regexp:  # it would quote the closing bracket
        return anywhere
    at_start = matcher(rf"\A(?:{regexp})")
    return lambda text: at_start(text) or anywhere(text)


def _united(values: Sequence[Any]) -> Any:
    taken = [value for value in values if value is not None]
    return taken if len(taken) > 1 else taken[0] if taken else None
