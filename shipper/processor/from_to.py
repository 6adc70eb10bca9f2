"""The common part of copy_fields and rename."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from log_shipper.config.text.checks import Finding, not_blank
from log_shipper.shipper.processor.events import Event
from log_shipper.shipper.processor.field_by_field import FieldByField, Step, value_of
from log_shipper.shipper.processor.fields import MISSING, Path, ProcessorError, path_of

Change = Callable[[Event, Path, Path, object], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class FromToConfig:
    source: str = field(metadata={"key": "from", "check": not_blank, "doc": "The existing field."})
    to: str = field(metadata={"check": not_blank, "doc": "The new field."})

    def remarks(self) -> Iterator[Finding]:
        if self.source == self.to:
            yield "to", "is the same field as 'from', so this never succeeds; choose another name"


def from_to(
    pairs: Sequence[FromToConfig], change: Change, *, ignore_missing: bool, fail_on_error: bool
) -> FieldByField:
    """Return a processor that calls `change` for each pair whose new name does not exist yet."""

    def one(pair: FromToConfig) -> Step:
        source, to = path_of(pair.source), path_of(pair.to)

        def step(event: Event) -> None:
            if event.get(to) is not MISSING:
                raise ProcessorError(f"field {pair.to} already exists; drop or rename it first")
            value = value_of(event, source, ignore_missing=ignore_missing)
            if value is not MISSING:
                change(event, source, to, value)

        return step

    paths = [path_of(name) for pair in pairs for name in (pair.source, pair.to)]
    return FieldByField([one(pair) for pair in pairs], paths, fail_on_error=fail_on_error)
