"""`decode_csv_fields`: parses comma-separated values.

The rules are those of Go's reader with "lazy quotes", as in Filebeat: a quote inside an unquoted value is part of it,
and a quote in a quoted value ends it only before a separator or the end. Python's csv module has other rules.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from log_shipper.config.text.checks import Finding
from log_shipper.shipper.options.processors import FAIL_ON_ERROR, IGNORE_MISSING, ProcessorConfig
from log_shipper.shipper.processor.base import EventProcessor, ProcessorContext
from log_shipper.shipper.processor.events import Event
from log_shipper.shipper.processor.field_by_field import FieldByField, Step, text_in
from log_shipper.shipper.processor.fields import MISSING, Path, ProcessorError, dotted, path_of


def _separator(text: str) -> Iterator[Finding]:
    if len(text) != 1:
        yield "", 'must be one character; write a tab as "\\t" in double quotes'
    elif text in '"\r\n':
        yield "", "cannot be a quote or the end of a line"


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeCsvFieldsConfig(ProcessorConfig):
    """Parses fields with comma-separated values into lists."""

    name: ClassVar = "decode_csv_fields"
    example: ClassVar = """
        decode_csv_fields: {fields: {message: csv}} -> {message: 'GET,"a,b",200'}
          -> {message: 'GET,"a,b",200', csv: [GET, "a,b", "200"]}
    """
    strict: ClassVar = True
    fields: dict[str, str] = field(metadata={"doc": "The target field of the list of values, by the field to parse."})
    separator: str = field(default=",", metadata={"doc": "The character between values.", "check": _separator})
    ignore_missing: bool = field(default=False, metadata=IGNORE_MISSING)
    overwrite_keys: bool = field(default=False, metadata={"doc": "Whether an existing target is overwritten."})
    trim_leading_space: bool = field(default=False, metadata={"doc": "Whether blanks before a value are removed."})
    fail_on_error: bool = field(default=True, metadata=FAIL_ON_ERROR)

    def check(self) -> Iterator[Finding]:
        if not self.fields:
            yield "fields", "must not be empty"
        for name, target in self.fields.items():
            if not isinstance(target, str) or not target:
                yield f"fields.{name}", "must be the name of a field"

    def build(self, _: ProcessorContext) -> EventProcessor:
        pairs = [(path_of(source), path_of(target)) for source, target in self.fields.items()]
        steps = [_step(self, source, target) for source, target in pairs]
        return FieldByField(steps, [path for pair in pairs for path in pair], fail_on_error=self.fail_on_error)


def _step(config: DecodeCsvFieldsConfig, source: Path, target: Path) -> Step:
    def step(event: Event) -> None:
        text = text_in(event, source, ignore_missing=config.ignore_missing)
        if text is None:
            return
        values = record(text, config.separator, trim=config.trim_leading_space)
        if values is None:
            raise ProcessorError(f"field {dotted(source)} contains no record")
        if source != target and not config.overwrite_keys and event.get(target) is not MISSING:
            raise ProcessorError(f"{dotted(target)} already exists; set overwrite_keys, or drop or rename it first")
        event.put(target, values)

    return step


def record(text: str, separator: str, *, trim: bool = False) -> list[str] | None:
    """Return the values of the first non-empty record; None if there is none."""
    lines = text.replace("\r\n", "\n").lstrip("\n")
    if not lines:
        return None
    if '"' not in lines and not (trim and separator.isspace()):
        values = lines.partition("\n")[0].split(separator)
        return [value.lstrip() for value in values] if trim else values
    return _Record(lines, separator, trim).values()


class _Record:
    """A record, read once from left to right; `_end` is the end of the current line."""

    def __init__(self, text: str, separator: str, trim: bool) -> None:
        self._text = text
        self._separator = separator
        self._trim = trim
        self._position = 0
        self._end = self._end_of_line(0)

    def values(self) -> list[str]:
        values = []
        more = True
        while more:
            if self._trim:
                while self._position < self._end and self._text[self._position].isspace():
                    self._position += 1
            quoted = self._text.startswith('"', self._position)
            value, more = self._quoted() if quoted else self._bare()
            values.append(value)
        return values

    def _bare(self) -> tuple[str, bool]:
        """Return the value, and whether a separator follows it."""
        start = self._position
        end = self._text.find(self._separator, start, self._end)
        if end < 0:
            return self._text[start : self._end], False
        self._position = end + 1
        return self._text[start:end], True

    def _quoted(self) -> tuple[str, bool]:
        parts = []
        self._position += 1
        while (quote := self._text.find('"', self._position)) >= 0:
            parts.append(self._text[self._position : quote])
            self._position = quote + 1
            after = self._text[self._position : self._position + 1]
            if after == self._separator:
                self._position += 1
                self._end = self._end_of_line(self._position)
                return "".join(parts), True
            if after in ("", "\n"):
                return "".join(parts), False
            parts.append('"')
            self._position += after == '"'
        return "".join([*parts, self._text[self._position :]]), False

    def _end_of_line(self, start: int) -> int:
        if start <= getattr(self, "_end", -1):
            return self._end
        end = self._text.find("\n", start)
        return len(self._text) if end < 0 else end
