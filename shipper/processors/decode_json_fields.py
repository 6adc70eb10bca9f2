"""`decode_json_fields`: decodes fields with JSON. The rules for the root of an event are shared with the parser
`ndjson` (shipper/formats/json_fields.py)."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

from log_shipper.config.text.checks import without_blanks
from log_shipper.shipper.errors import ShipperError
from log_shipper.shipper.event import Doc
from log_shipper.shipper.formats.json_fields import DEEPEST, ConflictError, NotJsonError, expand, parse, pop_text
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.options.processors import ProcessorConfig
from log_shipper.shipper.processor.base import EventProcessor, ProcessorContext
from log_shipper.shipper.processor.decoding.at_root import merge_at_root
from log_shipper.shipper.processor.events import Event
from log_shipper.shipper.processor.fields import Path, ProcessorError, dotted, path_of, roots


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeJsonFieldsConfig(ProcessorConfig):
    """Decodes fields that contain JSON."""

    name: ClassVar = "decode_json_fields"
    example: ClassVar = """
        decode_json_fields: {fields: [message], target: ''} -> {message: '{"level":"warn","user":"ann"}'}
          -> {message: '{"level":"warn","user":"ann"}', level: warn, user: ann}
    """
    strict: ClassVar = True
    fields: tuple[str, ...] = field(metadata={"check": without_blanks, "doc": "The fields to decode."})
    process_array: bool = field(
        default=False, metadata={"doc": "Whether strings that contain arrays, or are in arrays, are decoded too."}
    )
    max_depth: int = field(
        default=1, metadata={"doc": "The maximum depth of nested JSON strings that are decoded.", "min": 1, "max": 100}
    )
    target: str | None = field(
        default=None,
        metadata={
            "doc": "The field that the result is written to; the same field when absent, the event itself when empty."
        },
    )
    overwrite_keys: bool = field(
        default=False, metadata={"doc": "Whether existing fields are overwritten; with an empty target."}
    )
    expand_keys: bool = field(
        default=False, metadata={"doc": "Whether dotted keys are expanded into objects; with an empty target."}
    )
    add_error_key: bool = field(
        default=False,
        metadata={
            "doc": "Whether a field that is not JSON sets error.message, error.field and error.data, the "
            "first 1,000 characters of the field."
        },
    )
    document_id: str = field(default="", metadata={"doc": "A key whose text value is moved to @metadata._id."})

    def may_set(self, root: str) -> bool:
        return self.target == "" or (self.target or "").partition(".")[0] == root

    def build(self, context: ProcessorContext) -> EventProcessor:
        return DecodeJsonFields(self, context.metrics)


_ID: Path = ("@metadata", "_id")
MAX_DATA = 1000  # characters of an undecodable text in error.data


class _SkippedError(ShipperError):
    """Raised for an array, unless process_array is set."""


class DecodeJsonFields:
    def __init__(self, config: DecodeJsonFieldsConfig, metrics: Metrics) -> None:
        self._fields = [path_of(name) for name in config.fields]
        self._target = None if config.target is None else path_of(config.target) if config.target else ()
        self._depth = config.max_depth
        self._arrays = config.process_array
        self._overwrite = config.overwrite_keys
        self._expand = config.expand_keys
        self._adds_error = config.add_error_key
        self._id = config.document_id
        self._metrics = metrics
        written = [self._target] if self._target else []
        ids = [_ID] if self._id else []
        self.touches: frozenset[str] | None = None if self._target == () else roots(*self._fields, *written, *ids)

    def apply(self, event: Event) -> None:
        wrong: list[str] = []
        failed: dict[str, str] = {}
        for path in self._fields:
            text = event.get(path)
            if not isinstance(text, str):
                continue
            if problems := self._decode(event, path, text):
                wrong += problems
                failed = {"field": dotted(path), "data": text[:MAX_DATA]}
        if wrong and self._adds_error:
            raise ProcessorError("; ".join(wrong), **failed)
        if wrong:
            self._metrics.processor_failures += 1

    def _decode(self, event: Event, path: Path, text: str) -> list[str]:
        """Decode one field. Return the problems."""
        try:
            value = self._value(text, self._depth)
            if self._depth > 1 and _is_too_deep(value):
                raise NotJsonError(f"nested deeper than {DEEPEST} levels")
        except (NotJsonError, _SkippedError) as error:
            return [f"parsing input as JSON: field {dotted(path)}: {error}"]
        identity = pop_text(value, self._id) if self._id and isinstance(value, dict) else None
        target = path if self._target is None else self._target
        try:
            wrong = self._put(event, target, value)
        except ProcessorError as error:
            return [str(error)]
        if identity is not None:
            event.put(_ID, identity)
        return wrong

    def _put(self, event: Event, target: Path, value: Any) -> list[str]:
        if target:
            event.put(target, value)
            return []
        if not isinstance(value, dict):
            return ["the JSON is not an object, so it cannot be merged with the event"]
        try:
            fields = expand(value) if self._expand else value
        except ConflictError as error:
            return [str(error)]
        return merge_at_root(event, fields, overwrite=self._overwrite)

    def _value(self, text: str, depth: int) -> Any:
        """Return the value of a JSON text, decoded to this depth. Raises NotJsonError, _SkippedError."""
        value = parse(text)
        if depth == 1:
            return value
        if isinstance(value, dict):
            inner: Doc = {name: self._inner(member, depth - 1) for name, member in value.items()}
            return inner
        if isinstance(value, list):
            if not self._arrays:
                raise _SkippedError("it is an array; see process_array")
            return [self._inner(item, depth - 1) for item in value]
        return value

    def _inner(self, value: Any, depth: int) -> Any:
        """Return the object or array that a JSON text contains, or the value itself."""
        if not isinstance(value, str):
            return value
        stripped = value.strip()
        if len(stripped) < 2 or stripped[0] + stripped[-1] not in ("{}", "[]"):
            return value
        try:
            return self._value(value, depth)
        except (NotJsonError, _SkippedError):
            return value


def _is_too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(DEEPEST):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
    return any(isinstance(member, dict | list) for member in level)
