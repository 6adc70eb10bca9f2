"""The common part of lowercase and uppercase."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field

from log_shipper.config.text.checks import Finding, not_blank
from log_shipper.shipper.formats.json_fields import copied
from log_shipper.shipper.options.processors import FAIL_ON_ERROR, IGNORE_MISSING, ProcessorConfig, protected
from log_shipper.shipper.processor.base import ProcessorContext
from log_shipper.shipper.processor.events import Event
from log_shipper.shipper.processor.field_by_field import FieldByField, Step, on_text
from log_shipper.shipper.processor.fields import Path, ProcessorError, dotted, path_of


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseConfig(ProcessorConfig, ABC):
    fields: tuple[str, ...] = field(
        default=(), metadata={"doc": "Fields whose names are converted; they are found in any case."}
    )
    values: tuple[str, ...] = field(default=(), metadata={"doc": "Fields whose string values are converted."})
    alter_full_field: bool = field(
        default=True,
        metadata={"doc": "Whether all parts of a dotted name are converted, or only the last one."},
    )
    ignore_missing: bool = field(default=False, metadata=IGNORE_MISSING)
    fail_on_error: bool = field(default=True, metadata=FAIL_ON_ERROR)

    def check(self) -> Iterator[Finding]:
        if not self.fields and not self.values:
            yield "", "needs 'fields' (names to convert) or 'values' (fields whose values are converted)"
        for option in ("fields", "values"):
            names = getattr(self, option)
            yield from (
                (f"{option}[{index}]", fault) for index, name in enumerate(names) for _, fault in not_blank(name)
            )
        for index, name in enumerate(self.fields):
            if name.partition(".")[0].lower() in ("@timestamp", "@metadata"):
                yield f"fields[{index}]", f"{name} cannot be renamed; for its value use 'values'"

    def remarks(self) -> Iterator[Finding]:
        yield from protected([name.lower() for name in self.fields])

    @abstractmethod
    def changed(self, text: str) -> str:
        """Return a name or text in the other case."""

    def build(self, _: ProcessorContext) -> FieldByField:
        names = [_renaming(path_of(name), self) for name in self.fields]
        values = [path_of(name) for name in self.values]
        texts = [on_text(path, self.changed, self.ignore_missing) for path in values]
        # Fields are found in any case, so the members touched are unknown in advance.
        return FieldByField([*names, *texts], None if names else values, fail_on_error=self.fail_on_error)


def _renaming(written: Path, config: CaseConfig) -> Step:
    def step(event: Event) -> None:
        path = _path_of(event, written)
        if path is None:
            if config.ignore_missing:
                return
            raise ProcessorError(f"field {dotted(written)} is missing")
        # From the last part to the first, so that the path to the remaining parts stays valid.
        for depth in range(len(path) - 1, -1 if config.alter_full_field else len(path) - 2, -1):
            here, name = path[: depth + 1], config.changed(path[depth])
            if name == path[depth]:
                continue
            value = copied(event.get(here))
            if event.delete(here):
                event.put((*here[:-1], name), value)

    return step


def _path_of(event: Event, written: Path) -> Path | None:
    """Return the path as the event spells it; None if it is missing. Raises ProcessorError if several names differ only
    in case."""
    path: Path = ()
    names = event.names()
    for part in written:
        same = [name for name in names if name.lower() == part.lower()]
        if len(same) > 1:
            raise ProcessorError(f"{dotted((*path, part))} is ambiguous: there are {', '.join(sorted(same))}")
        if not same:
            return None
        path = (*path, same[0])
        value = event.get(path)
        names = list(value) if isinstance(value, dict) else []
    return path
