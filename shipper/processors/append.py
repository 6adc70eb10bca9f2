"""`append`: appends values to a list."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from log_shipper.config.text.checks import Finding, not_blank
from log_shipper.shipper.formats.json_fields import copied
from log_shipper.shipper.options.processors import FAIL_ON_ERROR, IGNORE_MISSING, ProcessorConfig
from log_shipper.shipper.processor.base import ProcessorContext
from log_shipper.shipper.processor.events import Event
from log_shipper.shipper.processor.field_by_field import FieldByField, value_of
from log_shipper.shipper.processor.fields import MISSING, Path, path_of


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendConfig(ProcessorConfig):
    """Appends values to a list; an existing value that is not a list becomes the first item."""

    name: ClassVar = "append"
    example: ClassVar = (
        "append: {target_field: ips, fields: [ip], values: [1.1.1.1]} -> {ip: 10.0.0.1} "
        "-> {ip: 10.0.0.1, ips: [10.0.0.1, 1.1.1.1]}"
    )
    target_field: str = field(metadata={"check": not_blank, "doc": "The list to append to."})
    fields: tuple[str, ...] = field(
        default=(), metadata={"doc": "Fields whose values are appended; items of a list are appended one by one."}
    )
    values: tuple[Any, ...] = field(default=(), metadata={"doc": "Fixed values to append after those of `fields`."})
    ignore_empty_values: bool = field(default=False, metadata={"doc": "Whether empty strings and nulls are skipped."})
    allow_duplicate: bool = field(
        default=True, metadata={"doc": "Whether a value that the list already contains is appended again."}
    )
    ignore_missing: bool = field(default=False, metadata=IGNORE_MISSING)
    fail_on_error: bool = field(default=True, metadata=FAIL_ON_ERROR)

    def check(self) -> Iterator[Finding]:
        if not self.fields and not self.values:
            yield "", "needs 'fields' or 'values' to append"

    def build(self, _: ProcessorContext) -> FieldByField:
        target, fields = path_of(self.target_field), [path_of(name) for name in self.fields]

        def step(event: Event) -> None:
            existing = event.get(target)
            result = [] if existing is MISSING else list(existing) if isinstance(existing, list) else [existing]
            for value in _appended(event, fields, self):
                if self.ignore_empty_values and value in ("", None):
                    continue
                if self.allow_duplicate or value not in result:
                    result.append(copied(value))
            if result:
                event.put(target, result)

        return FieldByField([step], [target, *fields], fail_on_error=self.fail_on_error)


def _appended(event: Event, fields: list[Path], config: AppendConfig) -> list[Any]:
    values: list[Any] = []
    for path in fields:
        value = value_of(event, path, ignore_missing=config.ignore_missing)
        values += value if isinstance(value, list) else [] if value is MISSING else [value]
    return [*values, *config.values]
