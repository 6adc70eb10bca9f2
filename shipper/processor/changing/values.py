"""append, convert, extract_array, replace, truncate_fields, urldecode."""

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote_plus

from log_shipper.config.text.patterns import finder, group_names
from log_shipper.shipper.event import TRUNCATED
from log_shipper.shipper.formats.json_fields import copied
from log_shipper.shipper.options.conditions import flat
from log_shipper.shipper.options.processors.adding import AppendConfig
from log_shipper.shipper.options.processors.values import (
    ConversionConfig,
    ConvertConfig,
    ExtractArrayConfig,
    ReplaceConfig,
    ReplacementConfig,
    TruncateFieldsConfig,
    UrldecodeConfig,
    UrlFieldConfig,
)
from log_shipper.shipper.processor.conversions import CONVERSIONS
from log_shipper.shipper.processor.events import Event
from log_shipper.shipper.processor.field_by_field import FieldByField, Step, on_text, text_of, value_of
from log_shipper.shipper.processor.fields import MISSING, Path, ProcessorError, dotted, path_of

# $name or ${name}: a name is as long as possible, so $1x is the group "1x", which does not exist.
_GROUP = re.compile(r"\$(?:(\$)|([0-9A-Za-z_]+)|\{([0-9A-Za-z_]+)\})", re.ASCII)
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2}).{0,2}", re.DOTALL)
Span = tuple[int, int]


def convert(config: ConvertConfig) -> FieldByField:
    def one(field: ConversionConfig) -> Step:
        source, to = path_of(field.source), path_of(field.to or field.source)
        conversion = CONVERSIONS.get(field.type, copied)

        def step(event: Event) -> None:
            value = value_of(event, source, ignore_missing=config.ignore_missing)
            if value is MISSING:
                return
            try:
                result = conversion(value)
            except ProcessorError as error:
                tag = f" ({config.tag})" if config.tag else ""
                raise ProcessorError(f"{field.source} cannot be converted to {field.type}{tag}: {error}") from error
            event.put(to, result)
            if config.mode == "rename" and to != source:
                event.delete(source)

        return step

    paths = [path_of(name) for field in config.fields for name in (field.source, field.to) if name]
    return FieldByField([one(field) for field in config.fields], paths, fail_on_error=config.fail_on_error)


def replace(config: ReplaceConfig) -> FieldByField:
    def one(field: ReplacementConfig) -> Step:
        return on_text(path_of(field.source), replacing(field.pattern, field.replacement), config.ignore_missing)

    paths = [path_of(field.source) for field in config.fields]
    return FieldByField([one(field) for field in config.fields], paths, fail_on_error=config.fail_on_error)


def replacing(pattern: str, replacement: str) -> Callable[[str], str]:
    """Return a function that replaces all matches; the replacement is in Go's notation."""
    find, parts = finder(pattern), _parts(replacement, pattern)

    def replaced(text: str) -> str:
        done: list[str] = []
        position = 0
        for spans in find(text):
            start, end = spans[0]
            done.append(text[position:start])
            done += [part if isinstance(part, str) else _group(text, spans, part) for part in parts]
            position = end
        return "".join((*done, text[position:])) if done else text

    return replaced


def _parts(replacement: str, pattern: str) -> list[str | int]:
    """Return the parts of a replacement: fixed texts, and numbers of groups."""
    names = group_names(pattern)
    parts: list[str | int] = []
    position = 0
    for group in _GROUP.finditer(replacement):
        parts.append(replacement[position : group.start()])
        name = group[2] or group[3]
        if group[1]:
            parts.append("$")
        elif name.isdecimal():
            parts.append(int(name))
        elif name in names:
            parts.append(names[name])
        position = group.end()
    return [*parts, replacement[position:]]


def _group(text: str, spans: list[Span], number: int) -> str:
    """Return the text of a group; nothing if it took no part in the match, or does not exist."""
    return text[slice(*spans[number])] if number < len(spans) else ""


def urldecode(config: UrldecodeConfig) -> FieldByField:
    def one(field: UrlFieldConfig) -> Step:
        to = path_of(field.to) if field.to else None
        return on_text(path_of(field.source), _decoded, config.ignore_missing, to)

    paths = [path_of(name) for field in config.fields for name in (field.source, field.to) if name]
    return FieldByField([one(field) for field in config.fields], paths, fail_on_error=config.fail_on_error)


def _decoded(text: str) -> str:
    if wrong := _BAD_ESCAPE.search(text):
        raise ProcessorError(f"{wrong[0]!r} is not an escape of a URL")
    return unquote_plus(text)


def truncate_fields(config: TruncateFieldsConfig) -> FieldByField:
    def one(path: Path) -> Step:
        def step(event: Event) -> None:
            value = text_of(event, path, ignore_missing=config.ignore_missing)
            if value is MISSING:
                return
            cut = _cut(value, config)
            if len(cut) < len(value):
                event.put(path, cut)
                event.flag(TRUNCATED)

        return step

    paths = [path_of(name) for name in config.fields]
    return FieldByField([one(path) for path in paths], [*paths, ("log",)], fail_on_error=config.fail_on_error)


def _cut(text: str, config: TruncateFieldsConfig) -> str:
    if config.max_bytes is None:
        return text[: config.max_characters]
    if len(text) * 4 <= config.max_bytes:
        return text
    raw = text.encode("utf-8", "replace")
    return text if len(raw) <= config.max_bytes else raw[: config.max_bytes].decode("utf-8", "ignore")


def append(config: AppendConfig) -> FieldByField:
    target, fields = path_of(config.target_field), [path_of(name) for name in config.fields]

    def step(event: Event) -> None:
        existing = event.get(target)
        result = [] if existing is MISSING else list(existing) if isinstance(existing, list) else [existing]
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
