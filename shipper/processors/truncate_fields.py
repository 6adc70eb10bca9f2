"""`truncate_fields`: truncates texts."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from log_shipper.config.text.checks import Finding, not_empty
from log_shipper.config.text.units import Size
from log_shipper.shipper.event import TRUNCATED
from log_shipper.shipper.options.processors import FAIL_ON_ERROR, IGNORE_MISSING, ProcessorConfig
from log_shipper.shipper.processor.base import ProcessorContext
from log_shipper.shipper.processor.events import Event
from log_shipper.shipper.processor.field_by_field import FieldByField, Step, text_in
from log_shipper.shipper.processor.fields import Path, path_of


@dataclass(frozen=True, slots=True, kw_only=True)
class TruncateFieldsConfig(ProcessorConfig):
    """Truncates strings to a maximum length, and adds `truncated` to log.flags."""

    name: ClassVar = "truncate_fields"
    example: ClassVar = "truncate_fields: {fields: [query], max_characters: 3} -> {query: abcdef} -> {query: abc}"
    fields: tuple[str, ...] = field(metadata={"check": not_empty, "doc": "The text fields to truncate."})
    max_bytes: Size | None = field(default=None, metadata={"doc": "The maximum bytes of UTF-8; no character is split."})
    max_characters: int | None = field(default=None, metadata={"min": 0, "doc": "The maximum number of characters."})
    ignore_missing: bool = field(default=False, metadata=IGNORE_MISSING)
    fail_on_error: bool = field(default=True, metadata=FAIL_ON_ERROR)

    def check(self) -> Iterator[Finding]:
        if (self.max_bytes is None) == (self.max_characters is None):
            yield "", "needs one of 'max_bytes' and 'max_characters', not both"

    def build(self, _: ProcessorContext) -> FieldByField:
        def one(path: Path) -> Step:
            def step(event: Event) -> None:
                value = text_in(event, path, ignore_missing=self.ignore_missing)
                if value is None:
                    return
                cut = _cut(value, self)
                if len(cut) < len(value):
                    event.put(path, cut)
                    event.flag(TRUNCATED)

            return step

        paths = [path_of(name) for name in self.fields]
        return FieldByField([one(path) for path in paths], [*paths, ("log",)], fail_on_error=self.fail_on_error)


def _cut(text: str, config: TruncateFieldsConfig) -> str:
    if config.max_bytes is None:
        return text[: config.max_characters]
    if len(text) * 4 <= config.max_bytes:
        return text
    raw = text.encode("utf-8", "replace")
    return text if len(raw) <= config.max_bytes else raw[: config.max_bytes].decode("utf-8", "ignore")
