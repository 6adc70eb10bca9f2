"""lowercase, uppercase: they change names of fields, or texts."""

from collections.abc import Callable

from log_shipper.shipper.formats.json_fields import copied
from log_shipper.shipper.options.processors.values import CaseConfig, LowercaseConfig, UppercaseConfig
from log_shipper.shipper.processor.changing.values import on_text
from log_shipper.shipper.processor.events import Event
from log_shipper.shipper.processor.field_by_field import FieldByField, Step
from log_shipper.shipper.processor.fields import Path, ProcessorError, dotted, path_of

Change = Callable[[str], str]


def lowercase(config: LowercaseConfig) -> FieldByField:
    return _changing(config, str.lower)


def uppercase(config: UppercaseConfig) -> FieldByField:
    return _changing(config, str.upper)


def _changing(config: CaseConfig, change: Change) -> FieldByField:
    names = [_renaming(path_of(name), change, config) for name in config.fields]
    values = [path_of(name) for name in config.values]
    texts = [on_text(path, change, config.ignore_missing) for path in values]
    # Names are found in any case, so which members they touch is not known before.
    return FieldByField([*names, *texts], None if names else values, fail_on_error=config.fail_on_error)


def _renaming(written: Path, change: Change, config: CaseConfig) -> Step:
    def step(event: Event) -> None:
        path = _path_of(event, written)
        if path is None:
            if config.ignore_missing:
                return
            raise ProcessorError(f"there is no field {dotted(written)}")
        # From the last part to the first: the path to the others is still as it was.
        for depth in range(len(path) - 1, -1 if config.alter_full_field else len(path) - 2, -1):
            here, name = path[: depth + 1], change(path[depth])
            if name == path[depth]:
                continue
            value = copied(event.get(here))
            if event.delete(here):
                event.put((*here[:-1], name), value)

    return step


def _path_of(event: Event, written: Path) -> Path | None:
    """Return the path of the field as the event has it; None if it is missing. Raises ProcessorError if several names
    differ only in case."""
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
