"""append and extract_array."""

from typing import Any

from config.shipper.conditions import flat
from config.shipper.processors.adding import AppendConfig
from config.shipper.processors.values import ExtractArrayConfig
from shipper.json_fields import copied
from shipper.processor.events import Event
from shipper.processor.field_by_field import FieldByField, Step, value_of
from shipper.processor.fields import MISSING, Path, ProcessorError, dotted, path_of


def append(config: AppendConfig) -> FieldByField:
    target, fields = path_of(config.target_field), [path_of(name) for name in config.fields]

    def step(event: Event) -> None:
        here = event.get(target)
        result = [] if here is MISSING else list(here) if isinstance(here, list) else [here]
        for value in _appended(event, fields, config):
            if config.ignore_empty_values and value in ("", None):
                continue
            if config.allow_duplicate or value not in result:
                result.append(copied(value))
        if result:
            event.put(target, result)

    return FieldByField([step], [target, *fields], fail_on_error=config.fail_on_error)


def _appended(event: Event, fields: list[Path], config: AppendConfig) -> list[Any]:
    values: list[Any] = []
    for path in fields:
        value = value_of(event, path, ignore_missing=config.ignore_missing)
        values += value if isinstance(value, list) else [] if value is MISSING else [value]
    return [*values, *config.values]


def extract_array(config: ExtractArrayConfig) -> FieldByField:
    array = path_of(config.array)
    mappings = sorted((number, path_of(name)) for name, number in flat(config.mappings))

    def one(number: int, to: Path) -> Step:
        def step(event: Event) -> None:
            items = value_of(event, array, ignore_missing=config.ignore_missing)
            if items is MISSING:
                return
            if not isinstance(items, list):
                raise ProcessorError(f"{config.array} is not a list")
            if number >= len(items):
                raise ProcessorError(f"{config.array} has {len(items)} items, none with the number {number}")
            if config.omit_empty and items[number] in ("", [], {}, None):
                return
            if not config.overwrite_keys and event.get(to) is not MISSING:
                raise ProcessorError(f"there is a field {dotted(to)} already; drop it first, or set overwrite_keys")
            event.put(to, copied(items[number]))

        return step

    steps = [one(number, to) for number, to in mappings]
    return FieldByField(steps, [array, *(to for _, to in mappings)], fail_on_error=config.fail_on_error)
